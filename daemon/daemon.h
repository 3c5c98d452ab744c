/* SPDX-License-Identifier: MIT */
/*
 * All that plugind owns, and its life: what main starts, what handlers of calls
 * get. Everything here belongs to the loop thread.
 */
#ifndef KP_DAEMON_DAEMON_H
#define KP_DAEMON_DAEMON_H

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#include "daemon/audit.h"
#include "daemon/generation.h"
#include "daemon/log.h"
#include "daemon/socket/wait.h"
#include "daemon/tally.h"
#include "lib/base/diag.h"
#include "lib/base/trust.h"
#include "lib/family/family.h"
#include "lib/platform/confinement.h"
#include "lib/platform/platform.h"
#include "lib/registry/decisions.h"
#include "lib/registry/registry.h"

struct attached;
struct bench;
struct collector;
struct control;
struct deaths;
struct devices;
struct disposal;
struct events;
struct history;
struct idl;
struct incidents;
struct index;
struct index_save;
struct monitors;
struct options;
struct pipeline;
struct pool;
struct scan;
struct server;
struct service;
struct state;
struct turns;
struct watch;

struct daemon {
	uv_loop_t loop;
	const struct options *options; /* borrowed */
	struct log log;
	uint64_t started_ms; /* of uv_now */
	struct idl *idl;
	struct kp_families families;
	struct kp_platform platform;
	struct kp_confinement confinement; /* of workers, on this machine */
	struct kp_trust trust;		   /* whose files count */
	char *platform_text; /* inputs_platform_key: part of the cache's key */
	struct kp_registry *registry;
	struct kp_decisions decisions;
	bool is_behind; /* the registry may hold others: decision_catch_up */
	struct generation generation;
	struct waits waits;
	struct events *events;
	struct control *control;
	struct attached *attached;
	struct incidents *incidents;
	struct history *history;
	struct collector *collector;
	struct deaths *deaths;
	struct monitors *monitors;
	struct state *state;
	struct index_save *index;
	struct index *known; /* of the restored table, until the scan has it */
	struct server *server;
	struct disposal *disposal; /* of connections */
	struct turns *turns;
	struct service *service;
	struct pool *pool;
	struct pipeline *pipeline;
	struct scan *scan;
	json_t *failures; /* daemon/pipeline/failures.h */
	char *loaded_dir; /* daemon/scan/loaded.h */
	struct watch *watch;
	struct devices *devices;
	struct bench *bench; /* under way, or NULL: method_bench.c */
	struct tallies tallies;
	struct audit_bounds audit;
	struct kp_diags warnings; /* of the start: `status` shows them */
	struct kp_diags lost;	  /* decisions, until an operator decides anew */
	/* Of the last run's table, which was in force from the start; 0: there was none.
	 */
	uint64_t restored;
	uint64_t kept; /* the generation that was last written to the state directory */
	size_t n_signals;
	uv_signal_t signals[3];
	uv_timer_t guard; /* ends an ending that hangs */
	uv_timer_t soon;  /* publishes what has changed */
	bool closing;
};

enum { DAEMON_FAILED = -1, DAEMON_MISCONFIGURED = -2 };

/*
 * Takes the locks, listens, and starts the first scan. On failure (of the
 * machine, or of what the options name) nothing is left behind but directories.
 */
int daemon_start(struct daemon *daemon, const struct options *options,
	struct kp_diag *diag) __attribute__((warn_unused_result));

/* Serves until a signal; returns the exit status. Finishes the daemon. */
int daemon_run(struct daemon *daemon);

/* Of whom manifests and libraries must be; NULL: anybody's are taken. */
const struct kp_trust *daemon_trust(const struct daemon *daemon);

/*
 * The table that holds now, all changes of the registry included. Never fails: when
 * memory is exhausted the generation before stays in force and the log says so. Who
 * has changed something and must know publishes it by decision_enforce.
 */
const struct kp_table *daemon_table(struct daemon *daemon);

/*
 * A library has become known: decisions on its name say from now on, and on disk, which
 * one it is, so that it stays off under every other name.
 */
void daemon_identify(struct daemon *daemon);

/* Begins an orderly end; `why` is for the log. */
void daemon_end(struct daemon *daemon, const char *why);

/* Something has changed: waiting calls look again, the table is kept on disk. */
void daemon_changed(struct daemon *daemon);

/* Wall clock, in seconds since 1970. */
int64_t daemon_now(void);

#endif
