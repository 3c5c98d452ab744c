/* SPDX-License-Identifier: MIT */
/*
 * What a worker tells the daemon: JSON objects, one a line, on a descriptor of
 * its own, ended by {"end": true}. Lines are written whole, at once, and begin with
 * the mark of the job, which a plugin is not told: see lib/plugin/report.h.
 */
#ifndef KP_WORKER_REPORT_H
#define KP_WORKER_REPORT_H

#include <jansson.h>

#include "lib/base/diag.h"
#include "lib/plugin/report.h"

struct report {
	int fd;
	char mark[KP_REPORT_MARK]; /* or "" */
};

enum { REPORT_TEXT = 1024 }; /* bytes of what a plugin says, made safe and cut */

/* Takes `line`. A report that cannot be written ends the process. */
void report_line(const struct report *report, json_t *line);
/* {"stage": ...}: what comes next, so that a death can be placed. */
void report_stage(const struct report *report, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* {"failed": {"code","message","object"}, "state": "rejected"|"failed"}. */
void report_failed(
	const struct report *report, const char *state, const struct kp_diag *diag);
/* {"loader": text}: dlerror's words, kept as evidence. */
void report_loader(const struct report *report, const char *text);
void report_end(const struct report *report);

/*
 * A kind of job: a row each, the table is in job.c. run gets the job object and
 * the descriptors that came with it and returns the exit status, 0 after
 * report_end. execs: the launcher runs it in a fresh process image, and it measures.
 * gpu: it asks a GPU's driver, whatever the job says.
 */
struct job_kind {
	const char *name;
	int (*run)(const struct report *report, const json_t *job, const int *fds,
		size_t n_fds);
	int execs, gpu;
};
/*
 * {"kind","file","part"}; fds: the library. Or {"kind","files":[{"file","part"}...]};
 * fds: theirs; what is said of number i is between {"begin": i} and {"took_ms": t}.
 */
extern const struct job_kind job_identify;
extern const struct job_kind job_probe;	  /* {"kind","stored","note","file"} */
extern const struct job_kind job_bench;	  /* see measure.c */
extern const struct job_kind job_devices; /* {"kind","library","addresses"}; no fds */
/* {"kind","file","beside","signature","trusted","keys"}; fds: the library */
extern const struct job_kind job_signature;
extern const struct job_kind job_verify; /* see measure_verify.c */

#endif
