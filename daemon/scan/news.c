/* SPDX-License-Identifier: MIT */
/* Sets of names that are handed out as sorted lists; knows nothing of how they came. */
#include "daemon/scan/news.h"

#include <stdlib.h>

#include "lib/base/text.h"

int news_init(struct news *news)
{
	news->added = json_object();
	news->changed = json_object();
	news->removed = json_object();
	return news->added && news->changed && news->removed ? 0 : -1;
}

void news_finish(struct news *news)
{
	json_decref(news->added);
	json_decref(news->changed);
	json_decref(news->removed);
}

void news_put(json_t *set, const char *name)
{
	(void)json_object_set_new(set, name, json_true());
}

/* Empties the set. */
static json_t *sorted(json_t *set)
{
	size_t n = json_object_size(set), i = 0;
	const char **names = calloc(n + 1, sizeof(*names));
	json_t *array = json_array();
	const char *name;
	json_t *value;

	if (names) {
		json_object_foreach (set, name, value)
			names[i++] = name;
		qsort(names, n, sizeof(*names), kp_text_compare);
		for (i = 0; i < n; i++)
			(void)json_array_append_new(array, json_string(names[i]));
	}
	free(names);
	(void)json_object_clear(set);
	return array;
}

struct scan_result news_take(struct news *news)
{
	return (struct scan_result){
		sorted(news->added), sorted(news->changed), sorted(news->removed)};
}

void news_taken_finish(struct scan_result *taken)
{
	json_decref((json_t *)(uintptr_t)taken->added);
	json_decref((json_t *)(uintptr_t)taken->changed);
	json_decref((json_t *)(uintptr_t)taken->removed);
}
