/* SPDX-License-Identifier: MIT */
/* Reads a note as a whole and says whether a host may load its plugin. */
#include "lib/plugin/note.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "kplug/plugin.h"
#include "lib/base/json.h"
#include "lib/base/owned.h"
#include "lib/plugin/note_read.h"

static const json_int_t ABI_MOST = UINT32_MAX;

/* The name of a note in messages: it has no file of its own. */
static const char NOTE_FILE[] = "note";

static const struct kp_json_key note_keys[] = {
	{"name", KP_JSON_STRING, true},
	{"version", KP_JSON_STRING, true},
	{"author", KP_JSON_STRING, false},
	{"license", KP_JSON_STRING, false},
	{"description", KP_JSON_STRING, false},
	{"abi", KP_JSON_OBJECT, false},
	{"host", KP_JSON_OBJECT, false},
	{"kernels", KP_JSON_ARRAY, false},
	{"$schema", KP_JSON_STRING, false},
};
static const struct kp_json_key abi_keys[] = {
	{"major", KP_JSON_INTEGER, false},
	{"built", KP_JSON_INTEGER, false},
	{"needed", KP_JSON_INTEGER, false},
};
static const struct kp_json_key host_keys[] = {
	{"min", KP_JSON_STRING, false},
	{"max", KP_JSON_STRING, false},
};

static int read_texts(struct kp_note_reader *reader, struct kp_note *note)
{
	const json_t *root = note->root;

	if (kp_json_check(root, "", note_keys, KP_COUNT(note_keys), reader->warnings,
		    reader->diag) < 0)
		return -1;
	note->name = kp_json_text(root, "name");
	note->version_text = kp_json_text(root, "version");
	note->author = kp_json_text(root, "author");
	note->license = kp_json_text(root, "license");
	note->description = kp_json_text(root, "description");
	if (kp_note_check_name(reader, "name", note->name) < 0)
		return -1;
	if (kp_version_parse(note->version_text, &note->version, reader->diag) < 0)
		return kp_diag_rename(reader->diag, "version");
	return 0;
}

static int read_abi_number(struct kp_note_reader *reader, const json_t *abi,
	const char *key, unsigned preset, unsigned *out)
{
	char path[KP_NOTE_PATH];
	const json_t *value = json_object_get(abi, key);
	json_int_t number = value ? json_integer_value(value) : (json_int_t)preset;

	if (number >= 0 && number <= ABI_MOST) {
		*out = (unsigned)number;
		return 0;
	}
	kp_note_path(path, "abi", key);
	return kp_diag_set(reader->diag, "bad_abi", path,
		"%s: an integer from 0 to %" JSON_INTEGER_FORMAT
		" expected, not %" JSON_INTEGER_FORMAT,
		path, ABI_MOST, number);
}

static int read_abi(struct kp_note_reader *reader, struct kp_note *note)
{
	const json_t *abi = json_object_get(note->root, "abi");

	if (abi && kp_json_check(abi, "abi", abi_keys, KP_COUNT(abi_keys),
			   reader->warnings, reader->diag) < 0)
		return -1;
	if (read_abi_number(reader, abi, "major", KP_ABI_MAJOR, &note->abi_major) < 0 ||
		read_abi_number(reader, abi, "built", KP_ABI_MINOR, &note->abi_built) < 0)
		return -1;
	return read_abi_number(reader, abi, "needed", KP_ABI_MINOR, &note->abi_needed);
}

static int read_host(struct kp_note_reader *reader, struct kp_note *note)
{
	const json_t *host = json_object_get(note->root, "host");
	struct kp_version version;

	if (host && kp_json_check(host, "host", host_keys, KP_COUNT(host_keys),
			    reader->warnings, reader->diag) < 0)
		return -1;
	const char *min = kp_json_text(host, "min");
	const char *max = kp_json_text(host, "max");
	if (min && kp_version_parse(min, &version, reader->diag) < 0)
		return kp_diag_rename(reader->diag, "host.min");
	if (max && kp_version_parse(max, &version, reader->diag) < 0)
		return kp_diag_rename(reader->diag, "host.max");
	if (kp_version_range_parse(min, max, &note->host, reader->diag) < 0)
		return kp_diag_rename(reader->diag, "host");
	note->has_host = min || max;
	return 0;
}

static int compare_names(const void *a, const void *b)
{
	const struct kp_note_name *one = a;
	const struct kp_note_name *other = b;
	int order = strcmp(one->name, other->name);
	/* Both are of one array: of namesakes the first is named first. */
	return order ? order : (one->spec > other->spec) - (one->spec < other->spec);
}

static int refuse_namesake(struct kp_note_reader *reader, const struct kp_note *note,
	const struct kp_note_name *first)
{
	char path[KP_NOTE_PATH];

	kp_note_path_at(path, "kernels", (size_t)(first[1].spec - note->kernels));
	return kp_diag_set(reader->diag, "duplicate_kernel", path,
		"kernels[%zu] and %s are both named %s",
		(size_t)(first->spec - note->kernels), path, first->name);
}

static int sort_kernels(struct kp_note_reader *reader, struct kp_note *note)
{
	struct kp_note_name *names =
		kp_arena_alloc(reader->arena, note->n_kernels, sizeof(*names));

	if (!names)
		return kp_diag_no_memory(reader->diag);
	for (size_t i = 0; i < note->n_kernels; i++)
		names[i] =
			(struct kp_note_name){note->kernels[i].name, &note->kernels[i]};
	qsort(names, note->n_kernels, sizeof(*names), compare_names);
	note->names = names;
	for (size_t i = 1; i < note->n_kernels; i++)
		if (strcmp(names[i - 1].name, names[i].name) == 0)
			return refuse_namesake(reader, note, &names[i - 1]);
	return 0;
}

static int read_kernels(struct kp_note_reader *reader, struct kp_note *note)
{
	const json_t *kernels = json_object_get(note->root, "kernels");
	size_t count = json_array_size(kernels);
	char path[KP_NOTE_PATH];

	if (count > KP_PLUGIN_KERNELS)
		return kp_diag_set(reader->diag, "too_many_kernels", "kernels",
			"kernels: %zu kernels, a plugin has at most %d", count,
			KP_PLUGIN_KERNELS);
	note->kernels = kp_arena_alloc(reader->arena, count, sizeof(*note->kernels));
	if (!note->kernels)
		return kp_diag_no_memory(reader->diag);
	for (size_t i = 0; i < count; i++) {
		kp_note_path_at(path, "kernels", i);
		if (kp_note_read_kernel(reader, json_array_get(kernels, i), path,
			    &note->kernels[i]) < 0)
			return -1;
	}
	note->n_kernels = count;
	return sort_kernels(reader, note);
}

int kp_note_from_json(json_t *root, struct kp_note *note, struct kp_diags *warnings,
	struct kp_diag *diag)
{
	struct kp_diags own = {0};
	struct kp_note_reader reader = {.arena = kp_arena_new(),
		.warnings = warnings ? warnings : &own,
		.diag = diag};
	struct kp_note read = {.memory = reader.arena};

	if (!reader.arena)
		return kp_diag_no_memory(diag);
	read.root = json_incref(root);
	int result = -1;
	if (read_texts(&reader, &read) == 0 && read_abi(&reader, &read) == 0 &&
		read_host(&reader, &read) == 0)
		result = read_kernels(&reader, &read);
	kp_diags_finish(&own);
	if (result == 0)
		*note = read;
	else
		kp_note_finish(&read);
	return result;
}

int kp_note_parse(const char *text, size_t size, struct kp_note *note,
	struct kp_diags *warnings, struct kp_diag *diag)
{
	json_t *root;

	if (kp_json_parse(text, size, NOTE_FILE, &root, diag) < 0)
		return -1;
	int result = kp_note_from_json(root, note, warnings, diag);
	if (result < 0)
		kp_json_place(diag, text, size, NOTE_FILE);
	json_decref(root);
	return result;
}

int kp_note_fits_abi(
	const struct kp_note *note, unsigned major, unsigned minor, struct kp_diag *diag)
{
	if (note->abi_major != major)
		return kp_diag_set(diag, "abi_major", "abi.major",
			"abi.major: the plugin has %u, this kplug has %u; build the "
			"plugin with the kplug/plugin.h of this kplug, or install a "
			"kplug with ABI %u",
			note->abi_major, major, note->abi_major);
	if (note->abi_needed > minor)
		return kp_diag_set(diag, "abi_minor", "abi.needed",
			"abi.needed: the plugin needs ABI %u.%u (it was built with "
			"%u.%u), this kplug has %u.%u; install a newer kplug, or lower "
			"abi.needed if the plugin can do without",
			note->abi_major, note->abi_needed, note->abi_major,
			note->abi_built, major, minor);
	return 0;
}

int kp_note_fits(
	const struct kp_note *note, const struct kp_version *host, struct kp_diag *diag)
{
	if (kp_note_fits_abi(note, KP_ABI_MAJOR, KP_ABI_MINOR, diag) < 0)
		return -1;
	return kp_version_range_check(&note->host, host, diag);
}

static int compare_to_name(const void *name, const void *entry)
{
	return strcmp(name, ((const struct kp_note_name *)entry)->name);
}

const struct kp_spec *kp_note_find(const struct kp_note *note, const char *kernel)
{
	if (!note->n_kernels)
		return NULL;
	const struct kp_note_name *found = bsearch(kernel, note->names, note->n_kernels,
		sizeof(*note->names), compare_to_name);
	return found ? found->spec : NULL;
}

void kp_note_finish(struct kp_note *note)
{
	if (!note)
		return;
	json_decref(note->root);
	kp_arena_free(note->memory);
	*note = (struct kp_note){0};
}
