/* SPDX-License-Identifier: MIT */
/*
 * Watches over one worker process from the outside: a state machine over its
 * descriptors and its deadline. Does no waiting: the daemon drives it from uv,
 * tests from poll(2).
 *
 * A worker reports JSON objects, one a line (lib/plugin/report.h), on its own descriptor;
 * the last is {"end": true}. Exit 0 without it is a failure. stdout and stderr are
 * evidence: the last 4 KiB are kept.
 */
#ifndef KP_LIB_SUPERVISOR_H
#define KP_LIB_SUPERVISOR_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/diag.h"
#include "lib/plugin/report.h"

enum { KP_WORKER_OUTPUT = 4096 /* kept of stdout and stderr */ };

enum kp_worker_end {
	KP_WORKER_DONE,	     /* reported to its end and exited 0 */
	KP_WORKER_EXITED,    /* exited, no end mark: exited_during_load, ..._probe, ... */
	KP_WORKER_KILLED,    /* by a signal */
	KP_WORKER_TIMED_OUT, /* and was killed */
	KP_WORKER_GARBLED,   /* its report is not what was agreed */
	KP_WORKER_LINGERED,  /* left processes behind, which were killed */
	KP_WORKER_KILLED_PARENT, /* who watches over it died of it */
	KP_WORKER_REFUSED,	 /* its sandbox ended it */
	KP_WORKER_LOST,		 /* the launcher died: nobody's blame */
	KP_WORKER_CANCELLED,
};
enum { KP_WORKER_ENDS = KP_WORKER_CANCELLED + 1 };

/* "done", "timed_out", ... */
const char *kp_worker_end_name(enum kp_worker_end end);

struct kp_worker_result {
	enum kp_worker_end end;
	int exit;	/* status, or -1 */
	int signal;	/* or 0 */
	char stage[32]; /* that the worker named last: "load", "probe kernel mm" */
	char output[KP_WORKER_OUTPUT * 4 + 1]; /* safe text */
	char loader[1024];		       /* dlerror text it reported, or "" */
	char refused[1024];  /* what its sandbox did not let it do, or "" */
	struct kp_diag diag; /* code and sentence for every end but DONE */
	double elapsed_ms;
};

struct kp_supervisor;

/*
 * Takes both descriptors (read ends, non-blocking); they stay open until free.
 * on_line is called from kp_supervisor_read and kp_supervisor_ended with each
 * object but the end mark; {"stage"} and {"loader"} are kept in the result as
 * well. Times are milliseconds of a monotonic clock. NULL when memory is
 * exhausted; the descriptors are the caller's then.
 */
struct kp_supervisor *kp_supervisor_new(int report, int output,
	const struct kp_report_terms *terms, int64_t now, int64_t deadline,
	void (*on_line)(void *context, json_t *line), void *context);
void kp_supervisor_free(struct kp_supervisor *supervisor);

/* Descriptors to wait for, -1 when no more. */
int kp_supervisor_report_fd(const struct kp_supervisor *supervisor);
int kp_supervisor_output_fd(const struct kp_supervisor *supervisor);
int64_t kp_supervisor_deadline(const struct kp_supervisor *supervisor);

/* A descriptor is readable. */
void kp_supervisor_read(struct kp_supervisor *supervisor);
/* The launcher told its wait status and whether others were left behind. What is
 * in the pipes still is read first. */
void kp_supervisor_ended(struct kp_supervisor *supervisor, int status, bool lingered);
void kp_supervisor_lost(struct kp_supervisor *supervisor);
/* Its parent was killed, and nobody else can have done it: code killed_its_keeper; with
 * `launcher` all workers' parent, while it ran alone: code killed_the_launcher. */
void kp_supervisor_bereaved(struct kp_supervisor *supervisor, bool launcher);
/*
 * Its sandbox refused something, which `text` says: "it may not open sockets (socket)".
 * deadly: it is killed for it.
 */
void kp_supervisor_refused(
	struct kp_supervisor *supervisor, const char *text, bool deadly);
void kp_supervisor_cancel(struct kp_supervisor *supervisor);

/* What it has printed so far: the end of it, safe text. Valid until the next call. */
const char *kp_supervisor_printed(struct kp_supervisor *supervisor);

/*
 * What to do now: wait, kill the worker (and wait for its end), or look at the
 * result. Completion is the end mark or the worker's end, never end of file.
 * After the end mark the worker has a second to exit and is then killed without
 * blame; one that does not die of a kill for 5 s is given up.
 */
enum kp_supervisor_step { KP_SUPERVISE_WAIT, KP_SUPERVISE_KILL, KP_SUPERVISE_DONE };
enum kp_supervisor_step kp_supervisor_step(struct kp_supervisor *supervisor, int64_t now);
const struct kp_worker_result *kp_supervisor_result(
	const struct kp_supervisor *supervisor);

#endif
