/* SPDX-License-Identifier: MIT */
/* Reads one kernel of a note into its spec. */
#include <string.h>

#include "lib/base/json.h"
#include "lib/base/owned.h"
#include "lib/base/text.h"
#include "lib/plugin/note.h"
#include "lib/plugin/note_read.h"

enum { SONAME_MOST = 255, ANY_TYPE = ~0 };

static const struct kp_json_key kernel_keys[] = {
	{"name", KP_JSON_STRING, true},
	{"operation", KP_JSON_STRING, true},
	/* Its type is checked with its range, so that one message has both. */
	{"priority", (unsigned)ANY_TYPE, true},
	{"signatures", KP_JSON_ARRAY, true},
	{"revision", KP_JSON_INTEGER, false},
	{"solution", KP_JSON_STRING, false},
	{"capability", KP_JSON_OBJECT, false},
	{"traits", KP_JSON_OBJECT, false},
	{"tags", KP_JSON_ARRAY, false},
	{"features", KP_JSON_ARRAY, false},
	{"flags", KP_JSON_ARRAY, false},
	{"needs", KP_JSON_ARRAY, false},
	{"layouts", KP_JSON_ARRAY, false},
};

static const struct kp_json_key capability_keys[] = {
	{"device", KP_JSON_STRING, false},
	{"vendors", KP_JSON_ARRAY, false},
	{"min_arch", KP_JSON_STRING, false},
	{"max_arch", KP_JSON_STRING, false},
	{"features", KP_JSON_ARRAY, false},
};

/* FAMILY/MODE, each a name. */
static int read_operation(struct kp_note_reader *reader, const json_t *value,
	const char *parent, const char **out)
{
	char path[KP_NOTE_PATH], family[66];
	const char *text = kp_json_text(value, "operation");
	const char *slash = strchr(text, '/');
	size_t length = slash ? (size_t)(slash - text) : 0;

	if (slash && length < sizeof(family)) {
		memcpy(family, text, length);
		family[length] = '\0';
		*out = text;
		if (kp_text_is_name(family) && kp_text_is_name(slash + 1))
			return 0;
	}
	kp_note_path(path, parent, "operation");
	return kp_diag_set(reader->diag, "bad_operation", path,
		"%s: \"%.150s\" is not an operation; write FAMILY/MODE, such as gemm/mm, "
		"where %s",
		path, text, kp_text_name_rule);
}

static int read_priority(
	struct kp_note_reader *reader, const json_t *value, const char *parent, int *out)
{
	char path[KP_NOTE_PATH];
	const json_t *priority = json_object_get(value, "priority");
	json_int_t number = json_integer_value(priority);

	if (json_is_integer(priority) && number >= 0 && number < KP_PRIORITY_END) {
		*out = (int)number;
		return 0;
	}
	kp_note_path(path, parent, "priority");
	if (json_is_integer(priority))
		return kp_diag_set(reader->diag, "bad_priority", path,
			"%s: an integer from 0 to %d expected, not %" JSON_INTEGER_FORMAT,
			path, KP_PRIORITY_END - 1, number);
	return kp_diag_set(reader->diag, "wrong_type", path,
		"%s: an integer from 0 to %d expected, not %s", path, KP_PRIORITY_END - 1,
		kp_json_type_name(priority));
}

static int read_revision(struct kp_note_reader *reader, const json_t *value,
	const char *parent, unsigned *out)
{
	char path[KP_NOTE_PATH];
	const json_t *revision = json_object_get(value, "revision");
	json_int_t number = revision ? json_integer_value(revision) : 1;

	if (number >= 1 && number <= KP_NOTE_REVISION_MOST) {
		*out = (unsigned)number;
		return 0;
	}
	kp_note_path(path, parent, "revision");
	return kp_diag_set(reader->diag, "bad_revision", path,
		"%s: an integer from 1 to %d expected, not %" JSON_INTEGER_FORMAT, path,
		KP_NOTE_REVISION_MOST, number);
}

static int read_solution(struct kp_note_reader *reader, const json_t *value,
	const char *parent, const char **out)
{
	char path[KP_NOTE_PATH];

	*out = kp_json_text(value, "solution");
	if (!*out)
		return 0;
	return kp_note_check_name(reader, kp_note_path(path, parent, "solution"), *out);
}

/* Any text; what it says is checked once all are there. */
static int check_nothing(
	struct kp_note_reader *reader, const char *path, const char *text)
{
	(void)reader;
	(void)path;
	(void)text;
	return 0;
}

/* The canonical text: the note's own where it is that already. */
static const char *canonical(
	struct kp_note_reader *reader, const char *path, const char *text)
{
	char printed[KP_SIGNATURE_BYTES];

	if (kp_signature_parse(text, &reader->signature, reader->diag) < 0) {
		kp_diag_rename(reader->diag, path);
		return NULL;
	}
	kp_signature_print(&reader->signature, printed, sizeof(printed));
	if (strcmp(printed, text) == 0)
		return text;
	const char *copy = kp_arena_strdup(reader->arena, printed);
	if (!copy)
		kp_diag_no_memory(reader->diag);
	return copy;
}

static int read_signatures(struct kp_note_reader *reader, const json_t *value,
	const char *parent, struct kp_strings *out)
{
	char path[KP_NOTE_PATH], element[KP_NOTE_PATH];
	struct kp_strings texts;
	size_t kept = 0;

	kp_note_path(path, parent, "signatures");
	if (kp_note_read_strings(reader, value, parent, "signatures", check_nothing,
		    false, &texts) < 0)
		return -1;
	if (texts.count == 0)
		return kp_diag_set(reader->diag, "no_signature", path,
			"%s: at least one signature expected; without one the kernel "
			"could never be selected",
			path);
	const char **items = kp_arena_alloc(reader->arena, texts.count, sizeof(*items));
	if (!items)
		return kp_diag_no_memory(reader->diag);
	for (size_t i = 0; i < texts.count; i++) {
		kp_note_path_at(element, path, i);
		const char *text = canonical(reader, element, texts.items[i]);
		if (!text)
			return -1;
		if (!kp_text_among(text, items, kept))
			items[kept++] = text;
	}
	*out = (struct kp_strings){kept, items};
	return 0;
}

static int read_device(struct kp_note_reader *reader, const json_t *value,
	const char *parent, enum kp_device_kind *out)
{
	char path[KP_NOTE_PATH];
	const char *text = kp_json_text(value, "device");

	*out = KP_ANY_DEVICE;
	if (!text || kp_device_kind_parse(text, out))
		return 0;
	kp_note_path(path, parent, "device");
	return kp_diag_set(reader->diag, "bad_capability", path,
		"%s: \"%.64s\" is not a kind of device; write cpu, gpu or any", path,
		text);
}

static int read_arch(struct kp_note_reader *reader, const json_t *value,
	const char *parent, const char *key, struct kp_arch *out)
{
	char path[KP_NOTE_PATH];
	const char *text = kp_json_text(value, key);

	*out = (struct kp_arch){0};
	if (!text || kp_arch_parse(text, out, reader->diag) == 0)
		return 0;
	return kp_diag_rename(reader->diag, kp_note_path(path, parent, key));
}

static int read_capability(struct kp_note_reader *reader, const json_t *kernel,
	const char *parent, struct kp_capability *out)
{
	char path[KP_NOTE_PATH], bound[KP_NOTE_PATH];
	const json_t *value = json_object_get(kernel, "capability");

	if (!value)
		return 0;
	kp_note_path(path, parent, "capability");
	if (kp_json_check(value, path, capability_keys, KP_COUNT(capability_keys),
		    reader->warnings, reader->diag) < 0 ||
		read_device(reader, value, path, &out->device) < 0 ||
		kp_note_read_strings(reader, value, path, "vendors", kp_note_check_name,
			true, &out->vendors) < 0 ||
		read_arch(reader, value, path, "min_arch", &out->min_arch) < 0 ||
		read_arch(reader, value, path, "max_arch", &out->max_arch) < 0 ||
		kp_note_read_strings(reader, value, path, "features", kp_note_check_name,
			true, &out->features) < 0)
		return -1;
	if (!out->min_arch.known || !out->max_arch.known ||
		kp_arch_compare(&out->min_arch, &out->max_arch) <= 0)
		return 0;
	kp_note_path(bound, path, "max_arch");
	return kp_diag_set(reader->diag, "bad_arch", bound,
		"%s: %s is below min_arch %s: no device would ever pass", bound,
		kp_json_text(value, "max_arch"), kp_json_text(value, "min_arch"));
}

static int check_need(struct kp_note_reader *reader, const char *path, const char *text)
{
	size_t length = strlen(text);
	if (length > 0 && length <= SONAME_MOST && !strchr(text, '/'))
		return 0;
	return kp_diag_set(reader->diag, "bad_need", path,
		"%s: \"%.100s\" is not the soname of a library, such as libopenblas.so.0",
		path, text);
}

static unsigned flag_of(const char *text)
{
	const char *name;
	for (unsigned bit = 1; (name = kp_flag_name(bit)); bit <<= 1)
		if (strcmp(name, text) == 0)
			return bit;
	return 0;
}

static int check_flag(struct kp_note_reader *reader, const char *path, const char *text)
{
	const char *names[32];
	char offer[KP_TEXT_OFFER];
	size_t n = 0;

	if (flag_of(text))
		return 0;
	while (n < KP_COUNT(names) && (names[n] = kp_flag_name(1u << n)))
		n++;
	return kp_diag_set(reader->diag, "unknown_flag", path, "%s: unknown flag %.64s%s",
		path, text, kp_text_offer(text, names, n, "it is one of", offer));
}

static int read_flags(struct kp_note_reader *reader, const json_t *value,
	const char *parent, unsigned *out)
{
	struct kp_strings names;

	if (kp_note_read_strings(
		    reader, value, parent, "flags", check_flag, true, &names) < 0)
		return -1;
	for (size_t i = 0; i < names.count; i++)
		*out |= flag_of(names.items[i]);
	return 0;
}

static int read_names(struct kp_note_reader *reader, const json_t *value,
	const char *parent, struct kp_spec *spec)
{
	if (kp_note_read_strings(reader, value, parent, "tags", kp_note_check_name, true,
		    &spec->tags) < 0 ||
		kp_note_read_strings(reader, value, parent, "features",
			kp_note_check_name, true, &spec->features) < 0 ||
		kp_note_read_strings(reader, value, parent, "needs", check_need, false,
			&spec->needs) < 0)
		return -1;
	return kp_note_read_strings(reader, value, parent, "layouts", kp_note_check_name,
		false, &spec->layouts);
}

int kp_note_read_kernel(struct kp_note_reader *reader, const json_t *value,
	const char *path, struct kp_spec *spec)
{
	char name[KP_NOTE_PATH];

	if (kp_json_check(value, path, kernel_keys, KP_COUNT(kernel_keys),
		    reader->warnings, reader->diag) < 0)
		return -1;
	spec->name = kp_json_text(value, "name");
	if (kp_note_check_name(reader, kp_note_path(name, path, "name"), spec->name) <
			0 ||
		read_operation(reader, value, path, &spec->operation) < 0 ||
		read_priority(reader, value, path, &spec->priority) < 0 ||
		read_revision(reader, value, path, &spec->revision) < 0 ||
		read_solution(reader, value, path, &spec->solution) < 0 ||
		read_signatures(reader, value, path, &spec->signatures) < 0 ||
		read_capability(reader, value, path, &spec->capability) < 0 ||
		read_flags(reader, value, path, &spec->flags) < 0 ||
		read_names(reader, value, path, spec) < 0)
		return -1;
	return kp_note_read_traits(reader, json_object_get(value, "traits"), path, spec);
}
