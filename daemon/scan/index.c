/* SPDX-License-Identifier: MIT */
/* An index as bytes, there and back. */
#include "daemon/scan/index.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/hash.h"
#include "lib/base/json.h"

static const char magic[] = "KPLUGIX1";
enum { MAGIC = sizeof(magic) - 1, HEAD = MAGIC + 16, ITEMS_MOST = KP_MANIFESTS };

/* FNV-1a a word at a time: every change of one word gives another sum. */
static uint64_t sum_of(const char *bytes, size_t size)
{
	uint64_t hash = KP_HASH_START, word;

	for (; size >= sizeof(word); bytes += sizeof(word), size -= sizeof(word)) {
		memcpy(&word, bytes, sizeof(word));
		hash = (hash ^ word) * 0x100000001b3U;
	}
	return kp_hash_bytes(hash, bytes, size);
}

/* ---- writing ------------------------------------------------------------------ */

static void put(struct index_text *text, const void *bytes, size_t size)
{
	if (text->failed || size > INDEX_MOST - text->size) {
		text->failed = true;
		return;
	}
	if (text->room - text->size < size) {
		size_t room = 2 * text->room + size;
		char *more = realloc(text->bytes, room);
		text->failed = !more;
		if (!more)
			return;
		text->bytes = more;
		text->room = room;
	}
	memcpy(text->bytes + text->size, bytes, size);
	text->size += size;
}

static void put_number(struct index_text *text, uint64_t number)
{
	put(text, &number, sizeof(number));
}

/* With its NUL: a reader has it as it lies there. */
static void put_text(struct index_text *text, const char *value)
{
	size_t length = strlen(value);
	put_number(text, length);
	put(text, value, length + 1);
}

static void put_stamp(struct index_text *text, const struct stamp *stamp)
{
	put_number(text, stamp->exists);
	put_number(text, stamp->dev);
	put_number(text, stamp->ino);
	put_number(text, (uint64_t)stamp->size);
	put_number(text, (uint64_t)stamp->mtime);
	put_number(text, (uint64_t)stamp->ctime);
}

static void put_trace(struct index_text *text, const struct trace *trace)
{
	put_number(text, trace->count);
	for (size_t i = 0; i < trace->count; i++) {
		put_text(text, trace->items[i].path);
		put_stamp(text, &trace->items[i].stamp);
	}
}

static void put_manifest(struct index_text *text, const struct kp_manifest *manifest)
{
	char *config = manifest->config ? kp_json_dumps(manifest->config, JSON_COMPACT)
					: strdup("");

	text->failed |= !config;
	put_text(text, manifest->name);
	put_text(text, manifest->path);
	put_text(text, manifest->library);
	put_text(text, manifest->sha256);
	put_text(text, manifest->digest);
	put_text(text, config ? config : "");
	put_number(text, manifest->layer);
	put_number(text, manifest->timeout_ms);
	put_number(text, (uint64_t)(int64_t)manifest->priority_offset);
	put_number(text, manifest->enabled);
	free(config);
}

void index_begin(struct index_text *text, const char *key, const char *decisions,
	uint64_t generation)
{
	*text = (struct index_text){0};
	put(text, magic, MAGIC);
	put_number(text, 0);
	put_number(text, 0);
	put_text(text, key);
	put_text(text, decisions);
	put_number(text, generation);
}

void index_add(struct index_text *text, const struct index_item *item)
{
	put_number(text, 1);
	put_manifest(text, &item->manifest);
	put_stamp(text, &item->stamp);
	put_text(text, item->digest);
	put_text(text, item->closure);
	put_text(text, item->told);
	put_number(text, (uint64_t)item->bytes);
	put_trace(text, item->trace);
	put_trace(text, item->kept);
}

void *index_end(struct index_text *text, size_t *size)
{
	put_number(text, 0);
	if (text->failed) {
		free(text->bytes);
		return NULL;
	}
	const uint64_t head[] = {
		text->size, sum_of(text->bytes + HEAD, text->size - HEAD)};
	memcpy(text->bytes + MAGIC, head, sizeof(head));
	*size = text->size;
	return text->bytes;
}

/* ---- reading ------------------------------------------------------------------ */

struct reading {
	const char *at, *end;
	bool failed;
};

static uint64_t get_number(struct reading *reading)
{
	uint64_t number = 0;

	if (reading->failed || (size_t)(reading->end - reading->at) < sizeof(number)) {
		reading->failed = true;
		return 0;
	}
	memcpy(&number, reading->at, sizeof(number));
	reading->at += sizeof(number);
	return number;
}

static const char *get_text(struct reading *reading)
{
	uint64_t length = get_number(reading);
	const char *text = reading->at;

	if (reading->failed || length >= (size_t)(reading->end - text) || text[length]) {
		reading->failed = true;
		return "";
	}
	reading->at += length + 1;
	return text;
}

static void get_stamp(struct reading *reading, struct stamp *stamp)
{
	stamp->exists = get_number(reading) != 0;
	stamp->dev = get_number(reading);
	stamp->ino = get_number(reading);
	stamp->size = (int64_t)get_number(reading);
	stamp->mtime = (int64_t)get_number(reading);
	stamp->ctime = (int64_t)get_number(reading);
}

static struct trace *get_trace(struct reading *reading)
{
	uint64_t count = get_number(reading);
	struct trace *trace = trace_new();

	reading->failed |= !trace || count > TRACE_MOST;
	for (uint64_t i = 0; i < count && !reading->failed; i++) {
		const char *path = get_text(reading);
		struct stamp stamp;
		get_stamp(reading, &stamp);
		if (!reading->failed && trace_add(trace, path, &stamp) < 0)
			reading->failed = true;
	}
	/* They were when they were written. */
	if (trace)
		trace->proof = true;
	return trace;
}

static void copy_text(struct reading *reading, const char *text, char *to, size_t room)
{
	size_t length = strlen(text);

	if (length >= room)
		reading->failed = true;
	else
		memcpy(to, text, length + 1);
}

static void get_manifest(struct reading *reading, struct kp_manifest *manifest)
{
	manifest->name = (char *)(uintptr_t)get_text(reading);
	manifest->path = (char *)(uintptr_t)get_text(reading);
	manifest->library = (char *)(uintptr_t)get_text(reading);
	copy_text(reading, get_text(reading), manifest->sha256, sizeof(manifest->sha256));
	copy_text(reading, get_text(reading), manifest->digest, sizeof(manifest->digest));
	const char *config = get_text(reading);
	manifest->config = config[0] ? json_loads(config, 0, NULL) : NULL;
	reading->failed |= config[0] && !manifest->config;
	manifest->layer = get_number(reading);
	manifest->timeout_ms = (unsigned)get_number(reading);
	manifest->priority_offset = (int)(int64_t)get_number(reading);
	manifest->enabled = get_number(reading) != 0;
}

static void get_item(struct reading *reading, struct index_item *item)
{
	get_manifest(reading, &item->manifest);
	get_stamp(reading, &item->stamp);
	item->digest = get_text(reading);
	item->closure = get_text(reading);
	item->told = get_text(reading);
	item->bytes = (int64_t)get_number(reading);
	item->trace = get_trace(reading);
	item->kept = get_trace(reading);
}

static struct index_item *grow(struct index *index, size_t *room)
{
	if (index->count == *room) {
		size_t more = *room ? *room * 2 : 64;
		struct index_item *items =
			reallocarray(index->items, more, sizeof(*items));
		if (!items)
			return NULL;
		index->items = items;
		*room = more;
	}
	struct index_item *item = &index->items[index->count++];
	*item = (struct index_item){0};
	return item;
}

/* The order is what they are found by. */
static bool is_in_order(const struct index *index)
{
	const struct index_item *last = &index->items[index->count - 1];
	return index->count < 2 ||
	       strcmp(last[-1].manifest.name, last->manifest.name) < 0;
}

static int bad(struct kp_diag *diag, const char *why)
{
	return kp_diag_set(diag, "bad_index", "index", "%s", why);
}

static int check(const char *bytes, size_t size, struct kp_diag *diag)
{
	uint64_t head[2];

	if (size < HEAD || memcmp(bytes, magic, MAGIC) != 0)
		return bad(diag, "it does not begin as an index of this version does");
	memcpy(head, bytes + MAGIC, sizeof(head));
	if (head[0] != size)
		return bad(diag, "it was cut: its size is not what it says");
	if (head[1] != sum_of(bytes + HEAD, size - HEAD))
		return bad(diag, "it was changed: its sum is not what it says");
	return 0;
}

static int read_items(struct index *index, struct reading *reading, struct kp_diag *diag)
{
	size_t room = 0;

	index->key = get_text(reading);
	index->decisions = get_text(reading);
	index->generation = get_number(reading);
	while (!reading->failed && get_number(reading) == 1) {
		struct index_item *item =
			index->count < ITEMS_MOST ? grow(index, &room) : NULL;
		if (!item)
			return kp_diag_no_memory(diag);
		get_item(reading, item);
		if (!reading->failed && !is_in_order(index))
			reading->failed = true;
	}
	if (reading->failed || reading->at != reading->end)
		return bad(diag, "what it says is not what an index does");
	return 0;
}

struct index *index_read(void *bytes, size_t size, struct kp_diag *diag)
{
	struct index *index = calloc(1, sizeof(*index));
	struct reading reading = {(char *)bytes + HEAD, (char *)bytes + size, false};

	if (!index) {
		free(bytes);
		kp_diag_no_memory(diag);
		return NULL;
	}
	index->bytes = bytes;
	if (check(bytes, size, diag) == 0 && read_items(index, &reading, diag) == 0)
		return index;
	index_free(index);
	return NULL;
}

void index_free(struct index *index)
{
	if (!index)
		return;
	for (size_t i = 0; i < index->count; i++) {
		json_decref(index->items[i].manifest.config);
		trace_unref(index->items[i].trace);
		trace_unref(index->items[i].kept);
	}
	free(index->items);
	free(index->bytes);
	free(index);
}

static int compare_name(const void *name, const void *item)
{
	return strcmp(name, ((const struct index_item *)item)->manifest.name);
}

struct index_item *index_find(const struct index *index, const char *plugin)
{
	if (!index || !index->count)
		return NULL;
	return bsearch(
		plugin, index->items, index->count, sizeof(*index->items), compare_name);
}
