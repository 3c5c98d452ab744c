/* SPDX-License-Identifier: MIT */
/*
 * A lane into libuv's pool: of its jobs at most `width` are in the pool at a
 * time, so that other work is never queued behind all of them. Knows nothing of
 * what a job does.
 */
#ifndef KP_DAEMON_LANE_H
#define KP_DAEMON_LANE_H

#include <stdbool.h>
#include <stddef.h>
#include <uv.h>

struct lane_job;

struct lane {
	uv_loop_t *loop;
	size_t width, running;
	struct lane_job *first, *last;
};

/* Embedded in what the job works on; zero it first. */
struct lane_job {
	uv_work_t request;
	struct lane *lane;
	struct lane_job *next;
	bool waiting, running;
	void (*work)(struct lane_job *job); /* in a thread of the pool; may block */
	void (*done)(struct lane_job *job); /* in the loop thread */
};

void lane_init(struct lane *lane, uv_loop_t *loop, size_t width);
/* The job is the lane's until done is called. */
void lane_add(struct lane *lane, struct lane_job *job, void (*work)(struct lane_job *job),
	void (*done)(struct lane_job *job));
/* Takes a job back that has not begun: true, and done is not called. */
bool lane_take_back(struct lane_job *job);

#endif
