/* SPDX-License-Identifier: MIT */
/* Paths, names and arrays of strings of a note. */
#include "lib/plugin/note_read.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/json.h"
#include "lib/base/text.h"
#include "lib/plugin/note.h"

const char *kp_note_path(char path[KP_NOTE_PATH], const char *parent, const char *key)
{
	(void)snprintf(path, KP_NOTE_PATH, "%s%s%s", parent, parent[0] ? "." : "", key);
	return path;
}

const char *kp_note_path_at(char path[KP_NOTE_PATH], const char *parent, size_t index)
{
	(void)snprintf(path, KP_NOTE_PATH, "%s[%zu]", parent, index);
	return path;
}

int kp_note_check_name(struct kp_note_reader *reader, const char *path, const char *text)
{
	if (kp_text_is_name(text))
		return 0;
	return kp_diag_set(reader->diag, "bad_name", path,
		"%s: \"%.100s\" is not a name: %s", path, text, kp_text_name_rule);
}

static size_t unique(const char **items, size_t count)
{
	size_t kept = 0;

	qsort(items, count, sizeof(*items), kp_text_compare);
	for (size_t i = 0; i < count; i++)
		if (i == 0 || strcmp(items[i], items[kept - 1]) != 0)
			items[kept++] = items[i];
	return kept;
}

int kp_note_read_strings(struct kp_note_reader *reader, const json_t *object,
	const char *parent, const char *key, kp_note_check_fn *check, bool is_set,
	struct kp_strings *strings)
{
	char path[KP_NOTE_PATH], element[KP_NOTE_PATH];
	const json_t *array = json_object_get(object, key);
	size_t count = json_array_size(array);

	kp_note_path(path, parent, key);
	if (count > KP_NOTE_STRINGS)
		return kp_diag_set(reader->diag, "too_many", path,
			"%s: %zu entries, at most %d are read", path, count,
			KP_NOTE_STRINGS);
	const char **items = kp_arena_alloc(reader->arena, count, sizeof(*items));
	if (!items)
		return kp_diag_no_memory(reader->diag);
	for (size_t i = 0; i < count; i++) {
		const json_t *item = json_array_get(array, i);
		kp_note_path_at(element, path, i);
		if (!json_is_string(item))
			return kp_json_wrong_type(
				reader->diag, element, item, KP_JSON_STRING);
		items[i] = json_string_value(item);
		if (check(reader, element, items[i]) < 0)
			return -1;
	}
	strings->count = is_set && count ? unique(items, count) : count;
	strings->items = items;
	return 0;
}
