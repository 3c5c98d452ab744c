/* SPDX-License-Identifier: MIT */
/*
 * What an application opened: the connection, the table as it is seen, and what its sites
 * share. Order of locks: sites_lock, a site's own, lock.
 */
#ifndef KP_LIB_HOST_HANDLE_H
#define KP_LIB_HOST_HANDLE_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "kplug/host.h"
#include "lib/host/attach.h"
#include "lib/host/breaker.h"
#include "lib/host/contract.h"
#include "lib/host/environment.h"
#include "lib/host/exclude.h"
#include "lib/host/report.h"
#include "lib/host/scope.h"
#include "lib/host/services.h"
#include "lib/host/sight.h"
#include "lib/host/thread.h"

struct kp_inner_site;
struct kp_locals;
struct kp_holds;

/* Lives until kp_close. */
struct kp_open_device {
	struct kp_open_device *next;
	struct kp_device device;
	uint32_t id;
	char wanted[40]; /* as a request calls it */
	bool lost;	 /* atomic */
};

struct kp_handle {
	unsigned forks; /* of the process that it belongs to */
	struct kp_fork_watch watch;
	bool at_step;
	bool has_signals; /* kp_signals_end is to be called */
	struct kp_log log;
	struct kp_environment environment;
	struct kp_services services;
	struct kp_attach *attach;
	const struct kp_control *control;
	struct kp_slot *slots;
	uint64_t step;	  /* atomic: the generation that is adopted at_step */
	uint64_t adopted; /* atomic: for people */
	uint64_t *bits;	  /* at_step: as of the step, under lock */
	struct kp_contracts contracts;
	struct kp_exclude exclude;
	struct kp_reports reports;
	struct kp_breakers breakers;
	const struct kp_profiler *profiler; /* atomic; all that were set are kept */

	pthread_mutex_t sites_lock;
	struct kp_inner_site *sites;

	pthread_mutex_t lock;
	struct kp_sight *sight; /* the newest */
	uint64_t sights;
	int64_t patience_us, patience_at; /* how long callers may still wait for views */
	struct kp_scopes scopes;
	struct kp_open_device *devices; /* the CPU is the last */
	uint32_t n_devices;
	struct kp_locals *locals;
	struct kp_holds *holds;
	uint64_t last_hold;
	struct kp_old_profiler *profilers;
	struct kp_plan *plans;
	struct kp_weight *weights; /* laid out for a kernel */
};

/* Is it another process's? */
static inline bool kp_handle_is_forked(const struct kp_handle *handle)
{
	return handle->forks != kp_thread_forks();
}
/* Says so; the status. */
int kp_handle_forked(struct kp_error *error);
/* Once attached: no site of it is called in a child. Ends with kp_thread_end_watch. */
void kp_handle_watch_forks(struct kp_handle *handle);

/*
 * The newest table (at_step: of the last step). Where plugind has announced a newer one
 * than is here, waits for it, at most wait_ms (negative: as patience allows, so that a
 * stream of changes costs calls a few hundredths of their time). NULL with the codes
 * no_table and no_memory.
 */
struct kp_sight *kp_handle_sight(
	struct kp_handle *handle, int wait_ms, struct kp_diag *diag);
/* The same also where a step has not adopted it yet. */
struct kp_sight *kp_handle_newest(
	struct kp_handle *handle, int wait_ms, struct kp_diag *diag);
/* The handle's own kernels are others: the next sight is made anew. */
void kp_handle_forget_sight(struct kp_handle *handle);

enum { KP_AS_PATIENCE_ALLOWS = -1 };
/* Calls from now on obey this generation. */
void kp_handle_obeys(struct kp_handle *handle, uint64_t generation);

/* Is this bit set in what the handle obeys, and does it mean what the sight means? */
bool kp_handle_bit(
	const struct kp_handle *handle, const struct kp_sight *sight, uint32_t number);
/* Is the kernel off by the decisions that the handle obeys, whatever the table says? */
bool kp_handle_is_off(
	const struct kp_handle *handle, const struct kp_sight *sight, size_t kernel);

/* Sites of the operation (NULL: all) decide again at their next call. */
void kp_handle_touch(struct kp_handle *handle, const char *operation);

/* At_step: what plugind decided by now is what the handle obeys; its generation. */
uint64_t kp_step_take(struct kp_handle *handle);

/* NULL: there is none of this id. */
struct kp_open_device *kp_handle_device(struct kp_handle *handle, uint32_t id);
/* No kernel is to be called for it any more; false: it was lost before. */
bool kp_device_close(const struct kp_handle *handle, struct kp_open_device *device);

static inline bool kp_device_is_lost(const struct kp_open_device *device)
{
	return __atomic_load_n(&device->lost, __ATOMIC_RELAXED);
}

#endif
