/* SPDX-License-Identifier: MIT */
/* Stamps of files and traces of them. */
#include "daemon/scan/stamp.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

static const int64_t ns_per_ms = 1000000;
static const int64_t ns_per_s = 1000000000;

/* Of files of any year: from 2262 on, and before 1678, all have the same time. */
static int64_t nanoseconds(const struct timespec *t)
{
	int64_t all;

	if (__builtin_mul_overflow((int64_t)t->tv_sec, ns_per_s, &all) ||
		__builtin_add_overflow(all, (int64_t)t->tv_nsec, &all))
		return t->tv_sec < 0 ? INT64_MIN : INT64_MAX;
	return all;
}

int64_t stamp_age(int64_t now_ns, int64_t time_ns)
{
	int64_t age;

	if (__builtin_sub_overflow(now_ns, time_ns, &age))
		return time_ns < 0 ? INT64_MAX : INT64_MIN;
	return age;
}

void stamp_from_stat(const struct stat *st, struct stamp *stamp)
{
	*stamp = (struct stamp){
		.exists = true,
		.dev = st->st_dev,
		.ino = st->st_ino,
		.size = st->st_size,
		.mtime = nanoseconds(&st->st_mtim),
		.ctime = nanoseconds(&st->st_ctim),
	};
}

void stamp_take(const char *path, struct stamp *stamp)
{
	struct stat st;

	if (stat(path, &st) < 0)
		*stamp = (struct stamp){.exists = false};
	else
		stamp_from_stat(&st, stamp);
}

bool stamp_equal(const struct stamp *a, const struct stamp *b)
{
	return a->exists == b->exists && a->dev == b->dev && a->ino == b->ino &&
	       a->size == b->size && a->mtime == b->mtime && a->ctime == b->ctime;
}

/*
 * The time of the content counts, not that of the inode: a file that was moved
 * or copied here with its time is complete. A time in the future says nothing.
 */
unsigned stamp_settles_in(const struct stamp *stamp, int64_t now_ns)
{
	int64_t age = stamp_age(now_ns, stamp->mtime) / ns_per_ms;

	if (!stamp->exists || age < 0 || age >= STAMP_SETTLE_MS)
		return 0;
	return (unsigned)(STAMP_SETTLE_MS - age);
}

int64_t stamp_now(void)
{
	struct timespec now = {0};

	(void)clock_gettime(CLOCK_REALTIME, &now);
	return nanoseconds(&now);
}

/*
 * Some file systems keep whole or even seconds only: there a write within the
 * same two seconds leaves no other time.
 */
static bool is_proof(const struct stamp *stamp, int64_t now_ns)
{
	int64_t coarse = stamp->ctime % ns_per_s == 0 ? 2 : 1;

	return !stamp->exists ||
	       stamp_age(now_ns, stamp->ctime) >= coarse * STAMP_SETTLE_MS * ns_per_ms;
}

struct trace *trace_new(void)
{
	struct trace *trace = calloc(1, sizeof(*trace));

	if (!trace)
		return NULL;
	trace->references = 1;
	trace->proof = true;
	return trace;
}

struct trace *trace_ref(struct trace *trace)
{
	trace->references++;
	return trace;
}

void trace_unref(struct trace *trace)
{
	if (!trace || --trace->references > 0)
		return;
	for (size_t i = 0; i < trace->count; i++)
		free(trace->items[i].path);
	free(trace->items);
	free(trace);
}

static bool has(const struct trace *trace, const char *path)
{
	for (size_t i = 0; i < trace->count; i++)
		if (strcmp(trace->items[i].path, path) == 0)
			return true;
	return false;
}

int trace_add(struct trace *trace, const char *path, const struct stamp *stamp)
{
	if (has(trace, path))
		return 0;
	struct traced *items =
		reallocarray(trace->items, trace->count + 1, sizeof(*items));
	if (!items)
		return -1;
	trace->items = items;
	items[trace->count].path = strdup(path);
	if (!items[trace->count].path)
		return -1;
	items[trace->count++].stamp = *stamp;
	if (!is_proof(stamp, stamp_now()))
		trace->proof = false;
	return 0;
}

bool trace_holds(const struct trace *trace)
{
	for (size_t i = 0; i < trace->count; i++) {
		struct stamp now;
		stamp_take(trace->items[i].path, &now);
		if (!stamp_equal(&now, &trace->items[i].stamp))
			return false;
	}
	return true;
}

const char *trace_modified(const struct trace *trace)
{
	for (size_t i = 0; i < trace->count; i++) {
		const struct stamp *was = &trace->items[i].stamp;
		struct stamp now;
		struct stat st;
		if (!was->exists || stat(trace->items[i].path, &st) < 0 ||
			!S_ISREG(st.st_mode))
			continue;
		stamp_from_stat(&st, &now);
		if (now.dev == was->dev && now.ino == was->ino &&
			(now.size != was->size || now.mtime != was->mtime))
			return trace->items[i].path;
	}
	return NULL;
}

bool trace_names_hold(const struct trace *trace)
{
	for (size_t i = 0; i < trace->count; i++) {
		struct stamp now;
		stamp_take(trace->items[i].path, &now);
		if (now.exists != trace->items[i].stamp.exists)
			return false;
	}
	return true;
}

static json_t *traced_json(const struct traced *item)
{
	const struct stamp *s = &item->stamp;

	if (!s->exists)
		return json_pack("[s]", item->path);
	return json_pack("[s, I, I, I, I, I]", item->path, (json_int_t)s->dev,
		(json_int_t)s->ino, (json_int_t)s->size, (json_int_t)s->mtime,
		(json_int_t)s->ctime);
}

json_t *trace_json(const struct trace *trace)
{
	json_t *array = json_array();

	for (size_t i = 0; array && i < trace->count; i++) {
		if (json_array_append_new(array, traced_json(&trace->items[i])) == 0)
			continue;
		json_decref(array);
		array = NULL;
	}
	return array;
}

static int add_json(struct trace *trace, const json_t *item)
{
	struct stamp stamp = {.exists = json_array_size(item) > 1};
	json_int_t dev, ino, size, mtime, ctime;
	const char *path;

	if (!stamp.exists) {
		if (json_unpack((json_t *)item, "[s]", &path) < 0)
			return -1;
		return trace_add(trace, path, &stamp);
	}
	if (json_unpack((json_t *)item, "[s, I, I, I, I, I]", &path, &dev, &ino, &size,
		    &mtime, &ctime) < 0)
		return -1;
	stamp.dev = (uint64_t)dev;
	stamp.ino = (uint64_t)ino;
	stamp.size = size;
	stamp.mtime = mtime;
	stamp.ctime = ctime;
	return trace_add(trace, path, &stamp);
}

struct trace *trace_from_json(const json_t *value, bool proof)
{
	size_t i;
	json_t *item;

	if (!json_is_array(value) || json_array_size(value) > TRACE_MOST)
		return NULL;
	struct trace *trace = trace_new();
	json_array_foreach (value, i, item) {
		if (trace && add_json(trace, item) < 0) {
			trace_unref(trace);
			return NULL;
		}
	}
	if (trace)
		trace->proof = proof;
	return trace;
}
