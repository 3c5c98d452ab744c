/* SPDX-License-Identifier: MIT */
/* `pluginctl info`: all that is known of a plugin, or of a library file. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cmd/command.h"
#include "cmd/field.h"
#include "cmd/grid.h"
#include "cmd/identify.h"
#include "cmd/name.h"
#include "cmd/rolled.h"
#include "cmd/session.h"
#include "cmd/signed.h"
#include "lib/base/text.h"
#include "lib/base/json.h"

enum { KERNELS_OFFERED = 256 };

static const struct question question = {"Info", {{"plugin", KP_JSON_OBJECT, true}}};

/* ---- the plugin -------------------------------------------------------------- */

static void add_time(struct grid *grid, const char *title, const json_t *value)
{
	char text[64];
	struct tm broken;
	time_t at = (time_t)json_integer_value(value);
	if (!json_is_integer(value) || !localtime_r(&at, &broken) ||
		strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S %z", &broken) == 0)
		return;
	grid_pair(grid, title, "%s", text);
}

static void add_state(struct grid *grid, const json_t *object)
{
	const char *state = field_text(object, "state", NULL);
	owned_text reason = field_sentence(json_object_get(object, "reason"), NULL);
	if (state) {
		grid_add(grid, TONE_FAINT, "state");
		grid_add(grid, field_state_tone(state), "%s", state);
	}
	if (reason && *reason)
		grid_pair(grid, "reason", "%s", reason);
}

static void add_abi(struct grid *grid, const json_t *plugin)
{
	const json_t *abi = json_object_get(plugin, "abi");
	const json_t *host = json_object_get(plugin, "host");
	if (json_is_object(abi))
		grid_pair(grid, "abi", "%lld, built with %lld.%lld, needs %lld.%lld",
			(long long)field_int(abi, "major"),
			(long long)field_int(abi, "major"),
			(long long)field_int(abi, "built"),
			(long long)field_int(abi, "major"),
			(long long)field_int(abi, "needed"));
	if (json_is_object(host))
		grid_pair(grid, "host", "from %s, before %s",
			field_text(host, "min", "?"), field_text(host, "max", "?"));
}

static void add_object(struct grid *grid, const char *title, const json_t *value)
{
	if (json_object_size(value) == 0)
		return;
	owned_text text = kp_json_dumps(value, JSON_COMPACT);
	if (text)
		grid_pair(grid, title, "%s", text);
}

static void add_fact(struct grid *grid, const char *key, const json_t *value)
{
	char title[40];
	owned_text text =
		json_is_array(value) ? field_join(value, ", ") : field_print(value);
	(void)snprintf(title, sizeof(title), "%s%s", *key ? "elf " : "", key);
	if (text && *text)
		grid_pair(grid, title, "%s", text);
}

/* What the file is, what it needs, what it exports; objects in lists have rows of their
 * own. */
static void add_elf(struct grid *grid, const json_t *elf)
{
	const char *key;
	json_t *value;
	json_object_foreach ((json_t *)(uintptr_t)elf, key, value) {
		bool list = json_is_object(json_array_get(value, 0));
		for (size_t i = 0; list && i < json_array_size(value); i++)
			add_fact(grid, i ? "" : key, json_array_get(value, i));
		if (!list)
			add_fact(grid, key, value);
	}
}

/* A worker that ended by itself after a rejection did not die of it. */
static bool has_died(const json_t *plugin, const json_t *evidence)
{
	const json_t *ended = json_object_get(evidence, "exit");
	return !field_is(plugin, "state", "rejected") || !json_is_integer(ended) ||
	       json_integer_value(ended) != 0 || field_text(evidence, "signal", NULL);
}

static void add_evidence(struct grid *grid, const json_t *plugin)
{
	const json_t *evidence = json_object_get(plugin, "evidence");
	const json_t *ended = json_object_get(evidence, "exit");
	if (!json_is_object(evidence))
		return;
	if (has_died(plugin, evidence)) {
		field_pair_text(grid, "died in", evidence, "stage");
		field_pair_text(grid, "signal", evidence, "signal");
		if (json_is_integer(ended))
			grid_pair(grid, "exit", "%lld",
				(long long)json_integer_value(ended));
	}
	field_pair_text(grid, "loader", evidence, "loader");
	field_pair_text(grid, "output", evidence, "output");
	field_pair_text(grid, "backtrace", evidence, "backtrace");
	add_time(grid, "at", json_object_get(evidence, "at"));
}

static void add_file(struct grid *grid, const json_t *plugin)
{
	const json_t *size = json_object_get(plugin, "size");
	field_pair_text(grid, "manifest", plugin, "manifest");
	field_pair_text(grid, "library", plugin, "library");
	owned_text rolled = rolled_print(json_object_get(plugin, "rolled_back"));
	if (rolled)
		grid_pair(grid, "runs", "%s", rolled);
	field_pair_text(grid, "stored", plugin, "stored");
	field_pair_text(grid, "sha256", plugin, "sha256");
	field_pair_text(grid, "closure", plugin, "closure");
	const json_t *signature = json_object_get(plugin, "signature");
	if (json_is_object(signature))
		grid_pair(grid, "signed by", "%s (%s): %s",
			field_text(signature, "key", "?"),
			field_text(signature, "file", "?"),
			field_text(signature, "comment", ""));
	if (json_is_integer(size))
		grid_pair(
			grid, "size", "%lld bytes", (long long)json_integer_value(size));
}

static int put_plugin(const struct session *session, const json_t *plugin, bool of_file)
{
	struct grid grid = {.columns = grid_pairs, .n_columns = 2};
	const json_t *probe = json_object_get(plugin, "probe_ms");
	field_pair_text(&grid, "name", plugin, "name");
	field_pair_text(&grid, "package", plugin, "package");
	field_pair_text(&grid, "version", plugin, "version");
	field_pair_text(&grid, "description", plugin, "description");
	field_pair_text(&grid, "author", plugin, "author");
	field_pair_text(&grid, "license", plugin, "license");
	if (of_file && field_is(plugin, "state", "unclaimed"))
		grid_pair(&grid, "state", "not probed (a file)");
	else
		add_state(&grid, plugin);
	add_time(&grid, "since", json_object_get(plugin, "since"));
	field_pair_text(&grid, "source", plugin, "source");
	add_file(&grid, plugin);
	add_abi(&grid, plugin);
	add_object(&grid, "config", json_object_get(plugin, "config"));
	if (json_is_number(probe) && !of_file)
		grid_pair(&grid, "probe", "%.1f ms", json_number_value(probe));
	add_elf(&grid, json_object_get(plugin, "elf"));
	add_evidence(&grid, plugin);
	field_pair_warnings(&grid, plugin);
	return grid_print(&grid, &session->output);
}

/* ---- its kernels ------------------------------------------------------------- */

static void add_capability(struct grid *grid, const json_t *capability)
{
	const char *min = field_text(capability, "min_arch", NULL);
	const char *max = field_text(capability, "max_arch", NULL);
	if (!json_is_object(capability))
		return;
	owned_text vendors = field_join(json_object_get(capability, "vendors"), ", ");
	owned_text features = field_join(json_object_get(capability, "features"), ", ");
	if (!vendors || !features)
		return;
	grid_pair(grid, "capability", "%s%s%s%s%s%s%s%s%s",
		field_text(capability, "device", "?"), *vendors ? " " : "", vendors,
		min ? ", arch from " : "", min ? min : "", max ? ", arch to " : "",
		max ? max : "", *features ? ", with " : "", features);
}

/* "in {64, 128}", "min 1, max 64", a scalar as it is. */
static void add_traits(struct grid *grid, const json_t *traits)
{
	const char *name;
	json_t *rule;
	json_object_foreach ((json_t *)(uintptr_t)traits, name, rule) {
		owned_text text = field_print(rule);
		char title[80];
		(void)snprintf(title, sizeof(title), "trait %s", name);
		if (text)
			grid_pair(grid, title, "%s", text);
	}
}

static int put_kernel(const struct session *session, const json_t *kernel)
{
	struct grid grid = {.columns = grid_pairs, .n_columns = 2, .indent = 2};
	output_line(&session->output, TONE_PLAIN, "%s", "");
	output_line(&session->output, TONE_TITLE, "kernel %s",
		field_text(kernel, "name", "?"));
	grid_pair(&grid, "operation", "%s, revision %lld",
		field_text(kernel, "operation", "?"),
		(long long)field_int(kernel, "revision"));
	add_state(&grid, kernel);
	field_pair_text(&grid, "solution", kernel, "solution");
	grid_pair(&grid, "priority", "%lld, %s", (long long)field_int(kernel, "priority"),
		field_text(kernel, "band", "?"));
	const json_t *signatures = json_object_get(kernel, "signatures");
	for (size_t i = 0; i < json_array_size(signatures); i++) {
		const char *text = json_string_value(json_array_get(signatures, i));
		grid_pair(&grid, i ? "" : "signature", "%s", text ? text : "?");
	}
	add_capability(&grid, json_object_get(kernel, "capability"));
	add_traits(&grid, json_object_get(kernel, "traits"));
	field_pair_list(&grid, "tags", kernel, "tags");
	field_pair_list(&grid, "features", kernel, "features");
	field_pair_list(&grid, "flags", kernel, "flags");
	field_pair_list(&grid, "needs", kernel, "needs");
	field_pair_list(&grid, "layouts", kernel, "layouts");
	return grid_print(&grid, &session->output);
}

static int put_text(const struct session *session, const json_t *plugin, bool of_file)
{
	size_t i;
	json_t *kernel;
	int status =
		session->output.quiet ? KP_EXIT_OK : put_plugin(session, plugin, of_file);
	json_array_foreach (json_object_get(plugin, "kernels"), i, kernel) {
		if (session->output.quiet)
			output_line(&session->output, TONE_PLAIN, "%s",
				field_text(kernel, "name", "?"));
		else
			status |= put_kernel(session, kernel);
	}
	return status;
}

/* ---- the command ------------------------------------------------------------- */

/* "plugin/kernel", where no file is called so. */
static bool is_kernel(const char *word)
{
	char plugin[80];
	size_t size = strcspn(word, "/");
	if (!word[size] || size >= sizeof(plugin) || kp_text_ends_with(word, ".so") ||
		access(word, F_OK) == 0)
		return false;
	memcpy(plugin, word, size);
	plugin[size] = '\0';
	return kp_text_is_name(plugin) && kp_text_is_name(word + size + 1);
}

static bool is_file(const char *word)
{
	return strchr(word, '/')
		       ? !is_kernel(word)
		       : kp_text_ends_with(word, ".so") && access(word, F_OK) == 0;
}

static int info_of_file(struct session *session, const char *file, json_t **reply)
{
	struct signed_wish wish;
	struct kp_diag diag;
	if (access(file, F_OK) < 0)
		return output_refuse(&session->output, "no_such_plugin", file,
			"there is no file %s", file);
	int result = signed_read(NULL, &wish, &diag);
	if (result == 0)
		result =
			identify_file(file, wish.keys, session->timeout_ms, reply, &diag);
	signed_finish(&wish);
	if (result == 0)
		return KP_EXIT_OK;
	/* Whatever it is, it is not the command line that is wrong. */
	enum kp_exit status = kp_error_exit(kp_error_name(diag.code));
	return output_fail(&session->output,
		status == KP_EXIT_TIMED_OUT ? status : KP_EXIT_FAILED, &diag);
}

static int no_kernel(struct session *session, const char *word, const json_t *kernels)
{
	const char *names[KERNELS_OFFERED];
	char offer[KP_TEXT_OFFER];
	size_t count = 0;
	const char *name = strchr(word, '/') + 1;
	for (size_t i = 0; i < json_array_size(kernels) && count < KERNELS_OFFERED; i++)
		names[count++] = field_text(json_array_get(kernels, i), "name", "?");
	return output_refuse(&session->output, "no_such_kernel", word,
		"%.*s has no kernel %s%s", name_plugin_size(word), word, name,
		kp_text_offer(name, names, count, NULL, offer));
}

/* Leaves of the plugin's kernels the one that was named. */
static int keep_kernel(struct session *session, const char *word, json_t *plugin)
{
	const json_t *kernels = json_object_get(plugin, "kernels");
	const char *name = strchr(word, '/') + 1;
	for (size_t i = 0; i < json_array_size(kernels); i++) {
		json_t *kernel = json_array_get(kernels, i);
		if (field_is(kernel, "name", name))
			return json_object_set_new(
				       plugin, "kernels", json_pack("[O]", kernel)) < 0
				       ? output_no_memory(&session->output)
				       : KP_EXIT_OK;
	}
	return no_kernel(session, word, kernels);
}

static int info_of_name(struct session *session, const char *word, json_t **reply)
{
	int size = name_plugin_size(word);
	owned_json *parameters = json_pack("{s:s%}", "name", word, (size_t)size);
	if (!parameters)
		return output_no_memory(&session->output);
	int status = session_settle(session, parameters);
	if (status == KP_EXIT_OK)
		status = name_ask(
			session, &question, word, json_incref(parameters), reply);
	if (status == KP_EXIT_OK && word[size])
		status = keep_kernel(session, word, json_object_get(*reply, "plugin"));
	return status;
}

static int run(struct session *session)
{
	const char *word = session->arguments.words[0];
	owned_json *reply = NULL;
	bool file = is_file(word);
	int status = file ? info_of_file(session, word, &reply)
			  : info_of_name(session, word, &reply);
	if (status != KP_EXIT_OK)
		return status;
	const json_t *plugin = json_object_get(reply, "plugin");
	status = session->output.json ? output_json(reply)
				      : put_text(session, plugin, file);
	/* A file that would be refused is a no; a plugin of the registry is as it is. */
	if (status == KP_EXIT_OK && file &&
		field_state_tone(field_text(plugin, "state", "")) == TONE_BAD)
		return KP_EXIT_NO;
	return status;
}

static const struct option options[] = {
	SESSION_SETTLE,
	{NULL, NULL, NULL, false},
};

const struct command info_command = {
	.name = "info",
	.args = "NAME[/KERNEL]|FILE.so",
	.least = 1,
	.most = 1,
	.summary = "Show all that is known of a plugin, or of a library file",
	.help = "NAME/KERNEL shows that kernel alone. A file (with a slash in it, or "
		"ending in .so and there) is looked at without plugind and without "
		"running anything of it; exit status 1 where it would be refused. With "
		"--quiet the names of the kernels.",
	.options = options,
	.offline = true,
	.run = run,
};
