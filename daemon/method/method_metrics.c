/* SPDX-License-Identifier: MIT */
/* Metrics: figures about plugind for those who record and draw them. */
#include "daemon/method/method.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "daemon/application/attached.h"
#include "daemon/daemon.h"
#include "daemon/history/collect.h"
#include "daemon/options.h"
#include "daemon/pipeline/pool.h"
#include "daemon/socket/call.h"
#include "daemon/socket/server.h"
#include "lib/base/build.h"
#include "lib/base/json.h"
#include "lib/table/table_read.h"

/* ---- samples ------------------------------------------------------------------- */

/* A new family at the end of metrics; borrowed, NULL for want of memory. */
static json_t *add_metric(json_t *metrics, const char *name, const char *kind,
	const char *unit, const char *help)
{
	json_t *samples = json_array();
	json_t *metric = json_pack("{s:s, s:s, s:s, s:s, s:o}", "name", name, "kind",
		kind, "unit", unit, "help", help, "samples", samples);

	return json_array_append_new(metrics, metric) == 0 ? samples : NULL;
}

static void add_sample(json_t *samples, const char *suffix, const char *label,
	const char *text, double value)
{
	json_t *labels = json_object();

	if (label)
		(void)json_object_set_new(labels, label, kp_json_clean_string(text));
	(void)json_array_append_new(
		samples, json_pack("{s:s, s:o, s:f}", "suffix", suffix, "labels", labels,
				 "value", value));
}

static void add_gauge(json_t *metrics, const char *name, const char *unit,
	const char *help, double value)
{
	add_sample(add_metric(metrics, name, "gauge", unit, help), "", NULL, NULL, value);
}

/* A sample a row. */
static void add_counter(json_t *metrics, const char *name, const char *help,
	const char *label, const struct tally *tally)
{
	json_t *samples = add_metric(metrics, name, "counter", "", help);

	for (size_t i = 0; i < tally->n; i++)
		add_sample(samples, "_total", label, tally->rows[i].name,
			(double)tally->rows[i].count);
}

static void add_total(json_t *metrics, const char *name, const char *unit,
	const char *help, double value)
{
	add_sample(add_metric(metrics, name, "counter", unit, help), "_total", NULL, NULL,
		value);
}

static double count_of(struct tally *tally, const char *name)
{
	const struct tally_row *row = tally_row(tally, name);

	return row ? (double)row->count : 0;
}

/* ---- what is shown --------------------------------------------------------------- */

static void add_build(json_t *metrics)
{
	add_sample(
		add_metric(metrics, "kplug_build", "info", "", "The version of plugind."),
		"_info", "version", kp_build_version, 1);
}

static void add_registry(json_t *metrics, struct daemon *daemon)
{
	const struct kp_table *table = daemon_table(daemon);
	size_t counts[KP_STATES];
	json_t *samples = add_metric(
		metrics, "kplug_plugins", "gauge", "", "Plugins found, by state.");

	kp_registry_states(daemon->registry, counts);
	for (int i = 0; i < KP_STATES; i++)
		add_sample(samples, "", "state", kp_state_name((enum kp_state)i),
			(double)counts[i]);
	add_gauge(metrics, "kplug_kernels", "", "Kernels of active plugins.",
		(double)kp_registry_served(daemon->registry, daemon_table(daemon)));
	add_gauge(metrics, "kplug_generation", "",
		"The generation of the table; grows with every change.",
		(double)daemon->generation.number);
	add_gauge(metrics, "kplug_table_bytes", "bytes", "Size of the table.",
		(double)table->size);
}

/* Not before it was looked at. */
static void add_store(json_t *metrics, const struct daemon *daemon)
{
	int64_t bytes = collector_bytes(daemon->collector);

	if (bytes < 0)
		return;
	add_gauge(metrics, "kplug_store_bytes", "bytes",
		"What the store of libraries takes on the disk.", (double)bytes);
	add_gauge(metrics, "kplug_store_entries", "", "Entries of the store.",
		(double)collector_entries(daemon->collector));
}

static void add_calls(json_t *metrics, struct daemon *daemon)
{
	struct tally *calls = &daemon->tallies.calls;

	add_gauge(metrics, "kplug_clients", "", "Clients of the socket.",
		(double)server_clients(daemon->server));
	add_gauge(metrics, "kplug_applications", "",
		"Attached applications, which run kernels themselves.",
		(double)attached_count(daemon->attached));
	add_total(metrics, "kplug_selections", "",
		"Selections asked of plugind (applications select in their own process).",
		count_of(calls, "Select") + count_of(calls, "Explain"));
	add_counter(metrics, "kplug_calls", "Calls of the protocol, by method.", "method",
		calls);
	add_counter(metrics, "kplug_call_errors", "Calls that ended in an error.",
		"error", &daemon->tallies.errors);
}

static void add_events(json_t *metrics, struct daemon *daemon)
{
	static const char *const incidents[] = {
		"crash", "unattributed", "error", "numeric"};
	struct tally *events = &daemon->tallies.events;

	add_total(metrics, "kplug_disables", "",
		"Times that an operator disabled something.",
		count_of(events, "disable"));
	json_t *samples = add_metric(metrics, "kplug_incidents", "counter", "",
		"Incidents of applications since the start, by kind (see incidents).");
	for (size_t i = 0; i < sizeof(incidents) / sizeof(incidents[0]); i++)
		add_sample(samples, "_total", "kind", incidents[i],
			count_of(&daemon->tallies.incidents, incidents[i]));
	add_counter(metrics, "kplug_events", "Events, by kind (see monitor).", "kind",
		events);
}

static void add_workers(json_t *metrics, struct daemon *daemon)
{
	const struct tally *workers = &daemon->tallies.workers;
	json_t *samples;

	add_gauge(metrics, "kplug_workers", "", "Workers that run now.",
		(double)pool_running(daemon->pool));
	samples = add_metric(metrics, "kplug_worker_seconds", "summary", "seconds",
		"Time that workers took, by what they did (probe, identify, ...).");
	for (size_t i = 0; i < workers->n; i++) {
		const struct tally_row *row = &workers->rows[i];
		add_sample(samples, "_count", "job", row->name, (double)row->count);
		add_sample(samples, "_sum", "job", row->name, row->seconds);
	}
	samples = add_metric(metrics, "kplug_worker_deaths", "counter", "",
		"Workers that did not report to their end, by reason.");
	for (int i = KP_WORKER_DONE + 1; i < KP_WORKER_ENDS; i++) {
		const char *reason = kp_worker_end_name((enum kp_worker_end)i);
		add_sample(samples, "_total", "reason", reason,
			count_of(&daemon->tallies.deaths, reason));
	}
	add_total(metrics, "kplug_launcher_deaths", "",
		"Times that the parent of all workers died.",
		(double)pool_lost(daemon->pool));
}

/* 0: not known. */
static double resident_bytes(void)
{
	char line[256] = "";
	FILE *file = fopen("/proc/self/statm", "re");

	if (!file)
		return 0;
	if (!fgets(line, sizeof(line), file))
		line[0] = '\0';
	(void)fclose(file);
	/* Its second number: resident pages. */
	unsigned long long pages = strtoull(line + strcspn(line, " "), NULL, 10);
	return (double)pages * (double)sysconf(_SC_PAGESIZE);
}

static double seconds_of(struct timeval time)
{
	return (double)time.tv_sec + (double)time.tv_usec / 1e6;
}

static void add_process(json_t *metrics, struct daemon *daemon)
{
	struct rusage usage = {.ru_utime = {0}};
	uint64_t up_ms = uv_now(&daemon->loop) - daemon->started_ms;

	(void)getrusage(RUSAGE_SELF, &usage);
	add_total(metrics, "process_cpu_seconds", "seconds",
		"Time on a CPU of plugind itself.",
		seconds_of(usage.ru_utime) + seconds_of(usage.ru_stime));
	add_gauge(metrics, "process_resident_memory_bytes", "bytes",
		"Memory of plugind itself.", resident_bytes());
	add_gauge(metrics, "process_start_time_seconds", "seconds",
		"When plugind started, since 1970.",
		(double)daemon_now() - (double)up_ms / 1000);
}

static void metrics(struct daemon *daemon, struct call *call)
{
	json_t *metrics = json_array();

	if (metrics) {
		add_build(metrics);
		add_registry(metrics, daemon);
		add_store(metrics, daemon);
		add_calls(metrics, daemon);
		add_events(metrics, daemon);
		add_workers(metrics, daemon);
		add_process(metrics, daemon);
	}
	call_reply(call, json_pack("{s:o}", "metrics", metrics));
}

const struct method method_metrics[] = {
	{"Metrics", ROLE_OBSERVER, metrics},
	{NULL, ROLE_ADMIN, NULL},
};
