/* SPDX-License-Identifier: MIT */
/* A queue in front of uv_queue_work. */
#include "daemon/pipeline/lane.h"

#include <assert.h>

static void go(struct lane *lane);

static void work(uv_work_t *request)
{
	struct lane_job *job = request->data;

	job->work(job);
}

/* Never cancelled: uv_cancel is not called. */
static void worked(uv_work_t *request, int status)
{
	struct lane_job *job = request->data;
	struct lane *lane = job->lane;

	(void)status;
	job->running = false;
	lane->running--;
	/* The job may be gone after done; the lane outlives its jobs. */
	go(lane);
	job->done(job);
}

static void go(struct lane *lane)
{
	while (lane->first && lane->running < lane->width) {
		struct lane_job *job = lane->first;
		lane->first = job->next;
		if (!lane->first)
			lane->last = NULL;
		job->waiting = false;
		job->running = true;
		lane->running++;
		int failed = uv_queue_work(lane->loop, &job->request, work, worked);
		/* It fails for a NULL callback only. */
		assert(failed == 0);
		(void)failed;
	}
}

void lane_init(struct lane *lane, uv_loop_t *loop, size_t width)
{
	*lane = (struct lane){.loop = loop, .width = width};
}

void lane_add(struct lane *lane, struct lane_job *job,
	void (*work_in_pool)(struct lane_job *), void (*done)(struct lane_job *))
{
	assert(!job->waiting && !job->running);
	job->request.data = job;
	job->lane = lane;
	job->next = NULL;
	job->work = work_in_pool;
	job->done = done;
	job->waiting = true;
	if (lane->last)
		lane->last->next = job;
	else
		lane->first = job;
	lane->last = job;
	go(lane);
}

bool lane_take_back(struct lane_job *job)
{
	if (!job->waiting)
		return false;
	struct lane *lane = job->lane;
	struct lane_job **at = &lane->first, *before = NULL;
	while (*at != job) {
		before = *at;
		at = &(*at)->next;
	}
	*at = job->next;
	if (lane->last == job)
		lane->last = before;
	job->waiting = false;
	return true;
}
