/* SPDX-License-Identifier: MIT */
/* `pluginctl status`: the daemon's health. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/command.h"
#include "cmd/field.h"
#include "cmd/grid.h"
#include "cmd/rolled.h"
#include "cmd/session.h"
#include "lib/base/text.h"

static const struct question question = {
	"Status", {{"version", KP_JSON_STRING, true}, {"degraded", KP_JSON_BOOLEAN, true},
			  {"pending", KP_JSON_ARRAY, true}}};

enum { NAMED = 8, PROMPT_MS = 1000 };

/* Names what is still pending, in a few words where that is much. */
static int put_late(struct session *session)
{
	char names[400] = "";
	size_t used = 0;
	double seconds = session->timeout_ms / 1000.0;
	const char *path = kp_client_path(session->client);
	owned_json *reply = session_aside(session, question.method, PROMPT_MS);
	const json_t *pending = json_object_get(reply, "pending");
	size_t count = json_array_size(pending);
	if (!reply)
		return output_refuse(&session->output, "timed_out", path,
			"plugind at %s did not answer within %g s", path, seconds);
	if (count == 0)
		return session_late(session);
	for (size_t i = 0; i < count && i < NAMED; i++) {
		const char *name = json_string_value(json_array_get(pending, i));
		used = kp_text_add(names, sizeof(names), used, "%s%.40s", i ? ", " : "",
			name ? name : "?");
	}
	if (count > NAMED)
		kp_text_add(names, sizeof(names), used, " and %zu more", count - NAMED);
	return output_refuse(&session->output, "timed_out", path,
		"still pending after %g s: %s", seconds, names);
}

static void add_uptime(struct grid *grid, json_int_t seconds)
{
	long long s = seconds;
	if (s >= 86400)
		grid_pair(grid, "up for", "%lld d %lld h", s / 86400, s % 86400 / 3600);
	else if (s >= 3600)
		grid_pair(grid, "up for", "%lld h %lld min", s / 3600, s % 3600 / 60);
	else if (s >= 60)
		grid_pair(grid, "up for", "%lld min %lld s", s / 60, s % 60);
	else
		grid_pair(grid, "up for", "%lld s", s);
}

/* "3 active, 1 failed": states that nothing is in are left out. */
static void add_counts(struct grid *grid, const json_t *counts)
{
	char *text = NULL;
	size_t size;
	const char *state, *between = "";
	json_t *count;
	FILE *out = open_memstream(&text, &size);
	if (!out) {
		grid->failed = true;
		return;
	}
	json_object_foreach ((json_t *)(uintptr_t)counts, state, count) {
		if (json_integer_value(count) <= 0)
			continue;
		(void)fprintf(out, "%s%lld %s", between,
			(long long)json_integer_value(count), state);
		between = ", ";
	}
	(void)fclose(out);
	grid_pair(grid, "plugins", "%s", text && *text ? text : "none");
	free(text);
}

static void add_workers(struct grid *grid, const json_t *workers)
{
	if (!json_is_object(workers))
		return;
	grid_pair(grid, "workers", "%lld running, %lld started, %lld lost",
		(long long)field_int(workers, "running"),
		(long long)field_int(workers, "started"),
		(long long)field_int(workers, "lost"));
	grid_pair(grid, "confined", "%s%s%s",
		json_is_true(json_object_get(workers, "confined")) ? "yes" : "no",
		*field_text(workers, "message", "") ? ": " : "",
		field_text(workers, "message", ""));
}

static void add_platform(struct grid *grid, const json_t *platform)
{
	size_t i;
	json_t *device;
	field_pair_text(grid, "platform", platform, "name");
	json_array_foreach (json_object_get(platform, "devices"), i, device)
		grid_pair(grid, "device", "%s: %s%s%s%s%s", field_text(device, "id", "?"),
			field_text(device, "vendor", "?"),
			field_text(device, "arch", NULL) ? " " : "",
			field_text(device, "arch", ""),
			*field_text(device, "name", "") ? ", " : "",
			field_text(device, "name", ""));
}

static void add_guards(struct grid *grid, const json_t *guards)
{
	size_t i;
	json_t *guard;
	json_array_foreach (guards, i, guard) {
		const char *problem = field_text(guard, "problem", NULL);
		grid_pair(grid, "guarded", "%s, one call in %lld%s%s",
			field_text(guard, "operation", "?"),
			(long long)field_int(guard, "every"),
			problem ? "; nothing is compared: " : "", problem ? problem : "");
	}
}

static void add_rolled_back(struct grid *grid, const json_t *list)
{
	size_t i;
	json_t *item;
	json_array_foreach (list, i, item) {
		owned_text text = rolled_print(item);
		grid_pair(grid, i ? "" : "not newest", "%s: %s",
			field_text(item, "plugin", "?"), text ? text : "?");
	}
}

/* "12.3 MiB in 40 entries". */
static void add_store(struct grid *grid, const json_t *store)
{
	if (!json_is_object(store))
		return;
	grid_pair(grid, "store", "%.1f MiB in %lld entries%s",
		(double)field_int(store, "bytes") / (1 << 20),
		(long long)field_int(store, "entries"),
		json_is_true(json_object_get(store, "keeps_all"))
			? ", of which none is removed until the damaged history is"
			: "");
}

static const char *degraded_of(const json_t *reply)
{
	return json_is_true(json_object_get(reply, "degraded")) ? ", degraded" : "";
}

static int put_text(const struct session *session, const json_t *reply)
{
	struct grid grid = {.columns = grid_pairs, .n_columns = 2};
	const char *degraded = degraded_of(reply);
	grid_add(&grid, TONE_FAINT, "state");
	grid_add(&grid, *degraded ? TONE_WARN : TONE_GOOD, "%s%s",
		field_text(reply, "state", "?"), degraded);
	grid_pair(&grid, "plugind", "%s, pid %lld, %s", field_text(reply, "version", "?"),
		(long long)field_int(reply, "pid"), field_text(reply, "mode", "?"));
	field_pair_text(&grid, "socket", reply, "socket");
	add_uptime(&grid, field_int(reply, "uptime_s"));
	add_counts(&grid, json_object_get(reply, "plugins"));
	grid_pair(&grid, "kernels", "%lld", (long long)field_int(reply, "kernels"));
	field_pair_list(&grid, "pending", reply, "pending");
	grid_pair(&grid, "generation", "%lld", (long long)field_int(reply, "generation"));
	grid_pair(&grid, "clients", "%lld", (long long)field_int(reply, "clients"));
	add_workers(&grid, json_object_get(reply, "workers"));
	field_pair_list(&grid, "manifests", reply, "manifest_dirs");
	field_pair_text(&grid, "libraries", reply, "plugin_dir");
	add_store(&grid, json_object_get(reply, "store"));
	add_platform(&grid, json_object_get(reply, "platform"));
	add_guards(&grid, json_object_get(reply, "guards"));
	add_rolled_back(&grid, json_object_get(reply, "rolled_back"));
	field_pair_warnings(&grid, reply);
	return grid_print(&grid, &session->output);
}

static int run(struct session *session)
{
	const struct arguments *arguments = &session->arguments;
	bool wait = arguments_has(arguments, "wait");
	owned_json *reply = NULL;
	/* Waiting is for work; a question for health should not wait for ever. */
	if (!wait && !session->timeout_given)
		session->timeout_ms = SESSION_TIMEOUT_MS;
	session->late = wait ? put_late : NULL;
	int status =
		wait ? session_await(session, session->timeout_given ? session->timeout_ms
								     : SESSION_TIMEOUT_MS)
		     : KP_EXIT_OK;
	if (status == KP_EXIT_OK)
		status = session_ask(session, &question,
			json_pack("{s:o*}", "wait", wait ? json_true() : NULL), &reply);
	if (status != KP_EXIT_OK)
		return status;
	if (session->output.json)
		status = output_json(reply);
	else if (session->output.quiet)
		output_line(&session->output, TONE_PLAIN, "%s%s",
			field_text(reply, "state", "?"), degraded_of(reply));
	else
		status = put_text(session, reply);
	if (status == KP_EXIT_OK && arguments_has(arguments, "strict") &&
		json_is_true(json_object_get(reply, "degraded")))
		return KP_EXIT_NO;
	return status;
}

static const struct option options[] = {
	{"wait", NULL,
		"answer once nothing is pending; waits also until plugind listens, up to "
		"--timeout or 30 s",
		false},
	{"strict", NULL,
		"exit 1 where anything is rejected, failed, quarantined or missing",
		false},
	{NULL, NULL, NULL, false},
};

const struct command status_command = {
	.name = "status",
	.args = "",
	.summary = "Show the health of plugind",
	.help = "Degraded is not failed: the other plugins are served. With --quiet the "
		"state alone, ready or ready, degraded.",
	.options = options,
	.waits = true,
	.offline = true,
	.run = run,
};
