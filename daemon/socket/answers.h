/* SPDX-License-Identifier: MIT */
/*
 * Replies that depend on the call's text and the generation alone, kept as ready bytes
 * until the next generation: the same question is asked again and again. Bounded; what
 * is kept gives way to what comes later. Knows no method.
 */
#ifndef KP_DAEMON_ANSWERS_H
#define KP_DAEMON_ANSWERS_H

#include <stddef.h>
#include <stdint.h>

enum {
	ANSWERS_WAYS = 4,
	ANSWERS_SETS = 1024,
	ANSWERS_BYTES = 4 << 20,	/* of all */
	ANSWERS_ENTRY_BYTES = 16 << 10, /* of a question and its answer */
};

struct answer;

/* Zero it first: then it takes memory only once something is kept. */
struct answers {
	struct answer **ways; /* ANSWERS_SETS times ANSWERS_WAYS */
	size_t bytes;
	unsigned turn; /* which way of a full set gives way next */
};

/* The answer to exactly this question, borrowed until the next change, or NULL. */
const char *answers_find(
	const struct answers *answers, const char *question, size_t size, size_t *length);

/*
 * Keeps copies. What is too long, and what there is no memory for, is not kept. *count
 * (may be NULL) grows each time that it is found.
 */
void answers_keep(struct answers *answers, const char *question, size_t size,
	const char *answer, size_t length, uint64_t *count);

/* Forgets all. */
void answers_clear(struct answers *answers);

#endif
