/* SPDX-License-Identifier: MIT */
/* The way from files to tried plugins: pool, scan and pipeline, and what they tell. */
#include "daemon/trying.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "daemon/daemon.h"
#include "daemon/devices.h"
#include "daemon/event.h"
#include "daemon/options.h"
#include "daemon/pipeline/pipeline.h"
#include "daemon/pipeline/pool.h"
#include "daemon/scan/index_save.h"
#include "daemon/scan/loaded.h"
#include "daemon/scan/scan.h"

enum { SLOTS_MOST = 8 };

static size_t slots(void)
{
	long n = sysconf(_SC_NPROCESSORS_ONLN);
	return n < 2 ? 4 : 2 * n > SLOTS_MOST ? SLOTS_MOST : 2 * (size_t)n;
}

static void on_pipeline_warning(void *context, const struct kp_diag *warning)
{
	struct daemon *daemon = context;
	log_diag(&daemon->log, LOG_WARNING, warning);
	event_damage(daemon, warning);
}

/* It waits for all others: whoever looks sees why. */
static void on_suspected(void *context, const char *plugin, const char *why)
{
	struct daemon *daemon = context;
	struct kp_diag diag;

	log_line(&daemon->log, LOG_WARNING, "%s: %s [suspect]", plugin, why);
	if (kp_registry_suspect(daemon->registry, plugin, why, daemon_now(), &diag) < 0)
		log_diag(&daemon->log, LOG_ERROR, &diag);
	daemon_changed(daemon);
}

/* Notes end with the table, what is left of them is packed. */
static void on_resting(void *context)
{
	struct daemon *daemon = context;
	struct kp_diag diag;

	daemon_table(daemon);
	if (kp_registry_pack(daemon->registry) < 0) {
		kp_diag_no_memory(&diag);
		log_diag(&daemon->log, LOG_WARNING, &diag);
	}
}

const struct kp_trust *daemon_trust(const struct daemon *daemon)
{
	return daemon->options->any_files ? NULL : &daemon->trust;
}

/* Who sees a plugin do harm must not have to guess. */
static void warn_of_files(struct daemon *daemon)
{
	struct kp_diag diag;

	if (daemon_trust(daemon))
		return;
	kp_diag_set(&diag, "any_files", NULL,
		"manifests and libraries are taken whoever owns or may write them "
		"(any_files): others may have this user run what they like");
	kp_diags_add(&daemon->warnings, &diag);
}

int trying_start(struct daemon *daemon, struct kp_diag *diag)
{
	const struct options *options = daemon->options;
	char *store = NULL;

	warn_of_files(daemon);
	daemon->loaded_dir = loaded_open(options->state_dir, diag);
	if (!daemon->loaded_dir)
		return -1;
	kp_registry_set_loaded_layer(daemon->registry, options->n_manifest_dirs);
	daemon->pool =
		pool_new(&daemon->loop, &(struct pool_options){.worker = options->worker,
						.slots = slots(),
						.ended = tallies_worker_ended,
						.context = &daemon->tallies});
	daemon->scan = daemon->pool ? scan_new(daemon, diag) : NULL;
	daemon->devices = devices_new(daemon);
	daemon->index = index_save_new(daemon);
	if (daemon->scan) {
		scan_know(daemon->scan, daemon->known);
		daemon->known = NULL;
	}
	if (!daemon->scan || !daemon->devices || !daemon->index ||
		asprintf(&store, "%s/store", options->state_dir) < 0)
		return kp_diag_no_memory(diag);
	daemon->pipeline = pipeline_new(&daemon->loop, daemon->pool,
		&(struct pipeline_options){.plugin_dir = options->plugin_dir,
			.store_dir = store,
			.cache_dir = options->cache_dir,
			.platform = daemon->platform_text,
			.state_dir = options->state_dir,
			.signing = &options->signing,
			.loaded_dir = daemon->loaded_dir,
			.system = options->system,
			.trust = &daemon->trust,
			.any_files = !daemon_trust(daemon),
			.suspected = on_suspected,
			.confinement = &daemon->confinement,
			.warned = on_pipeline_warning,
			.resting = on_resting,
			.warned_context = daemon},
		scan_take_verdict, daemon->scan);
	free(store);
	return daemon->pipeline ? 0 : kp_diag_no_memory(diag);
}
