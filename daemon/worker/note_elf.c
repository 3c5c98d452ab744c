/* SPDX-License-Identifier: MIT */
/* Walks the notes of all PT_NOTE segments. */
#include "daemon/worker/note_elf.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "kplug/plugin.h"
#include "lib/base/json.h"
#include "lib/base/text.h"

/* A note as it lies in the file. */
struct note {
	uint64_t at; /* offset of its text in the file */
	const char *owner;
	size_t owner_size;
	unsigned type;
	const char *text;
	size_t size;
};

struct search {
	const struct elf_image *image;
	struct note ours, stranger; /* stranger: looks as if it were meant for kplug */
	bool found, strange;
	struct kp_diag *diag;
};

static bool is_ours(const struct note *note)
{
	/* The size counts the NUL; a writer that forgot it is understood. */
	size_t length = strlen(KPLUG_NOTE_OWNER);
	return note->owner_size >= length && note->owner_size <= length + 1 &&
	       memcmp(note->owner, KPLUG_NOTE_OWNER, note->owner_size) == 0;
}

/* The package metadata of distributions is JSON as well. */
static bool looks_meant(const struct note *note)
{
	size_t length = strlen(KPLUG_NOTE_OWNER);
	if (note->owner_size >= length &&
		strncasecmp(note->owner, KPLUG_NOTE_OWNER, length) == 0)
		return true;
	bool package = note->owner_size == 4 && memcmp(note->owner, "FDO", 4) == 0;
	return note->size > 0 && *note->text == '{' && !package;
}

static int take_ours(struct search *search, const struct note *note)
{
	const char *name = search->image->name;
	if (note->type != KPLUG_NOTE_TYPE)
		return kp_diag_set(search->diag, "note_wrong_type", name,
			"the note of %s has type %u, this kplug reads type %d", name,
			note->type, KPLUG_NOTE_TYPE);
	if (note->size > KP_JSON_BYTES)
		return kp_diag_set(search->diag, "note_too_large", name,
			"the note of %s has %zu bytes, at most %d are allowed", name,
			note->size, KP_JSON_BYTES);
	/* Segments may overlap. */
	if (search->found && search->ours.at != note->at)
		return kp_diag_set(search->diag, "several_notes", name,
			"%s has more than one note of kplug", name);
	search->found = true;
	search->ours = *note;
	return 0;
}

static int take_note(struct search *search, const struct note *note)
{
	if (is_ours(note))
		return take_ours(search, note);
	if (!search->strange && looks_meant(note)) {
		search->strange = true;
		search->stranger = *note;
	}
	return 0;
}

static int cut(struct search *search)
{
	return kp_diag_set(search->diag, "note_truncated", search->image->name,
		"a note of %s is cut: it goes on behind the end of its segment",
		search->image->name);
}

static int walk_segment(struct search *search, const GElf_Phdr *segment)
{
	/* The rule of binutils: anything but 8 is padded to 4. */
	Elf_Type type = segment->p_align == 8 ? ELF_T_NHDR8 : ELF_T_NHDR;
	Elf_Data *data = elf_getdata_rawchunk(
		search->image->elf, (int64_t)segment->p_offset, segment->p_filesz, type);
	if (!data)
		return cut(search);
	for (size_t at = 0; at < data->d_size;) {
		GElf_Nhdr header;
		size_t owner;
		size_t text;
		size_t next = gelf_getnote(data, at, &header, &owner, &text);
		if (next == 0)
			return cut(search);
		const char *bytes = data->d_buf;
		struct note note = {
			.at = segment->p_offset + text,
			.owner = bytes + owner,
			.owner_size = header.n_namesz,
			.type = header.n_type,
			.text = bytes + text,
			.size = header.n_descsz,
		};
		if (take_note(search, &note) < 0)
			return -1;
		at = next;
	}
	return 0;
}

static int not_found(const struct search *search)
{
	const char *name = search->image->name;
	char owner[64];
	if (!search->strange)
		return kp_diag_set(search->diag, "no_note", name,
			"%s has no note of kplug: embed one with KPLUG_PLUGIN_NOTE",
			name);
	size_t size = search->stranger.owner_size;
	kp_text_clean_bytes(search->stranger.owner,
		strnlen(search->stranger.owner, size < 32 ? size : 32), owner,
		sizeof(owner));
	return kp_diag_set(search->diag, "note_wrong_owner", name,
		"the note of %s has the owner \"%s\", not \"%s\"", name, owner,
		KPLUG_NOTE_OWNER);
}

int note_elf_find(const struct elf_image *image, const char **text, size_t *size,
	struct kp_diag *diag)
{
	struct search search = {.image = image, .diag = diag};
	for (size_t i = 0; i < image->n_segments; i++) {
		const GElf_Phdr *segment = &image->segments[i];
		if (segment->p_type == PT_NOTE && segment->p_filesz > 0 &&
			walk_segment(&search, segment) < 0)
			return -1;
	}
	if (!search.found)
		return not_found(&search);
	*text = search.ours.text;
	*size = search.ours.size;
	return 0;
}
