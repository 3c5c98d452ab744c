/* SPDX-License-Identifier: MIT */
/*
 * What a verdict told of a plugin that selection does not need: the note's own words,
 * what the library is made of, remarks, evidence. One text, for there are thousands of
 * plugins and few who ask.
 */
#ifndef KP_LIB_TOLD_H
#define KP_LIB_TOLD_H

#include <jansson.h>

#include "lib/plugin/verdict.h"

/*
 * about (of kp_note_about) may be NULL, warnings is an array. malloc'ed; NULL when memory
 * is exhausted.
 */
char *kp_told_print(const json_t *about, const json_t *warnings,
	const struct kp_verdict *verdict) __attribute__((warn_unused_result));

/*
 * The object with "about", "elf", "evidence", "signature" and "warnings", each null where
 * nothing was told. text may be NULL. A new reference; NULL when memory is exhausted.
 */
json_t *kp_told_read(const char *text) __attribute__((warn_unused_result));

#endif
