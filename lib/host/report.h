/* SPDX-License-Identifier: MIT */
/*
 * What a handle reports to plugind: that a kernel keeps failing, or that its results are
 * wrong. Whoever reports does not wait: a thread that starts with the first one asks.
 */
#ifndef KP_LIB_HOST_REPORT_H
#define KP_LIB_HOST_REPORT_H

#include <jansson.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

struct kp_handle;

enum { KP_REPORTS = 16 }; /* that may wait; more are dropped, and the log says so */

struct kp_reports {
	pthread_mutex_t lock;
	pthread_cond_t change;
	pthread_t thread;
	json_t *waiting[KP_REPORTS]; /* parameters of Report, the oldest first */
	size_t count;
	bool has_thread, ending;
};

void kp_reports_init(struct kp_reports *reports);
/* What waits is still told, while plugind answers. */
void kp_reports_finish(struct kp_reports *reports);

/*
 * Any thread, no lock of a site held or needed. kind: "error" or "numeric"; kernel:
 * "plugin/kernel"; label: of the site, or NULL; text: a sentence, the same for alike
 * ones; evidence: an object of at most 4 KiB as text, or NULL: taken. Kernels of this
 * process alone ("local/...") are not told to anybody.
 */
void kp_report(struct kp_handle *handle, const char *kind, const char *kernel,
	const char *label, const char *text, json_t *evidence);

#endif
