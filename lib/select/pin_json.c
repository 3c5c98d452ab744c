/* SPDX-License-Identifier: MIT */
/* What a pin comes to: whether it applies, to what, and why not. */
#include <stdlib.h>

#include "lib/base/json.h"
#include "lib/select/override.h"
#include "lib/select/predicate.h"
#include "lib/select/select.h"

/* Why the kernel that the pin means is not eligible; or that it means none. */
static json_t *reasons_json(const struct kp_query *query, const struct kp_pin *pin)
{
	struct kp_exclusions *exclusions = malloc(sizeof(*exclusions));
	struct kp_diag why;
	json_t *list = NULL;
	size_t kernel;

	if (!exclusions)
		return NULL;
	exclusions->count = 0;
	if (kp_override_find(query, pin->choice, &kernel, &why) == 0) {
		kp_predicate_check(
			query, kernel, pin->force ? KP_SKIP_FIT : 0, exclusions, NULL);
		list = kp_exclusions_json(exclusions);
	} else {
		list = kp_json_append(json_array(),
			json_pack("{s:s, s:o, s:o, s:s}", "code", why.code, "required",
				kp_json_clean_string(pin->choice), "actual",
				kp_json_clean_string(why.message), "source", "operator"));
	}
	free(exclusions);
	return list;
}

static json_t *outcome_json(const struct kp_query *query, const struct kp_pin *pin,
	const struct kp_decision *decision)
{
	bool applies = decision->overridden && decision->source == KP_OVERRIDE_PIN;
	char id[KP_KERNEL_ID_BYTES];

	return json_pack("{s:b, s:s?, s:o}", "applies", applies, "selected",
		decision->selected == SIZE_MAX
			? NULL
			: kp_table_kernel_id(
				  query->table, decision->selected, id, sizeof(id)),
		"reasons", applies ? json_array() : reasons_json(query, pin));
}

/* Nobody has the operation any more. */
static json_t *unknown_json(const struct kp_pin *pin, const struct kp_diag *why)
{
	return json_pack("{s:b, s:n, s:[{s:s, s:o, s:o, s:s}]}", "applies", 0, "selected",
		"reasons", "code", why->code, "required",
		kp_json_clean_string(pin->operation), "actual",
		kp_json_clean_string(why->message), "source", "operator");
}

json_t *kp_pin_json(const struct kp_table *table, const struct kp_pin *pin)
{
	const struct kp_request request = {
		.operation = pin->operation, .any_signature = true};
	struct kp_decision decision;
	struct kp_diag diag;
	struct kp_query *query = kp_query_new(table, &request, &diag);
	json_t *outcome = NULL;

	if (!query)
		return unknown_json(pin, &diag);
	if (kp_select(table, &request, &decision, &diag) == 0) {
		outcome = outcome_json(query, pin, &decision);
		kp_decision_finish(&decision);
	}
	free(query);
	return outcome;
}
