/* SPDX-License-Identifier: MIT */
/* What stands behind a guard: a family, and the kernel that it names. */
#include "daemon/state/guarding.h"

#include <stdlib.h>

#include "daemon/daemon.h"
#include "lib/base/json.h"
#include "lib/select/query.h"
#include "lib/table/table_read.h"

int guarding_check(struct daemon *daemon, const char *operation, struct kp_diag *diag)
{
	const struct kp_request request = {.operation = operation, .any_signature = true};
	const struct kp_family *family = kp_families_find(&daemon->families, operation);
	struct kp_query *query;

	if (family && family->reference)
		return 0;
	if (family)
		return kp_diag_set(diag, "no_reference", operation,
			"the family of %s names no reference: there is nothing to "
			"compare "
			"with",
			operation);
	query = kp_query_new(daemon_table(daemon), &request, diag);
	if (!query)
		return -1;
	free(query);
	return kp_diag_set(diag, "undescribed", operation,
		"no family describes %s: nobody knows what is right", operation);
}

/* Why it cannot run now; NULL: it can, as far as the table says. */
static json_t *problem_of(
	struct daemon *daemon, const char *operation, const char *reference)
{
	const struct kp_table *table = daemon_table(daemon);
	struct kp_diag why;
	size_t kernel;

	if (kp_table_find(table, operation, reference, &kernel, &why) < 0)
		return kp_json_clean_string(why.message);
	enum kp_state state = kp_table_kernel(table, kernel)[KP_KERNEL_STATE];
	return state == KP_STATE_ACTIVE
		       ? json_null()
		       : json_sprintf("%s is %s", reference, kp_state_name(state));
}

json_t *guarding_reference(struct daemon *daemon, const char *operation)
{
	const struct kp_family *family = kp_families_find(&daemon->families, operation);
	const char *reference = family ? family->reference : NULL;

	return json_pack("{s:s?, s:o}", "reference", reference, "problem",
		reference ? problem_of(daemon, operation, reference)
			  : json_string("no family names a reference any more"));
}

static json_t *guarded_json(struct daemon *daemon, const struct kp_guarding *guard)
{
	json_t *reference = guarding_reference(daemon, guard->operation);

	return reference ? kp_json_merge(json_pack("{s:o, s:I, s:I, s:I}", "operation",
						 kp_json_clean_string(guard->operation),
						 "every", (json_int_t)guard->every, "at",
						 (json_int_t)guard->at, "uid",
						 (json_int_t)guard->uid),
				   reference)
			 : NULL;
}

json_t *guarding_list(struct daemon *daemon)
{
	const struct kp_decisions *decisions = &daemon->decisions;
	json_t *list = json_array();

	for (size_t i = 0; list && i < decisions->n_guards; i++)
		list = kp_json_append(list, guarded_json(daemon, &decisions->guards[i]));
	return list;
}
