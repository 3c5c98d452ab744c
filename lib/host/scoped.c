/* SPDX-License-Identifier: MIT */
/* Scopes of applications: beginning, ending, and sites that hear of it. */
#include <stdlib.h>

#include "lib/host/calm.h"
#include "lib/host/fault.h"
#include "lib/host/handle.h"
#include "lib/select/override.h"
#include "lib/table/table_read.h"

/* Is there anything that the choice could mean? Eligible it may become later. */
static int check_choice(struct kp_handle *handle, const char *operation,
	const char *choice, struct kp_diag *diag)
{
	struct kp_sight *sight = kp_handle_sight(handle, KP_AS_PATIENCE_ALLOWS, diag);
	const struct kp_request request = {.operation = operation, .any_signature = true};
	size_t kernel;

	if (!sight)
		return -1;
	struct kp_query *query = kp_query_new(&sight->table, &request, diag);
	int result = query ? kp_override_find(query, choice, &kernel, diag) : -1;
	free(query);
	kp_sight_drop(sight);
	return result;
}

int kp_scope_begin(struct kp_handle *handle, const char *operation, const char *choice,
	int thread, uint64_t *scope, struct kp_error *error)
{
	owned_calm calm = kp_calm_begin();
	struct kp_diag diag;

	if (kp_handle_is_forked(handle))
		return kp_handle_forked(error);
	if (check_choice(handle, operation, choice, &diag) < 0)
		return kp_fault(error, &diag);
	(void)pthread_mutex_lock(&handle->lock);
	uint64_t id = kp_scopes_begin(
		&handle->scopes, operation, choice, thread ? kp_thread_number() : 0);
	(void)pthread_mutex_unlock(&handle->lock);
	if (!id)
		return kp_fault_say(error, KP_NO_MEMORY, "memory is exhausted");
	kp_handle_touch(handle, operation);
	*scope = id;
	return KP_OK;
}

int kp_scope_end(struct kp_handle *handle, uint64_t scope)
{
	owned_calm calm = kp_calm_begin();
	if (kp_handle_is_forked(handle))
		return KP_INVALID;
	(void)pthread_mutex_lock(&handle->lock);
	char *operation = kp_scopes_end(&handle->scopes, scope);
	(void)pthread_mutex_unlock(&handle->lock);
	if (!operation)
		return KP_INVALID;
	kp_handle_touch(handle, operation);
	free(operation);
	return KP_OK;
}
