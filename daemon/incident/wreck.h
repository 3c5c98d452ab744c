/* SPDX-License-Identifier: MIT */
/*
 * What the slots of a dead application show, and what follows from it. The application
 * could write there whatever it liked.
 */
#ifndef KP_DAEMON_WRECK_H
#define KP_DAEMON_WRECK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "daemon/incident/ending.h"
#include "lib/host/control.h"
#include "lib/table/table_read.h"

struct control;

enum { WRECK_KERNELS = 8, WRECK_LABEL = sizeof(((struct kp_slot *)0)->label) };

/* One process, dead. */
struct wreck {
	uint64_t fatal; /* as in kp_told */
	uint64_t address;
	unsigned inside;  /* threads in kernels */
	unsigned stamped; /* those in which a handler was called */
	bool is_mixed;	  /* these are several kernels, or one that nobody knows */
	bool is_last;	  /* the last signal came in one of them */
	int signal;	  /* of the stamp */
	char kernel[KP_KERNEL_ID_BYTES]; /* stamped, else the only one inside; or "" */
	char label[WRECK_LABEL + 1];
	size_t n_names;
	char names[WRECK_KERNELS][KP_KERNEL_ID_BYTES]; /* inside, each once */
};

/* By the slots and what is told, as they are in the file. */
void wreck_read(struct wreck *wreck, int slots, const struct control *control);

/* Whose fault it was, in words. */
struct judgement {
	bool is_crash; /* of wreck->kernel */
	int signal;    /* or 0 */
	const char *seen_by;
	char text[256];
	bool is_worth; /* of an incident: else nothing happened that anybody asks about */
};
struct judgement wreck_judge(const struct wreck *wreck, const struct ending *ending);

#endif
