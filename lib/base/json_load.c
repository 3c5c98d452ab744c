/* SPDX-License-Identifier: MIT */
/* Texts that jansson reads, and whether the heap had nothing meanwhile. */
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>

#include "lib/base/json.h"

/*
 * How often the heap had nothing for jansson, in any thread: where it grows for another's
 * sake memory is exhausted all the same. There is no other way to tell: its reader goes
 * on with a string that lacks a letter.
 */
static size_t starved;
static bool is_watched;

static void *allocate(size_t size)
{
	void *block = malloc(size);

	if (!block)
		(void)__atomic_add_fetch(&starved, 1, __ATOMIC_RELAXED);
	return block;
}

void kp_json_watch_heap(void)
{
	json_set_alloc_funcs(allocate, free);
	is_watched = true;
}

bool kp_json_has_starved(void)
{
	return __atomic_load_n(&starved, __ATOMIC_RELAXED) > 0;
}

/*
 * A text byte by byte: what jansson asked of the heap for one byte is known at the next,
 * before a number that it reads makes errno another.
 */
struct fed {
	const char *text;
	size_t left;
	bool is_hungry;
};

static size_t feed(void *space, size_t size, void *context)
{
	struct fed *fed = context;

	fed->is_hungry |= errno == ENOMEM;
	errno = 0;
	if (size == 0 || fed->left == 0 || fed->is_hungry)
		return 0;
	*(char *)space = *fed->text++;
	fed->left--;
	return 1;
}

/* Where jansson's heap is the application's own. */
static json_t *load_fed(
	const char *text, size_t size, size_t flags, json_error_t *error, bool *no_memory)
{
	struct fed fed = {text, size, false};
	json_t *value = json_load_callback(feed, &fed, flags, error);

	*no_memory = fed.is_hungry;
	return value;
}

json_t *kp_json_load(
	const char *text, size_t size, size_t flags, json_error_t *error, bool *no_memory)
{
	size_t hungry = __atomic_load_n(&starved, __ATOMIC_RELAXED);
	int before = errno;

	errno = 0;
	*no_memory = false;
	json_t *value = is_watched ? json_loadb(text, size, flags, error)
				   : load_fed(text, size, flags, error, no_memory);
	*no_memory |= __atomic_load_n(&starved, __ATOMIC_RELAXED) != hungry ||
		      errno == ENOMEM || (!value && !error->text[0]);
	if (*no_memory) {
		json_decref(value);
		value = NULL;
	}
	errno = before;
	return value;
}
