/* SPDX-License-Identifier: MIT */
/* What an operation is, for programs that learn it while they run. */
#include <stdlib.h>
#include <string.h>

#include "lib/host/calm.h"
#include "lib/host/fault.h"
#include "lib/host/site.h"
#include "lib/table/table_read.h"

enum { WAIT_MS = 50 };

/* Is there a kernel of it, at least? */
static int check_known(
	struct kp_handle *handle, const char *operation, struct kp_diag *diag)
{
	struct kp_sight *sight = kp_handle_sight(handle, WAIT_MS, diag);
	int result = 0;

	if (!sight)
		return -1;
	if (kp_table_operation(&sight->table, operation) == SIZE_MAX)
		result = kp_site_unknown(sight, operation, diag);
	kp_sight_drop(sight);
	return result;
}

int kp_describe(struct kp_handle *handle, const char *operation, char **family,
	struct kp_error *error)
{
	owned_calm calm = kp_calm_begin();
	struct kp_diag diag;

	if (kp_handle_is_forked(handle))
		return kp_handle_forked(error);
	const struct kp_contract *contract =
		kp_contract_get(&handle->contracts, handle->attach, operation, &diag);
	if (!contract ||
		(!contract->described && check_known(handle, operation, &diag) < 0))
		return kp_fault(error, &diag);
	char *text = strdup(contract->described ? contract->text : "null");
	if (!text)
		return kp_fault_say(error, KP_NO_MEMORY, "memory is exhausted");
	*family = text;
	return KP_OK;
}
