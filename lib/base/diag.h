/* SPDX-License-Identifier: MIT */
/* A message that a person must act on. Knows nothing of who shows it. */
#ifndef KP_LIB_DIAG_H
#define KP_LIB_DIAG_H

#include <stdbool.h>
#include <stddef.h>

/*
 * What is wrong, with what, and where. `code` is static text and stable: tools
 * match it, the manual explains it. Strings are UTF-8, cut to fit, control
 * bytes escaped. line and column count from 1; 0 is "not known".
 */
struct kp_diag {
	const char *code;
	char object[192];
	char file[256];
	unsigned line;
	unsigned column;
	char message[768];
};

/* An owned, growing list of them: the warnings of a reader. Zero it first. */
enum { KP_DIAGS_MOST = 256 };
struct kp_diags {
	struct kp_diag *items;
	size_t count;
	bool no_memory; /* for one that is missing therefore */
};

/*
 * Fills *diag (which may be NULL) and clears its place. `object` may be NULL.
 * Returns -1, so that a function can end with `return kp_diag_set(...)`.
 */
int kp_diag_set(struct kp_diag *diag, const char *code, const char *object,
	const char *format, ...) __attribute__((format(printf, 4, 5)));

/* Adds the place to what kp_diag_set wrote. Returns -1. */
int kp_diag_at(struct kp_diag *diag, const char *file, unsigned line, unsigned column);

/*
 * Names another object for what a function below said, and starts the message with
 * it: "kernels[2].signatures[0]: a dtype expected". Returns -1.
 */
int kp_diag_rename(struct kp_diag *diag, const char *object);

/*
 * Ends a message that offers nothing yet with the nearest of further names for
 * `wanted`, if one is near. Returns -1.
 */
int kp_diag_offer(
	struct kp_diag *diag, const char *wanted, const char *const *names, size_t count);

/* For a failed allocation: code "no_memory". Returns -1. */
int kp_diag_no_memory(struct kp_diag *diag);

/* `file:line:column: message`, as much of the place as is known. Returns `text`. */
const char *kp_diag_text(const struct kp_diag *diag, char *text, size_t size);

/* Appends a copy. One that is beyond KP_DIAGS_MOST or memory is dropped. */
void kp_diags_add(struct kp_diags *list, const struct kp_diag *diag);
/* The same, unless one with this code and message is there. */
void kp_diags_add_new(struct kp_diags *list, const struct kp_diag *diag);
/* Does it have one of the same code and message? */
bool kp_diags_has(const struct kp_diags *list, const struct kp_diag *diag);
void kp_diags_finish(struct kp_diags *list);

#ifdef __clang_analyzer__
/* It reads one file at a time, and does not see that these return -1. */
static inline int kp_diag_failed(int result)
{
	(void)result;
	return -1;
}
#define kp_diag_set(...)	kp_diag_failed(kp_diag_set(__VA_ARGS__))
#define kp_diag_no_memory(diag) kp_diag_failed(kp_diag_no_memory(diag))
#endif

#endif
