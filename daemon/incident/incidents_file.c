/* SPDX-License-Identifier: MIT */
/* One JSON text with a sum; a text of a newer kplug is not taken for a damaged one. */
#include "daemon/incident/incidents_file.h"

#include <stdlib.h>
#include <string.h>

#include "daemon/incident/incidents.h"
#include "daemon/incident/strikes.h"
#include "lib/base/json.h"
#include "lib/base/owned.h"
#include "lib/base/versioned.h"
#include "lib/registry/decisions_sum.h"

static const struct kp_json_key root_keys[] = {
	{"format", KP_JSON_STRING, true},
	{"next", KP_JSON_INTEGER, true},
	{"incidents", KP_JSON_ARRAY, true},
	{"strikes", KP_JSON_ARRAY, true},
	{"sum", KP_JSON_STRING, true},
};
static const struct kp_json_key incident_keys[] = {
	{"id", KP_JSON_INTEGER, true},
	{"kind", KP_JSON_STRING, true},
	{"at", KP_JSON_INTEGER, true},
	{"first", KP_JSON_INTEGER, true},
	{"count", KP_JSON_INTEGER, true},
	{"kernel", KP_JSON_STRING | KP_JSON_NULL, true},
	{"plugin", KP_JSON_STRING | KP_JSON_NULL, true},
	{"sha256", KP_JSON_STRING | KP_JSON_NULL, true},
	{"application", KP_JSON_STRING | KP_JSON_NULL, true},
	{"pid", KP_JSON_INTEGER, true},
	{"uid", KP_JSON_INTEGER, true},
	{"signal", KP_JSON_STRING | KP_JSON_NULL, true},
	{"label", KP_JSON_STRING | KP_JSON_NULL, true},
	{"text", KP_JSON_STRING, true},
	{"evidence", KP_JSON_OBJECT | KP_JSON_NULL, true},
	{"operator", KP_JSON_BOOLEAN, true},
};

char *incidents_print(const struct incidents_kept *kept, const struct strikes *strikes)
{
	owned_json *root = json_pack("{s:s, s:I, s:O, s:o}", "format", INCIDENTS_FORMAT,
		"next", (json_int_t)kept->next, "incidents", kept->list, "strikes",
		strikes_json(strikes));

	return root && kp_decisions_seal(root) == 0 ? kp_json_dumps(root, JSON_INDENT(1))
						    : NULL;
}

static int bad(struct kp_diag *diag, const char *object, const char *message)
{
	return kp_diag_set(diag, "bad_incidents", object, "%s: %s", object, message);
}

static int check(const json_t *root, struct kp_diag *diag)
{
	const json_t *list = json_object_get(root, "incidents");

	if (kp_versioned_check(root, INCIDENTS_FORMAT, "bad_incidents", diag) < 0 ||
		kp_json_check(root, "", root_keys, KP_COUNT(root_keys), NULL, diag) < 0)
		return -1;
	int whole = kp_decisions_is_whole(root);
	if (whole < 0)
		return kp_diag_no_memory(diag);
	if (!whole)
		return bad(diag, "sum", "it is not that of the rest");
	if (json_array_size(list) > INCIDENTS_MOST)
		return bad(diag, "incidents", "there are too many");
	for (size_t i = 0; i < json_array_size(list); i++)
		if (kp_json_check(json_array_get(list, i), "incidents", incident_keys,
			    KP_COUNT(incident_keys), NULL, diag) < 0)
			return -1;
	return 0;
}

int incidents_parse(const char *text, size_t size, const char *path,
	struct incidents_kept *kept, struct strikes *strikes, struct kp_diag *diag)
{
	owned_json *root = NULL;

	if (kp_json_parse(text, size, path, &root, diag) < 0)
		return -1;
	if (check(root, diag) < 0)
		return kp_json_place(diag, text, size, path);
	if (strikes_read(strikes, json_object_get(root, "strikes")) < 0)
		return bad(diag, "strikes", "one of them is none");
	json_decref(kept->list);
	kept->list = json_incref(json_object_get(root, "incidents"));
	kept->next = json_integer_value(json_object_get(root, "next"));
	return 0;
}
