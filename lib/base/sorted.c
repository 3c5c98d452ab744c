/* SPDX-License-Identifier: MIT */
/* Finding, opening and closing places of a sorted array. */
#include "lib/base/sorted.h"

#include <stdlib.h>
#include <string.h>

static int compare(const struct kp_sorted *list, size_t i, const char *key)
{
	const char *const *item = (const void *)(list->base + i * list->width);
	return strcmp(*item, key);
}

size_t kp_sorted_place(const struct kp_sorted *list, const char *key, bool *found)
{
	size_t low = 0, high = list->count;

	/* What is copied or read comes in order: behind the last. */
	if (high > 0 && compare(list, high - 1, key) < 0)
		low = high;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (compare(list, middle, key) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	*found = low < list->count && compare(list, low, key) == 0;
	return low;
}

int kp_sorted_open(struct kp_sorted *list, size_t at)
{
	char *base = reallocarray(list->base, list->count + 1, list->width);
	if (!base)
		return -1;
	char *gap = base + at * list->width;
	memmove(gap + list->width, gap, (list->count - at) * list->width);
	memset(gap, 0, list->width);
	list->base = base;
	list->count++;
	return 0;
}

void kp_sorted_close(struct kp_sorted *list, size_t at)
{
	char *gap = list->base + at * list->width;
	list->count--;
	memmove(gap, gap + list->width, (list->count - at) * list->width);
}
