/* SPDX-License-Identifier: MIT */
/*
 * Laying out JSON text for people without making values of it: what is passed on
 * unread should cost no more than its bytes.
 */
#ifndef KP_LIB_JSON_LAYOUT_H
#define KP_LIB_JSON_LAYOUT_H

#include <stddef.h>

/*
 * Writes the value in `text`, which is compact, as jansson does with JSON_INDENT(2);
 * *out is malloc'ed, NUL-terminated and the caller's. -1 where it is not sure to be
 * that: for what is not JSON, and for what must be looked at more closely (bytes
 * beyond ASCII, fractions, surrogates, nesting beyond 64), also for want of memory.
 */
int kp_json_lay_out(const char *text, size_t size, char **out, size_t *out_size)
	__attribute__((warn_unused_result));

#endif
