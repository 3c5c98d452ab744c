/* SPDX-License-Identifier: MIT */
/* Reading the Request of the interface. */
#include <stdlib.h>
#include <string.h>

#include "lib/base/json.h"
#include "lib/base/owned.h"
#include "lib/base/text.h"
#include "lib/family/format.h"
#include "lib/select/request_trait.h"
#include "lib/select/select.h"
#include "lib/table/table_read.h"

static const struct kp_json_key keys[] = {
	{"operation", KP_JSON_STRING, true},
	{"signature", KP_JSON_STRING | KP_JSON_NULL, false},
	{"shape", KP_JSON_OBJECT | KP_JSON_NULL, false},
	{"traits", KP_JSON_OBJECT | KP_JSON_NULL, false},
	{"features", KP_JSON_ARRAY | KP_JSON_NULL, false},
	{"solution", KP_JSON_STRING | KP_JSON_NULL, false},
	{"objective", KP_JSON_STRING | KP_JSON_NULL, false},
	{"device", KP_JSON_STRING | KP_JSON_NULL, false},
	{"on", KP_JSON_OBJECT | KP_JSON_STRING | KP_JSON_NULL, false},
	{"without", KP_JSON_ARRAY | KP_JSON_NULL, false},
	{"override", KP_JSON_STRING | KP_JSON_NULL, false},
	{"force", KP_JSON_BOOLEAN | KP_JSON_NULL, false},
	{"label", KP_JSON_STRING | KP_JSON_NULL, false},
	{"settle_ms", KP_JSON_INTEGER | KP_JSON_NULL, false},
};

static int read_strings(const json_t *root, const char *key, const char **out,
	size_t most, size_t *count, struct kp_diag *diag)
{
	const json_t *array = json_object_get(root, key);
	size_t n = json_array_size(array);

	if (n > most)
		return kp_diag_set(diag, "too_many", key, "%s: %zu names, at most %zu",
			key, n, most);
	for (size_t i = 0; i < n; i++) {
		const json_t *item = json_array_get(array, i);
		if (!json_is_string(item))
			return kp_json_wrong_type(diag, key, item, KP_JSON_STRING);
		out[i] = json_string_value(item);
	}
	*count = n;
	return 0;
}

static int read_objective(
	const json_t *root, enum kp_objective *objective, struct kp_diag *diag)
{
	const char *names[KP_OBJECTIVES];
	char offer[KP_TEXT_OFFER];
	const char *text = kp_json_text(root, "objective");

	for (unsigned i = 0; i < KP_OBJECTIVES; i++) {
		names[i] = kp_objective_name(i);
		if (!text || strcmp(text, names[i]) != 0)
			continue;
		*objective = i;
		return 0;
	}
	if (!text)
		return 0;
	return kp_diag_set(diag, "unknown_objective", text, "there is no objective %s%s",
		text, kp_text_offer(text, names, KP_OBJECTIVES, "it is one of", offer));
}

/* The canonical text; roles are checked with the query (lib/select/query_signature.c). */
static int read_signature(
	const json_t *root, struct kp_request *request, struct kp_diag *diag)
{
	const char *text = kp_json_text(root, "signature");
	struct kp_signature *signature;
	int result = -1;

	if (!text)
		return 0;
	/* Large: a signature is about 10 KiB. */
	signature = malloc(sizeof(*signature));
	if (!signature)
		return kp_diag_no_memory(diag);
	if (kp_signature_parse(text, signature, diag) == 0) {
		kp_signature_print(
			signature, request->canonical, sizeof(request->canonical));
		request->signature = request->canonical;
		result = 0;
	}
	free(signature);
	return result;
}

static int read_shape(const struct kp_table *table, const unsigned char *family,
	const json_t *root, struct kp_request *request, struct kp_diag *diag)
{
	const json_t *shape = json_object_get(root, "shape");

	if (!json_is_object(shape))
		return 0;
	if (json_object_size(shape) > KP_FAMILY_DIMS)
		return kp_diag_set(diag, "too_many", "shape", "shape: at most %d dims",
			KP_FAMILY_DIMS);
	if (kp_shape_from_json(shape, NULL, &request->shape, diag) < 0)
		return -1;
	for (size_t i = 0; family && i < request->shape.count; i++) {
		const char *name = request->shape.dims[i].name;
		if (kp_query_is_dim(table, family, name))
			continue;
		return kp_query_unknown_dim(
			table, family, request->operation, name, diag);
	}
	return 0;
}

static int read_platform(
	const json_t *root, struct kp_request *request, struct kp_diag *diag)
{
	const json_t *on = json_object_get(root, "on");

	if (!on || json_is_null(on))
		return 0;
	request->platform = calloc(1, sizeof(*request->platform));
	if (!request->platform)
		return kp_diag_no_memory(diag);
	if (kp_platform_from_json(on, request->platform, diag) < 0)
		return -1;
	request->on = request->platform;
	return 0;
}

static const unsigned char *family_of(const struct kp_table *table, const char *operation)
{
	size_t index = kp_table_operation(table, operation);
	return index == SIZE_MAX ? NULL : kp_table_family(table, index);
}

/* All names of it, by making what answers are made of. */
static int check_all(const struct kp_table *table, const unsigned char *family,
	struct kp_request *request, struct kp_diag *diag)
{
	/* `kernels` asks for all signatures by setting this; a select needs one. */
	request->any_signature = !request->signature && !family;
	struct kp_query *query = kp_query_new(table, request, diag);
	int result = query ? 0 : -1;
	request->any_signature = false;
	free(query);
	return result;
}

static int read_all(const struct kp_table *table, const json_t *root,
	struct kp_request *request, struct kp_diag *diag)
{
	request->operation = kp_json_text(root, "operation");
	request->solution = kp_json_text(root, "solution");
	request->device = kp_json_text(root, "device");
	request->label = kp_json_text(root, "label");
	request->overrides[KP_OVERRIDE_ARGUMENT] = kp_json_text(root, "override");
	request->force = json_is_true(json_object_get(root, "force"));
	const unsigned char *family = family_of(table, request->operation);
	if (read_objective(root, &request->objective, diag) < 0 ||
		read_signature(root, request, diag) < 0 ||
		read_shape(table, family, root, request, diag) < 0 ||
		kp_request_traits(table, family, json_object_get(root, "traits"), request,
			diag) < 0 ||
		read_strings(root, "features", request->features,
			KP_COUNT(request->features), &request->n_features, diag) < 0 ||
		read_strings(root, "without", request->without,
			KP_COUNT(request->without), &request->n_without, diag) < 0 ||
		read_platform(root, request, diag) < 0)
		return -1;
	return check_all(table, family, request, diag);
}

int kp_request_from_json(const struct kp_table *table, const json_t *value,
	struct kp_request *request, struct kp_diag *diag)
{
	struct kp_request r = {.operation = NULL};

	if (kp_json_check(value, "", keys, KP_COUNT(keys), NULL, diag) < 0)
		return -1;
	r.root = json_incref((json_t *)(uintptr_t)value);
	if (read_all(table, value, &r, diag) < 0) {
		kp_request_finish(&r);
		return -1;
	}
	*request = r;
	/* The text is inside the request, which has just moved. */
	if (r.signature)
		request->signature = request->canonical;
	return 0;
}

void kp_request_finish(struct kp_request *request)
{
	if (request->platform)
		kp_platform_finish(request->platform);
	free(request->platform);
	json_decref(request->root);
	*request = (struct kp_request){.operation = NULL};
}
