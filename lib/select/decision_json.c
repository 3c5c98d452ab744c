/* SPDX-License-Identifier: MIT */
/* A decision as the reply of Select. */
#include "lib/base/json.h"
#include "lib/select/predicate.h"
#include "lib/select/rank.h"
#include "lib/select/select.h"

static json_t *kernel_json(const struct kp_table *table, size_t kernel)
{
	char id[KP_KERNEL_ID_BYTES];
	if (kernel == SIZE_MAX)
		return json_null();
	return json_string(kp_table_kernel_id(table, kernel, id, sizeof(id)));
}

static json_t *ignored_json(const struct kp_decision *decision)
{
	json_t *list = json_array();

	for (size_t i = 0; list && i < decision->n_ignored; i++)
		list = kp_json_append(list,
			json_pack("{s:s, s:s, s:o, s:o}", "value",
				decision->ignored[i].value, "source",
				kp_override_source_name(decision->ignored[i].source),
				"code", kp_json_clean_or_null(decision->ignored[i].code),
				"message",
				kp_json_clean_string(decision->ignored[i].message)));
	return list;
}

/*
 * With nothing applied an ignored pin must still be seen: then value and source
 * are those of the first that gave way.
 */
static json_t *override_json(const struct kp_decision *decision)
{
	if (decision->overridden)
		return json_pack("{s:s, s:s, s:o}", "value", decision->override_value,
			"source", kp_override_source_name(decision->source), "ignored",
			ignored_json(decision));
	if (decision->n_ignored > 0)
		return json_pack("{s:s, s:s, s:o}", "value", decision->ignored[0].value,
			"source", kp_override_source_name(decision->ignored[0].source),
			"ignored", ignored_json(decision));
	return json_null();
}

static json_t *fallback_json(const struct kp_table *table,
	const struct kp_request *request, const struct kp_decision *decision)
{
	const struct kp_overlay *overlay = request->overlay;
	const char *code, *message;
	struct kp_off off;

	if (decision->fallback_from == SIZE_MAX)
		return json_null();
	if (!kp_predicate_is_off(table, decision->fallback_from, &code, &message) &&
		overlay &&
		overlay->is_off(overlay->context, table, decision->fallback_from, &off)) {
		code = off.code;
		message = off.message;
	}
	return json_pack("{s:o, s:s, s:s}", "kernel",
		kernel_json(table, decision->fallback_from), "code", code ? code : "",
		"message", message ? message : "");
}

static json_t *add_warning(json_t *list, const char *code, json_t *message)
{
	return kp_json_append(
		list, json_pack("{s:s, s:o}", "code", code, "message", message));
}

static json_t *equal_json(
	const struct kp_table *table, const struct kp_decision *decision)
{
	char first[KP_KERNEL_ID_BYTES];
	char second[KP_KERNEL_ID_BYTES];
	char rank[64];

	return json_sprintf(
		"%s and %s have equal rank (%s): equal priority; the name decides",
		kp_table_kernel_id(table, decision->selected, first, sizeof(first)),
		kp_table_kernel_id(table, decision->equal, second, sizeof(second)),
		kp_rank_print(&decision->rank, rank, sizeof(rank)));
}

static json_t *warnings_json(
	const struct kp_table *table, const struct kp_decision *decision)
{
	json_t *list = json_array();

	if (list && decision->equal_rank)
		list = add_warning(list, "equal_rank", equal_json(table, decision));
	for (size_t i = 0; list && i < decision->warnings.count; i++)
		list = add_warning(list, decision->warnings.items[i].code,
			kp_json_clean_string(decision->warnings.items[i].message));
	return list;
}

json_t *kp_decision_json(const struct kp_table *table, const struct kp_request *request,
	const struct kp_decision *decision)
{
	return json_pack("{s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "operation",
		request->operation, "signature",
		kp_json_clean_or_null(decision->signature), "device",
		kp_json_clean_or_null(decision->device), "selected",
		kernel_json(table, decision->selected), "rank",
		decision->selected == SIZE_MAX ? json_null()
					       : kp_rank_json(&decision->rank),
		"override", override_json(decision), "fallback_from",
		fallback_json(table, request, decision), "warnings",
		warnings_json(table, decision));
}
