/* SPDX-License-Identifier: MIT */
/* Memory of many small arrays that live and end together. Knows no meaning. */
#ifndef KP_LIB_ARENA_H
#define KP_LIB_ARENA_H

#include <stddef.h>

struct kp_arena;

/* NULL when memory is exhausted. */
struct kp_arena *kp_arena_new(void);
void kp_arena_free(struct kp_arena *arena);

/*
 * `count` zeroed things of `size` bytes, aligned for any type, valid until
 * kp_arena_free. NULL when memory is exhausted or the product overflows; never
 * NULL for none.
 */
void *kp_arena_alloc(struct kp_arena *arena, size_t count, size_t size)
	__attribute__((warn_unused_result));
char *kp_arena_strdup(struct kp_arena *arena, const char *text)
	__attribute__((warn_unused_result));

#endif
