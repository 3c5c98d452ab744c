/* SPDX-License-Identifier: MIT */
/* Streams, events, and the one queue behind all of them. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tests/fake/cuda/fake.h"
#include "tests/fake/cuda/query.h"

struct fake_stream {
	struct fake_stream *next;
	struct fake_list *recording; /* NULL: it does not record */
	bool spoiled;
};

struct fake_event {
	struct fake_event *next;
	bool timed, recorded, done;
	struct timespec when;
};

static struct fake_stream *streams;
static struct fake_event *events;
static struct fake_list queue;
static unsigned handles;

/* ---- lists of work --------------------------------------------------------------- */

void fake_list_init(struct fake_list *list)
{
	list->first = NULL;
	list->end = &list->first;
}

void fake_list_run(const struct fake_list *list)
{
	for (struct fake_work *work = list->first; work; work = work->next)
		work->run(work);
}

void fake_list_free(struct fake_list *list)
{
	while (list->first) {
		struct fake_work *work = list->first;

		list->first = work->next;
		if (work->drop)
			work->drop(work);
		free(work->data);
		free(work);
	}
	list->end = &list->first;
}

static struct fake_list *the_queue(void)
{
	if (!queue.end)
		fake_list_init(&queue);
	return &queue;
}

void fake_run_queue(void)
{
	if (!the_queue()->first)
		return;
	fake_memory_open();
	fake_list_run(&queue);
	fake_memory_close();
	fake_list_free(&queue);
}

int fake_submit(struct fake_stream *stream, const struct fake_work *work)
{
	struct fake_list *list = the_queue();
	struct fake_work *made;

	if (!fake_stream_is(stream)) {
		free(work->data);
		return FAKE_INVALID_HANDLE;
	}
	if (*fake_stream_recording(stream))
		list = *fake_stream_recording(stream);
	made = malloc(sizeof(*made));
	if (!made) {
		free(work->data);
		return FAKE_OUT_OF_MEMORY;
	}
	*made = *work;
	made->next = NULL;
	*list->end = made;
	list->end = &made->next;
	return FAKE_OK;
}

struct foreign {
	void (*run)(void *data);
	char data[];
};

static void run_foreign(struct fake_work *work)
{
	struct foreign *foreign = work->data;

	foreign->run(foreign->data);
}

int fake_cuda_enqueue(
	void *stream, void (*run)(void *data), const void *data, size_t bytes)
{
	FAKE_CALL_IN_CONTEXT();
	struct foreign *foreign = malloc(sizeof(*foreign) + bytes);

	if (!foreign)
		return FAKE_OUT_OF_MEMORY;
	foreign->run = run;
	memcpy(foreign->data, data, bytes);
	return fake_submit(stream, &(struct fake_work){.run = run_foreign,
					   .data = foreign,
					   .bytes = sizeof(*foreign) + bytes});
}

/* ---- streams --------------------------------------------------------------------- */

/* NULL, 1 and 2 are the default stream by its names. */
static bool is_default(const struct fake_stream *stream)
{
	return (uintptr_t)stream <= 2;
}

bool fake_stream_is(const struct fake_stream *stream)
{
	for (const struct fake_stream *s = streams; s; s = s->next)
		if (s == stream)
			return true;
	return is_default(stream);
}

struct fake_list **fake_stream_recording(struct fake_stream *stream)
{
	static struct fake_list *none;

	return is_default(stream) ? &none : &stream->recording;
}

int fake_refuse_in_capture(void)
{
	int result = FAKE_OK;

	for (struct fake_stream *s = streams; s; s = s->next)
		if (s->recording) {
			s->spoiled = true;
			result = FAKE_CAPTURE_UNSUPPORTED;
		}
	return result;
}

static void drop_stream(struct fake_stream **at)
{
	struct fake_stream *stream = *at;

	*at = stream->next;
	if (stream->recording) {
		fake_list_free(stream->recording);
		free(stream->recording);
	}
	free(stream);
	handles--;
}

void fake_stream_reset(void)
{
	fake_list_free(the_queue());
	while (streams)
		drop_stream(&streams);
	while (events) {
		struct fake_event *event = events;

		events = event->next;
		free(event);
	}
	handles = 0;
}

unsigned fake_cuda_handles(void)
{
	return handles;
}

int cuStreamCreate(struct fake_stream **stream, unsigned flags)
{
	FAKE_CALL_IN_CONTEXT();
	struct fake_stream *made = flags <= 1 ? calloc(1, sizeof(*made)) : NULL;

	if (!made)
		return FAKE_INVALID_VALUE;
	made->next = streams;
	streams = made;
	handles++;
	*stream = made;
	return FAKE_OK;
}

int cuStreamDestroy_v2(struct fake_stream *stream)
{
	FAKE_CALL_IN_CONTEXT();
	fake_run_queue();
	for (struct fake_stream **at = &streams; *at; at = &(*at)->next)
		if (*at == stream) {
			drop_stream(at);
			return FAKE_OK;
		}
	return FAKE_INVALID_HANDLE;
}

int cuStreamSynchronize(struct fake_stream *stream)
{
	FAKE_CALL_IN_CONTEXT();
	int result = fake_refuse_in_capture();

	if (result != FAKE_OK)
		return result;
	if (!fake_stream_is(stream))
		return FAKE_INVALID_HANDLE;
	fake_run_queue();
	return FAKE_OK;
}

/* Asking makes time pass. */
int cuStreamQuery(struct fake_stream *stream)
{
	FAKE_CALL_IN_CONTEXT();
	int result = fake_refuse_in_capture();

	if (result != FAKE_OK)
		return result;
	if (!fake_stream_is(stream))
		return FAKE_INVALID_HANDLE;
	result = the_queue()->first ? FAKE_NOT_READY : FAKE_OK;
	fake_run_queue();
	return result;
}

int cuStreamWaitEvent(
	struct fake_stream *stream, struct fake_event *event, unsigned flags)
{
	FAKE_CALL_IN_CONTEXT();
	(void)event;
	(void)flags;
	return fake_stream_is(stream) ? FAKE_OK : FAKE_INVALID_HANDLE;
}

int cuStreamIsCapturing(struct fake_stream *stream, int *status)
{
	FAKE_CALL_IN_CONTEXT();
	if (!fake_stream_is(stream))
		return FAKE_INVALID_HANDLE;
	*status = !*fake_stream_recording(stream) ? 0 : stream->spoiled ? 2 : 1;
	return FAKE_OK;
}

int cuStreamBeginCapture_v2(struct fake_stream *stream, int mode)
{
	FAKE_CALL_IN_CONTEXT();
	(void)mode;
	if (is_default(stream))
		return FAKE_CAPTURE_UNSUPPORTED;
	if (!fake_stream_is(stream) || stream->recording)
		return FAKE_INVALID_HANDLE;
	stream->recording = malloc(sizeof(*stream->recording));
	if (!stream->recording)
		return FAKE_OUT_OF_MEMORY;
	fake_list_init(stream->recording);
	stream->spoiled = false;
	return FAKE_OK;
}

/* A CUgraph is the list of what was recorded. */
int cuStreamEndCapture(struct fake_stream *stream, struct fake_list **graph)
{
	FAKE_CALL_IN_CONTEXT();
	if (is_default(stream) || !fake_stream_is(stream) || !stream->recording)
		return FAKE_INVALID_HANDLE;
	struct fake_list *recorded = stream->recording;

	stream->recording = NULL;
	*graph = NULL;
	if (stream->spoiled) {
		fake_list_free(recorded);
		free(recorded);
		return FAKE_CAPTURE_INVALIDATED;
	}
	*graph = recorded;
	handles++;
	return FAKE_OK;
}

/* ---- events ---------------------------------------------------------------------- */

int cuEventCreate(struct fake_event **event, unsigned flags)
{
	FAKE_CALL_IN_CONTEXT();
	struct fake_event *made = calloc(1, sizeof(*made));

	if (!made)
		return FAKE_OUT_OF_MEMORY;
	made->timed = !(flags & 2);
	made->next = events;
	events = made;
	handles++;
	*event = made;
	return FAKE_OK;
}

static bool is_event(const struct fake_event *event)
{
	for (const struct fake_event *e = events; e; e = e->next)
		if (e == event)
			return true;
	return false;
}

int cuEventDestroy_v2(struct fake_event *event)
{
	FAKE_CALL_IN_CONTEXT();
	fake_run_queue();
	for (struct fake_event **at = &events; *at; at = &(*at)->next)
		if (*at == event) {
			*at = event->next;
			free(event);
			handles--;
			return FAKE_OK;
		}
	return FAKE_INVALID_HANDLE;
}

static void run_event(struct fake_work *work)
{
	struct fake_event *event = work->to;

	if (!is_event(event))
		return;
	clock_gettime(CLOCK_MONOTONIC, &event->when);
	event->done = true;
}

int cuEventRecord(struct fake_event *event, struct fake_stream *stream)
{
	FAKE_CALL_IN_CONTEXT();
	if (!is_event(event))
		return FAKE_INVALID_HANDLE;
	if (fake_stream_is(stream) && !*fake_stream_recording(stream)) {
		event->recorded = true;
		event->done = false;
	}
	return fake_submit(stream, &(struct fake_work){.run = run_event, .to = event});
}

int cuEventSynchronize(struct fake_event *event)
{
	FAKE_CALL_IN_CONTEXT();
	int result = fake_refuse_in_capture();

	if (result != FAKE_OK)
		return result;
	if (!is_event(event))
		return FAKE_INVALID_HANDLE;
	fake_run_queue();
	return FAKE_OK;
}

int cuEventQuery(struct fake_event *event)
{
	FAKE_CALL_IN_CONTEXT();
	int result = fake_refuse_in_capture();

	if (result != FAKE_OK)
		return result;
	if (!is_event(event))
		return FAKE_INVALID_HANDLE;
	result = event->recorded && !event->done ? FAKE_NOT_READY : FAKE_OK;
	fake_run_queue();
	return result;
}

/* A fake GPU has no clock of its own: the times are those of this CPU. */
int cuEventElapsedTime(
	float *ms, const struct fake_event *from, const struct fake_event *to)
{
	FAKE_CALL_IN_CONTEXT();
	if (!is_event(from) || !is_event(to) || !from->recorded || !to->recorded ||
		!from->timed || !to->timed)
		return FAKE_INVALID_HANDLE;
	if (!from->done || !to->done)
		return FAKE_NOT_READY;
	*ms = (float)((double)(to->when.tv_sec - from->when.tv_sec) * 1e3 +
		      (double)(to->when.tv_nsec - from->when.tv_nsec) / 1e6);
	return FAKE_OK;
}

int cuEventElapsedTime_v2(
	float *ms, const struct fake_event *from, const struct fake_event *to)
{
	return cuEventElapsedTime(ms, from, to);
}
