/* SPDX-License-Identifier: MIT */
/*
 * The probe cache: lines of JSON between a format and a sum, which are made right. What
 * is found in it is decoded or forgotten.
 */
#include "tests/fuzz/target.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/store/cache.h"
#include "lib/base/hash.h"
#include "lib/plugin/verdict.h"

static const char first[] = "{\"format\":\"kplug-probe/2\"}\n";
static const int64_t now = 1700000000;

/* The lines with both ends; to be freed. */
static char *seal(const uint8_t *bytes, size_t size, size_t *whole)
{
	size_t begin = sizeof(first) - 1;
	char sum[KP_HASH_TEXT];
	char *text = malloc(begin + size + 64);

	target_claim(text != NULL);
	memcpy(text, first, begin);
	if (size > 0)
		memcpy(text + begin, bytes, size);
	if (size > 0 && bytes[size - 1] != '\n')
		text[begin + size++] = '\n';
	kp_hash_print(text, begin + size, sum);
	*whole = begin + size +
		 (size_t)snprintf(text + begin + size, 40, "{\"sum\":\"%s\"}\n", sum);
	return text;
}

static void look_at_files(const struct cache *cache)
{
	const char *path;
	json_t *value;

	json_object_foreach (cache->files, path, value) {
		struct cache_file file;
		const json_t *found = cache_find(cache, path);
		if (found && cache_decode(found, &file) == 0)
			trace_unref(file.trace);
	}
}

static void look_at_verdicts(const struct cache *cache)
{
	const char *key;
	json_t *value;

	json_object_foreach (cache->verdicts, key, value) {
		struct kp_verdict verdict = {0};
		struct kp_diag diag;
		const json_t *found = cache_verdict(cache, key, 1000);
		if (!found)
			continue;
		if (kp_verdict_from_json(found, &verdict, &diag) < 0)
			target_is_refused(&diag);
		else
			kp_verdict_finish(&verdict);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct cache cache;
	struct kp_diag diag;
	size_t whole;
	char *text = seal(bytes, size, &whole);
	const char *directory = target_file("probe", text, whole);

	target_claim(cache_init(&cache) == 0);
	if (cache_read(&cache, directory, now, &diag) != 0)
		target_is_refused(&diag);
	look_at_files(&cache);
	look_at_verdicts(&cache);
	target_claim(cache_write(&cache, directory, &diag) == 0);
	cache_finish(&cache);
	free(text);
	return 0;
}
