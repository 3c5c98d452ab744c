/* SPDX-License-Identifier: MIT */
/*
 * Which system calls a worker may make, and what is said of those that it may not. A
 * call that is in no table does not exist for a worker (ENOSYS), so that libraries fall
 * back to an older one. Tables only: filter.c makes them a filter.
 */
#ifndef KP_WORKER_CALLS_H
#define KP_WORKER_CALLS_H

#include <seccomp.h>
#include <stdbool.h>
#include <stddef.h>

/* In place of the worker's number, which is not known when the filter is made. */
enum { CALLS_SELF = 0x4b504c47 };

enum call_fate {
	CALL_ALLOWED,
	CALL_OPENS, /* a file, to be written: Landlock knows which */
	CALL_REFUSED,
	CALL_DECLINED, /* nothing is said: libraries have another way, and take it */
	CALL_DEADLY,   /* refused, and it ends the worker: no plugin has a reason to */
};

/* Rows of one name have conditions of which no two of different fates hold at once. */
struct call {
	const char *name;
	enum call_fate fate;
	int error;	  /* of a refused one */
	const char *what; /* "a worker may not ...", or NULL */
	unsigned n;
	struct scmp_arg_cmp when[2];
	bool spared; /* allowed to workers that measure or have a GPU */
};

/* Without conditions; ends with NULL. */
extern const char *const calls_plain[];
/* The same for workers that measure or have a GPU; the rows below hold for the others. */
extern const char *const calls_spared[];

extern const struct call calls[];
extern const size_t calls_count;

/* What is said of a call that was refused: the first row of its name. NULL: nothing. */
const struct call *calls_find(const char *name);

#endif
