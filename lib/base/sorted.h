/* SPDX-License-Identifier: MIT */
/* An array of items in byte order of their keys. Owns nothing that items point to. */
#ifndef KP_LIB_SORTED_H
#define KP_LIB_SORTED_H

#include <stdbool.h>
#include <stddef.h>

/* Each item begins with its key, a char *. */
struct kp_sorted {
	char *base;
	size_t count, width;
};

/* Where the key is or would be; *found says which. */
size_t kp_sorted_place(const struct kp_sorted *list, const char *key, bool *found);
/* Makes room for one item, zeroed. The base may move. -1: memory. */
int kp_sorted_open(struct kp_sorted *list, size_t at) __attribute__((warn_unused_result));
void kp_sorted_close(struct kp_sorted *list, size_t at);

#endif
