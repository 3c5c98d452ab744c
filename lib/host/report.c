/* SPDX-License-Identifier: MIT */
/* A short queue and the thread that empties it. */
#include "lib/host/report.h"

#include <signal.h>
#include <string.h>

#include "lib/host/handle.h"
#include "lib/base/owned.h"

enum { STACK_BYTES = 512 << 10 };

void kp_reports_init(struct kp_reports *reports)
{
	*reports = (struct kp_reports){.count = 0};
	(void)pthread_mutex_init(&reports->lock, NULL);
	(void)pthread_cond_init(&reports->change, NULL);
}

/* ---- the thread ------------------------------------------------------------------ */

/* The lock is held, but for the asking. False: nobody answers. */
static bool tell_first(struct kp_handle *handle)
{
	struct kp_reports *reports = &handle->reports;
	json_t *parameters = reports->waiting[0];
	owned_json *reply = NULL;
	struct kp_diag diag;

	reports->count--;
	memmove(reports->waiting, reports->waiting + 1,
		reports->count * sizeof(reports->waiting[0]));
	(void)pthread_mutex_unlock(&reports->lock);
	int result = kp_attach_ask(handle->attach, "Report", parameters, &reply, &diag);
	if (result < 0)
		kp_log(&handle->log, KP_LOG_WARNING, "plugind took no report: %s",
			diag.message);
	(void)pthread_mutex_lock(&reports->lock);
	return result == 0;
}

static void *run(void *context)
{
	struct kp_handle *handle = context;
	struct kp_reports *reports = &handle->reports;

	(void)pthread_setname_np(pthread_self(), "kplug-report");
	(void)pthread_mutex_lock(&reports->lock);
	while (reports->count > 0 || !reports->ending)
		if (reports->count == 0)
			(void)pthread_cond_wait(&reports->change, &reports->lock);
		else if (!tell_first(handle) && reports->ending)
			break;
	(void)pthread_mutex_unlock(&reports->lock);
	return NULL;
}

/* Signals are the application's. The lock is held. */
static bool start(struct kp_handle *handle)
{
	struct kp_reports *reports = &handle->reports;
	sigset_t all, before;
	pthread_attr_t small;

	if (reports->has_thread)
		return true;
	if (pthread_attr_init(&small) != 0)
		return false;
	(void)pthread_attr_setstacksize(&small, STACK_BYTES);
	(void)sigfillset(&all);
	(void)pthread_sigmask(SIG_SETMASK, &all, &before);
	reports->has_thread = pthread_create(&reports->thread, &small, run, handle) == 0;
	(void)pthread_sigmask(SIG_SETMASK, &before, NULL);
	(void)pthread_attr_destroy(&small);
	return reports->has_thread;
}

/* ---- its users ------------------------------------------------------------------- */

void kp_reports_finish(struct kp_reports *reports)
{
	(void)pthread_mutex_lock(&reports->lock);
	reports->ending = true;
	(void)pthread_cond_signal(&reports->change);
	(void)pthread_mutex_unlock(&reports->lock);
	if (reports->has_thread)
		(void)pthread_join(reports->thread, NULL);
	for (size_t i = 0; i < reports->count; i++)
		json_decref(reports->waiting[i]);
	(void)pthread_cond_destroy(&reports->change);
	(void)pthread_mutex_destroy(&reports->lock);
}

void kp_report(struct kp_handle *handle, const char *kind, const char *kernel,
	const char *label, const char *text, json_t *evidence)
{
	struct kp_reports *reports = &handle->reports;
	bool is_local = strncmp(kernel, "local/", strlen("local/")) == 0;
	json_t *parameters = json_pack("{s:s, s:s, s:s*, s:s, s:o*}", "kind", kind,
		"kernel", kernel, "label", label && *label ? label : NULL, "text", text,
		"evidence", evidence);
	bool kept = false;

	(void)pthread_mutex_lock(&reports->lock);
	if (parameters && !is_local && reports->count < KP_REPORTS && !reports->ending &&
		start(handle)) {
		reports->waiting[reports->count++] = parameters;
		kept = true;
		(void)pthread_cond_signal(&reports->change);
	}
	(void)pthread_mutex_unlock(&reports->lock);
	if (!kept)
		json_decref(parameters);
	if (!kept && !is_local)
		kp_log(&handle->log, KP_LOG_WARNING,
			"%s: this is not reported to plugind, too much is: %s", kernel,
			text);
}
