/* SPDX-License-Identifier: MIT */
/* The cache in memory: two maps of values that never change. */
#include "daemon/store/cache.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kplug/plugin.h"
#include "lib/base/build.h"
#include "lib/base/json.h"

int cache_init(struct cache *cache)
{
	*cache = (struct cache){json_object(), json_object()};
	if (cache->files && cache->verdicts)
		return 0;
	cache_finish(cache);
	return -1;
}

void cache_finish(struct cache *cache)
{
	json_decref(cache->files);
	json_decref(cache->verdicts);
	*cache = (struct cache){0};
}

int cache_snapshot(const struct cache *cache, struct cache *snapshot)
{
	*snapshot = (struct cache){json_copy(cache->files), json_copy(cache->verdicts)};
	if (snapshot->files && snapshot->verdicts)
		return 0;
	cache_finish(snapshot);
	return -1;
}

/* A field a line: none of them has a line's end in it. */
void cache_key(const struct cache_terms *terms, char key[DIGEST_TEXT])
{
	char *text;
	int n = asprintf(&text, "%s\n%s\n%s\n%u.%u\n%s\n%s\n%d %d\n", terms->closure,
		terms->deps, kp_build_version, KP_ABI_MAJOR, KP_ABI_MINOR,
		terms->platform, terms->signatures, terms->confinement.filter,
		terms->confinement.landlock);

	key[0] = '\0';
	if (n < 0)
		return;
	digest_bytes(text, (size_t)n, key);
	free(text);
}

/*
 * The line of a value, which it takes; NULL when there can be none. Its name and its time
 * come first: they can be read without the rest.
 */
static json_t *as_text(json_t *value, const char *name, const char *key, int64_t at)
{
	json_t *whole = json_pack("{s:s, s:I}", name, key, "at", (json_int_t)at);
	char *text = NULL;

	if (whole && value && json_object_update(whole, value) == 0)
		text = kp_json_dumps(whole, JSON_COMPACT);
	json_decref(whole);
	json_decref(value);
	json_t *line = text ? json_string_nocheck(text) : NULL;
	free(text);
	return line;
}

static const json_t *find(json_t *map, const char *key)
{
	const json_t *kept = json_object_get(map, key);
	const char *text = json_string_value(kept);

	if (!text)
		return kept;
	if (json_object_set_new(map, key, json_loads(text, 0, NULL)) < 0)
		return NULL;
	return json_object_get(map, key);
}

const json_t *cache_find(const struct cache *cache, const char *library)
{
	return find(cache->files, library);
}

int cache_decode(const json_t *value, struct cache_file *file)
{
	struct cache_file made;
	json_t *parts, *needs, *stamps;
	int proof;

	if (json_unpack((json_t *)value, "{s:s, s:s, s:s, s:s, s:o, s:o, s:o, s:b}",
		    "digest", &made.digest, "closure", &made.closure, "entry",
		    &made.entry, "deps", &made.deps, "parts", &parts, "needs", &needs,
		    "stamps", &stamps, "proof", &proof) < 0)
		return -1;
	const char *key = kp_json_text(value, "verdict");
	made.key = key ? key : "";
	made.parts = parts;
	made.needs = needs;
	made.trace = trace_from_json(stamps, proof);
	if (!made.trace)
		return -1;
	*file = made;
	return 0;
}

/*
 * Kernel plugins are few: when there is no room somebody makes names up, and
 * forgetting all is as good as any order.
 */
static void make_room(json_t *map)
{
	if (json_object_size(map) >= CACHE_MOST)
		(void)json_object_clear(map);
}

/* ---- verdicts that are spare --------------------------------------------------- */

/* The key in a file's entry; "": it has none, or was written without. */
static void key_in(const json_t *kept, char key[DIGEST_TEXT])
{
	static const char head[] = "\"verdict\":\"";
	const char *text = json_string_value(kept);
	/* Within a text of the line quotes are escaped: this is the member. */
	const char *at = text ? strstr(text, head) : NULL;
	const char *found = at ? at + sizeof(head) - 1
			       : json_string_value(json_object_get(kept, "verdict"));

	(void)snprintf(key, DIGEST_TEXT, "%.*s", found ? (int)strcspn(found, "\"") : 0,
		found ? found : "");
}

/* The keys that files have now, as a set; NULL for want of memory. */
static json_t *keys_in_use(const struct cache *cache)
{
	json_t *keys = json_object();
	char key[DIGEST_TEXT];
	const char *library;
	json_t *kept;

	json_object_foreach (cache->files, library, kept) {
		key_in(kept, key);
		if (keys && json_object_set_new(keys, key, json_true()) < 0) {
			json_decref(keys);
			return NULL;
		}
	}
	return keys;
}

/* Of too many that are spare the older quarter goes: an object has its keys in order. */
static void drop_spare(struct cache *cache)
{
	size_t files = json_object_size(cache->files);
	json_t *keys, *verdict;
	const char *key;
	void *next;

	if (json_object_size(cache->verdicts) < files + CACHE_SPARE ||
		!(keys = keys_in_use(cache)))
		return;
	size_t left = CACHE_SPARE / 4;
	json_object_foreach_safe(cache->verdicts, next, key, verdict)
	{
		if (left == 0)
			break;
		if (json_object_get(keys, key))
			continue;
		(void)json_object_del(cache->verdicts, key);
		left--;
	}
	json_decref(keys);
}

/* ---- putting ------------------------------------------------------------------- */

void cache_put(struct cache *cache, const char *library, const struct cache_file *file,
	int64_t now)
{
	make_room(cache->files);
	json_t *value = json_pack("{s:s, s:s, s:s, s:s, s:s, s:O, s:O, s:o, s:b}",
		"verdict", file->key, "digest", file->digest, "closure", file->closure,
		"entry", file->entry, "deps", file->deps, "parts", file->parts, "needs",
		file->needs, "stamps", trace_json(file->trace), "proof",
		file->trace->proof);
	if (json_object_set_new(
		    cache->files, library, as_text(value, "file", library, now)) < 0)
		cache_forget(cache, library);
}

void cache_forget(struct cache *cache, const char *library)
{
	(void)json_object_del(cache->files, library);
}

const json_t *cache_verdict(
	const struct cache *cache, const char *key, unsigned timeout_ms)
{
	const json_t *value = find(cache->verdicts, key);
	const json_t *verdict = json_object_get(value, "verdict");
	const char *state = json_string_value(json_object_get(verdict, "state"));

	if (!state)
		return NULL;
	if (strcmp(state, "failed") == 0 &&
		json_integer_value(json_object_get(value, "timeout_ms")) != timeout_ms)
		return NULL;
	return verdict;
}

void cache_put_verdict(struct cache *cache, const char *key, unsigned timeout_ms,
	int64_t now, json_t *verdict)
{
	make_room(cache->verdicts);
	drop_spare(cache);
	json_t *value = json_pack(
		"{s:o, s:I}", "verdict", verdict, "timeout_ms", (json_int_t)timeout_ms);
	json_t *line = as_text(value, "key", key, now);
	if (!key[0]) {
		json_decref(line);
		return;
	}
	if (json_object_set_new(cache->verdicts, key, line) < 0)
		(void)json_object_del(cache->verdicts, key);
}
