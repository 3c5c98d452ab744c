/* SPDX-License-Identifier: MIT */
/* Reads the text of a family, strictly: what is not described is refused. */
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/arena.h"
#include "lib/base/hash.h"
#include "lib/base/owned.h"
#include "lib/base/text.h"
#include "lib/family/family_build.h"

static const struct kp_json_key family_keys[] = {
	{"operation", KP_JSON_STRING, true},
	{"revision", KP_JSON_INTEGER, true},
	{"description", KP_JSON_STRING, false},
	{"dims", KP_JSON_ARRAY, true},
	{"aliases", KP_JSON_OBJECT, false},
	{"defaults", KP_JSON_OBJECT, false},
	{"roles", KP_JSON_ARRAY, true},
	{"attributes", KP_JSON_ARRAY, false},
	{"derived", KP_JSON_OBJECT, false},
	{"traits", KP_JSON_OBJECT, false},
	{"work", KP_JSON_OBJECT, false},
	{"signature", KP_JSON_STRING, false},
	{"shapes", KP_JSON_OBJECT, false},
	{"independent", KP_JSON_ARRAY, false},
	{"check", KP_JSON_OBJECT, true},
	{"empty", KP_JSON_OBJECT, false},
	{"reference", KP_JSON_STRING, false},
};
static const struct kp_json_key work_keys[] = {{"flops", KP_JSON_ARRAY, false}};

/* "gemm/mm": two names. */
static bool is_pair(const char *text)
{
	char first[128];
	const char *slash = strchr(text, '/');
	if (!slash || (size_t)(slash - text) >= sizeof(first))
		return false;
	memcpy(first, text, (size_t)(slash - text));
	first[slash - text] = '\0';
	return kp_text_is_name(first) && kp_text_is_name(slash + 1);
}

static int read_head(struct kp_reading *reading)
{
	struct kp_family *family = reading->family;
	const json_t *root = family->root;

	if (kp_json_check(root, "", family_keys, KP_COUNT(family_keys), NULL,
		    reading->diag) < 0)
		return -1;
	json_int_t revision = json_integer_value(json_object_get(root, "revision"));
	family->operation = kp_json_text(root, "operation");
	family->description = kp_json_text(root, "description");
	family->reference = kp_json_text(root, "reference");
	if (!is_pair(family->operation))
		return kp_reading_bad(reading, "operation",
			"FAMILY/MODE expected, not %s", family->operation);
	if (revision < 1 || revision > INT_MAX)
		return kp_reading_bad(reading, "revision", "a revision counts from 1");
	family->revision = (unsigned)revision;
	if (family->reference && !is_pair(family->reference))
		return kp_reading_bad(reading, "reference",
			"PLUGIN/KERNEL expected, not %s", family->reference);
	return 0;
}

static int read_work(struct kp_reading *reading, const json_t *object)
{
	if (!object)
		return 0;
	if (kp_json_check(object, "work", work_keys, KP_COUNT(work_keys), NULL,
		    reading->diag) < 0)
		return -1;
	return kp_reading_terms(reading, json_object_get(object, "flops"), "work.flops",
		&reading->family->flops);
}

static int read_signature(struct kp_reading *reading, const char *text)
{
	struct kp_family *family = reading->family;
	struct kp_signature signature;
	struct kp_diag why;
	char canonical[KP_SIGNATURE_BYTES];

	if (!text)
		return 0;
	if (kp_signature_parse(text, &signature, &why) < 0 ||
		kp_family_check_signature(family, &signature, &why) < 0)
		return kp_reading_bad(reading, "signature", "%s", why.message);
	kp_signature_print(&signature, canonical, sizeof(canonical));
	family->signature = kp_arena_strdup(family->memory, canonical);
	return family->signature ? 0 : kp_diag_no_memory(reading->diag);
}

static int read_empty(struct kp_reading *reading, const json_t *object)
{
	char path[KP_FAMILY_PATH];
	void *at = json_object_iter((json_t *)(uintptr_t)object);

	for (; at; at = json_object_iter_next((json_t *)(uintptr_t)object, at)) {
		const char *name = json_object_iter_key(at);
		const struct kp_role *role = kp_family_role(reading->family, name);
		(void)snprintf(path, sizeof(path), "empty.%s", name);
		if (!role || role->direction == KP_IN)
			return kp_reading_bad(reading, path, "%s is no output", name);
		if (!json_is_number(json_object_iter_value(at)))
			return kp_json_wrong_type(reading->diag, path,
				json_object_iter_value(at), KP_JSON_NUMBER);
	}
	reading->family->empty = object;
	return 0;
}

static int read_parts(struct kp_reading *reading)
{
	struct kp_family *family = reading->family;
	const json_t *root = family->root;

	if (read_head(reading) < 0 ||
		kp_reading_dims(reading, json_object_get(root, "dims"), "dims",
			&family->dims) < 0 ||
		kp_reading_aliases(reading, json_object_get(root, "aliases")) < 0 ||
		kp_reading_defaults(reading, json_object_get(root, "defaults")) < 0 ||
		kp_reading_derived(reading, json_object_get(root, "derived")) < 0 ||
		kp_reading_roles(reading, json_object_get(root, "roles")) < 0 ||
		kp_reading_attributes(reading, json_object_get(root, "attributes")) < 0 ||
		kp_reading_traits(reading, json_object_get(root, "traits")) < 0 ||
		read_work(reading, json_object_get(root, "work")) < 0 ||
		read_signature(reading, kp_json_text(root, "signature")) < 0 ||
		kp_reading_shapes(reading, json_object_get(root, "shapes")) < 0 ||
		kp_reading_check(reading, json_object_get(root, "check")) < 0 ||
		read_empty(reading, json_object_get(root, "empty")) < 0)
		return -1;
	const json_t *independent = json_object_get(root, "independent");
	if (kp_reading_dims(reading, independent, "independent", &family->independent) <
		0)
		return -1;
	for (size_t i = 0; i < json_array_size(independent); i++)
		if (kp_reading_quantity(reading, json_array_get(independent, i),
			    "independent", false) < 0)
			return -1;
	return 0;
}

int kp_family_parse(const char *text, size_t size, const char *path,
	struct kp_family *family, struct kp_diag *diag)
{
	struct kp_family made = {0};
	struct kp_diag why = {0};
	struct kp_reading reading = {&made, &why};

	if (kp_json_parse(text, size, path, &made.root, diag) < 0)
		return -1;
	made.memory = kp_arena_new();
	if (!made.memory) {
		kp_family_finish(&made);
		return kp_diag_no_memory(diag);
	}
	if (read_parts(&reading) < 0) {
		kp_family_finish(&made);
		if (diag)
			*diag = why;
		return kp_json_place(diag, text, size, path);
	}
	kp_hash_print(text, size, made.digest);
	*family = made;
	return 0;
}
