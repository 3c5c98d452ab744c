/* SPDX-License-Identifier: MIT */
/*
 * What a target has: bytes from outside, and claims that hold whatever they are. A
 * target is a file of tests/fuzz/targets with this one function; it is linked with
 * libFuzzer (make fuzz), or with replay.c, which gives it the bytes of files.
 */
#ifndef KP_TESTS_FUZZ_TARGET_H
#define KP_TESTS_FUZZ_TARGET_H

#include <stddef.h>
#include <stdint.h>

#include "lib/base/diag.h"

/* Of libFuzzer; returns 0. */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

/* Ends the process by abort(3) where the claim does not hold. */
#define target_claim(claim) target_claimed((claim), #claim)
void target_claimed(int holds, const char *claim);

/* What refuses an input says why: a code and a sentence. */
void target_is_refused(const struct kp_diag *diag);

/* A copy that is exactly as large: a sanitizer sees each read beside it. To be freed. */
char *target_copy(const uint8_t *bytes, size_t size);

/* The bytes as a file in memory, to be closed; its offset is 0. */
int target_memory(const uint8_t *bytes, size_t size);

/*
 * The bytes as the file `name` in a directory of this process, which is removed at its
 * end. Returns the directory.
 */
const char *target_file(const char *name, const void *bytes, size_t size);

#endif
