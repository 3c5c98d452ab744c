/* SPDX-License-Identifier: MIT */
/*
 * Reads a worker's report as its bytes come: one JSON object a line, bounded. A plugin
 * shares its worker's process: whatever it writes into the report must not pass for the
 * worker's words by accident, and must cost the reader nothing. Knows no process.
 */
#ifndef KP_LIB_REPORT_H
#define KP_LIB_REPORT_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

enum {
	KP_REPORT_MARK = 33,	       /* 32 digits and their NUL */
	KP_REPORT_LINE = 16 << 10,     /* a line */
	KP_REPORT_KERNEL = 2 << 10,    /* for each kernel that is asked, ... */
	KP_REPORT_MORE = 64 << 10,     /* and for the rest of the report */
	KP_REPORT_FACTS = 256 << 10,   /* a line of an identify; */
	KP_REPORT_NOTE = 5 << 20,      /* its note, which may have 4 MiB; */
	KP_REPORT_IDENTIFY = 32 << 20, /* and its report */
	KP_REPORT_VALUES = 1 << 19,    /* values in a line: they cost more than bytes */
};

/* What was agreed with the worker. */
struct kp_report_terms {
	char mark[KP_REPORT_MARK]; /* begins each line, then a blank; "": lines are bare
				    */
	bool identifies;	   /* no code of the plugin runs beside it */
	size_t kernels;		   /* that are asked */
};

/* Makes a mark that nobody can guess; -1 with errno. */
int kp_report_mark(struct kp_report_terms *terms) __attribute__((warn_unused_result));

/* Zero it, set terms. */
struct kp_report {
	struct kp_report_terms terms;
	char *line;
	size_t used, room, total;
	char why[160];	/* a sentence, once it is garbled */
	bool no_memory; /* it is not: we could not read it */
};
void kp_report_finish(struct kp_report *report);

/*
 * Takes bytes; take gets each object, borrowed, and returns NULL or why it should not
 * have come. 0, or -1 when the report is garbled: nothing more must be taken then.
 */
int kp_report_take(struct kp_report *report, const char *bytes, size_t size,
	const char *(*take)(void *context, json_t *line), void *context)
	__attribute__((warn_unused_result));

/* How many values a JSON text has at most, told without parsing it. */
size_t kp_report_values(const char *text, size_t size);

#endif
