/* SPDX-License-Identifier: MIT */
/* Reads the traits of a kernel: a value, an array of values, or an object. */
#include <stdint.h>

#include "lib/base/json.h"
#include "lib/plugin/note.h"
#include "lib/plugin/note_read.h"

static const struct kp_json_key trait_keys[] = {
	{"in", KP_JSON_ARRAY, false},
	{"min", KP_JSON_NUMBER, false},
	{"max", KP_JSON_NUMBER, false},
	{"multiple_of", KP_JSON_NUMBER, false},
	{"required", KP_JSON_BOOLEAN, false},
};

static int bad(struct kp_note_reader *reader, const char *path, const char *what)
{
	return kp_diag_set(reader->diag, "bad_trait", path, "%s: %s", path, what);
}

static int read_values(struct kp_note_reader *reader, const json_t *array,
	const char *path, struct kp_trait *trait)
{
	char element[KP_NOTE_PATH];
	size_t count = json_array_size(array);

	if (count == 0)
		return bad(reader, path, "no value would ever pass an empty array");
	if (count > KP_NOTE_TRAIT_VALUES)
		return kp_diag_set(reader->diag, "too_many", path,
			"%s: %zu values, at most %d are read", path, count,
			KP_NOTE_TRAIT_VALUES);
	struct kp_scalar *in = kp_arena_alloc(reader->arena, count, sizeof(*in));
	if (!in)
		return kp_diag_no_memory(reader->diag);
	for (size_t i = 0; i < count; i++) {
		kp_note_path_at(element, path, i);
		if (kp_scalar_from_json(
			    json_array_get(array, i), element, &in[i], reader->diag) < 0)
			return -1;
		if (in[i].kind != in[0].kind)
			return bad(reader, element,
				"the values of a trait are all numbers, all booleans "
				"or all strings");
	}
	trait->n_in = count;
	trait->in = in;
	return 0;
}

static int read_value(struct kp_note_reader *reader, const json_t *value,
	const char *path, struct kp_trait *trait)
{
	struct kp_scalar *in = kp_arena_alloc(reader->arena, 1, sizeof(*in));
	if (!in)
		return kp_diag_no_memory(reader->diag);
	trait->n_in = 1;
	trait->in = in;
	return kp_scalar_from_json(value, path, in, reader->diag);
}

/* A number of the trait's object, where it is there. */
static int read_bound(struct kp_note_reader *reader, const json_t *object,
	const char *parent, const char *key, bool *has, double *out)
{
	char path[KP_NOTE_PATH];
	struct kp_scalar number;
	const json_t *value = json_object_get(object, key);

	if (!value)
		return 0;
	kp_note_path(path, parent, key);
	if (kp_scalar_from_json(value, path, &number, reader->diag) < 0)
		return -1;
	*has = true;
	*out = number.number;
	return 0;
}

static int check_bounds(
	struct kp_note_reader *reader, const char *path, const struct kp_trait *trait)
{
	if (trait->has_min && trait->has_max && trait->min > trait->max)
		return bad(reader, path, "min is above max: no value would ever pass");
	if (trait->has_multiple && trait->multiple_of <= 0)
		return bad(reader, path, "multiple_of must be above 0");
	bool is_bounded = trait->has_min || trait->has_max || trait->has_multiple;
	if (is_bounded && trait->n_in && trait->in[0].kind != KP_SCALAR_NUMBER)
		return bad(reader, path,
			"min, max and multiple_of are for numbers, in lists others");
	return 0;
}

static int read_object(struct kp_note_reader *reader, const json_t *value,
	const char *path, struct kp_trait *trait)
{
	char key[KP_NOTE_PATH];
	const json_t *in = json_object_get(value, "in");

	if (kp_json_check(value, path, trait_keys,
		    sizeof(trait_keys) / sizeof(trait_keys[0]), reader->warnings,
		    reader->diag) < 0)
		return -1;
	if (in && read_values(reader, in, kp_note_path(key, path, "in"), trait) < 0)
		return -1;
	if (read_bound(reader, value, path, "min", &trait->has_min, &trait->min) < 0 ||
		read_bound(reader, value, path, "max", &trait->has_max, &trait->max) <
			0 ||
		read_bound(reader, value, path, "multiple_of", &trait->has_multiple,
			&trait->multiple_of) < 0)
		return -1;
	trait->required = json_is_true(json_object_get(value, "required"));
	return check_bounds(reader, path, trait);
}

static int read_trait(struct kp_note_reader *reader, const json_t *value,
	const char *parent, const char *name, struct kp_trait *trait)
{
	char path[KP_NOTE_PATH];

	kp_note_path(path, parent, name);
	trait->name = name;
	if (kp_note_check_name(reader, path, name) < 0)
		return -1;
	if (json_is_object(value))
		return read_object(reader, value, path, trait);
	if (json_is_array(value))
		return read_values(reader, value, path, trait);
	if (json_is_null(value))
		return kp_json_wrong_type(reader->diag, path, value,
			KP_JSON_NUMBER | KP_JSON_BOOLEAN | KP_JSON_STRING |
				KP_JSON_ARRAY | KP_JSON_OBJECT);
	return read_value(reader, value, path, trait);
}

int kp_note_read_traits(struct kp_note_reader *reader, const json_t *traits,
	const char *parent, struct kp_spec *spec)
{
	char path[KP_NOTE_PATH];
	size_t count = json_object_size(traits);
	const char *name;
	json_t *value;
	size_t i = 0;

	kp_note_path(path, parent, "traits");
	if (count > KP_NOTE_TRAITS)
		return kp_diag_set(reader->diag, "too_many", path,
			"%s: %zu traits, at most %d are read", path, count,
			KP_NOTE_TRAITS);
	struct kp_trait *items = kp_arena_alloc(reader->arena, count, sizeof(*items));
	if (!items)
		return kp_diag_no_memory(reader->diag);
	/* jansson's iterators take no const object, though they only read it. */
	json_object_foreach ((json_t *)(uintptr_t)traits, name, value)
		if (read_trait(reader, value, path, name, &items[i++]) < 0)
			return -1;
	spec->n_traits = count;
	spec->traits = items;
	return 0;
}
