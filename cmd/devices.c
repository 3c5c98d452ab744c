/* SPDX-License-Identifier: MIT */
/* `pluginctl devices`: what there is to run kernels on. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/command.h"
#include "cmd/field.h"
#include "cmd/grid.h"
#include "cmd/session.h"
#include "lib/base/text.h"

static const struct question question = {
	"Devices", {{"devices", KP_JSON_ARRAY, true}, {"warnings", KP_JSON_ARRAY, true}}};

enum { SIZE_TEXT = 32 };

/* "140.4 GiB", "32 KiB"; "-" where it is not known. */
static const char *size_text(const json_t *bytes, char text[SIZE_TEXT])
{
	static const char *const units[] = {"bytes", "KiB", "MiB", "GiB", "TiB"};
	double value = (double)json_integer_value(bytes);
	size_t unit = 0;

	if (!json_is_integer(bytes) || value < 0)
		return "-";
	while (value >= 1024 && unit + 1 < KP_COUNT(units)) {
		value /= 1024;
		unit++;
	}
	bool whole = value == (double)(long long)value;
	(void)snprintf(text, SIZE_TEXT, "%.*f %s", whole ? 0 : 1, value, units[unit]);
	return text;
}

static enum tone tone_of(const json_t *device)
{
	if (field_is(device, "state", "lost"))
		return TONE_BAD;
	return field_is(device, "state", "unknown") ? TONE_WARN : TONE_PLAIN;
}

/* An arch of x86-64 is a level; one that is not known is not a number. */
static void add_arch(struct grid *grid, const json_t *device)
{
	const char *arch = field_text(device, "arch", NULL);
	bool cpu = field_is(device, "kind", "cpu");
	int major = arch ? (int)strcspn(arch, ".") : 0;

	if (!arch && cpu)
		grid_add(grid, TONE_PLAIN, "%s", field_text(device, "vendor", "-"));
	else if (!arch)
		grid_add(grid, tone_of(device), "unknown");
	else if (cpu && field_is(device, "vendor", "x86-64"))
		grid_add(grid, TONE_PLAIN, "x86-64-v%.*s", major, arch);
	else
		grid_add(grid, TONE_PLAIN, "%s", arch);
}

static const char *between(const char *text)
{
	return *text ? ", " : "";
}

/* What is wrong with all of them is said once, below. */
static bool is_told_once(const json_t *warnings, const char *code)
{
	for (size_t i = 0; i < json_array_size(warnings); i++)
		if (field_is(json_array_get(warnings, i), "code", code))
			return true;
	return false;
}

static void add_reason(struct grid *grid, const json_t *device, const json_t *warnings)
{
	const json_t *reason = json_object_get(device, "reason");
	const char *code = field_text(reason, "code", "?");
	owned_text text = field_sentence(reason, NULL);

	grid_add(grid, tone_of(device), "%s: %s", field_text(device, "state", "?"),
		is_told_once(warnings, code) || !text ? code : text);
}

/* "16 cores, 32 threads", or why something is not known. */
static void add_state(struct grid *grid, const json_t *device, const json_t *warnings)
{
	char text[128] = "";
	size_t used = 0;
	long long cores = (long long)field_int(device, "cores");
	long long threads = (long long)field_int(device, "threads");

	if (json_is_object(json_object_get(device, "reason"))) {
		add_reason(grid, device, warnings);
		return;
	}
	if (cores > 0)
		used = kp_text_add(text, sizeof(text), used, "%lld core%s", cores,
			cores == 1 ? "" : "s");
	if (threads > 0)
		used = kp_text_add(text, sizeof(text), used, "%s%lld thread%s",
			between(text), threads, threads == 1 ? "" : "s");
	if (field_text(device, "driver", NULL))
		used = kp_text_add(text, sizeof(text), used, "%sdriver %s", between(text),
			field_text(device, "driver", ""));
	if (field_text(device, "cuda", NULL))
		(void)kp_text_add(text, sizeof(text), used, "%sCUDA %s", between(text),
			field_text(device, "cuda", ""));
	grid_add(grid, TONE_PLAIN, "%s", *text ? text : field_text(device, "state", "?"));
}

static int put_table(
	const struct session *session, const json_t *devices, const json_t *warnings)
{
	static const struct grid_column columns[] = {{"DEVICE", false}, {"NAME", false},
		{"ARCH", false}, {"MEMORY", true}, {"STATE", false}};
	struct grid grid = {.columns = columns, .n_columns = 5};
	char size[SIZE_TEXT];
	size_t i;
	const json_t *device;

	json_array_foreach ((json_t *)(uintptr_t)devices, i, device) {
		grid_add(&grid, TONE_PLAIN, "%s", field_text(device, "id", "?"));
		grid_add(&grid, TONE_PLAIN, "%s", field_text(device, "name", "-"));
		add_arch(&grid, device);
		grid_add(&grid, TONE_PLAIN, "%s",
			size_text(json_object_get(device, "memory_bytes"), size));
		add_state(&grid, device, warnings);
	}
	return grid_print(&grid, &session->output);
}

/* ---- one device ----------------------------------------------------------------------
 */

static void add_caches(struct grid *grid, const json_t *caches)
{
	size_t i;
	const json_t *cache;
	char size[SIZE_TEXT];

	json_array_foreach ((json_t *)(uintptr_t)caches, i, cache)
		grid_pair(grid, i ? "" : "caches",
			"L%lld %s, %s for each %lld thread%s, %lld of them",
			(long long)field_int(cache, "level"),
			field_text(cache, "kind", "?"),
			size_text(json_object_get(cache, "bytes"), size),
			(long long)field_int(cache, "shared_by"),
			field_int(cache, "shared_by") == 1 ? "" : "s",
			(long long)field_int(cache, "count"));
}

/* "345 of 1980 MHz". */
static void add_clock(
	struct grid *grid, const char *title, const json_t *device, const char *key)
{
	char most[40];
	const json_t *now = json_object_get(device, key);

	(void)snprintf(most, sizeof(most), "max_%s", key);
	if (!json_is_integer(now))
		return;
	if (json_is_integer(json_object_get(device, most)))
		grid_pair(grid, title, "%lld of %lld MHz",
			(long long)json_integer_value(now),
			(long long)field_int(device, most));
	else
		grid_pair(grid, title, "%lld MHz", (long long)json_integer_value(now));
}

static void add_mode(
	struct grid *grid, const char *title, const json_t *device, const char *key)
{
	const json_t *mode = json_object_get(device, key);

	if (json_is_boolean(mode))
		grid_pair(grid, title, "%s", json_is_true(mode) ? "on" : "off");
}

static void add_number(
	struct grid *grid, const char *title, const json_t *device, const char *key)
{
	if (json_is_integer(json_object_get(device, key)))
		grid_pair(grid, title, "%lld", (long long)field_int(device, key));
}

static int put_device(const struct session *session, const json_t *device)
{
	struct grid grid = {.columns = grid_pairs, .n_columns = 2};
	owned_text reason = field_sentence(json_object_get(device, "reason"), NULL);
	char size[SIZE_TEXT];

	field_pair_text(&grid, "device", device, "id");
	field_pair_text(&grid, "name", device, "name");
	grid_pair(&grid, "kind", "%s, %s", field_text(device, "kind", "?"),
		field_text(device, "vendor", "?"));
	grid_add(&grid, TONE_FAINT, "arch");
	add_arch(&grid, device);
	field_pair_text(&grid, "state", device, "state");
	if (reason && *reason)
		grid_pair(&grid, "reason", "%s", reason);
	field_pair_text(&grid, "uuid", device, "uuid");
	field_pair_text(&grid, "pci", device, "pci");
	if (json_is_integer(json_object_get(device, "memory_bytes")))
		grid_pair(&grid, "memory", "%s",
			size_text(json_object_get(device, "memory_bytes"), size));
	field_pair_text(&grid, "driver", device, "driver");
	field_pair_text(&grid, "cuda", device, "cuda");
	add_mode(&grid, "ecc", device, "ecc");
	add_mode(&grid, "mig", device, "mig");
	add_clock(&grid, "sm clock", device, "sm_clock_mhz");
	add_clock(&grid, "memory clock", device, "memory_clock_mhz");
	add_number(&grid, "cores", device, "cores");
	add_number(&grid, "threads", device, "threads");
	add_caches(&grid, json_object_get(device, "caches"));
	field_pair_list(&grid, "features", device, "features");
	return grid_print(&grid, &session->output);
}

static int put_text(const struct session *session, const json_t *reply)
{
	const json_t *devices = json_object_get(reply, "devices");

	if (session->arguments.n_words > 0 && json_array_size(devices) == 1)
		return put_device(session, json_array_get(devices, 0));
	const json_t *warnings = json_object_get(reply, "warnings");
	int status = put_table(session, devices, warnings);
	for (size_t i = 0; i < json_array_size(warnings); i++) {
		owned_text text = field_sentence(json_array_get(warnings, i), NULL);
		if (text)
			output_remark(&session->output, "%s", text);
	}
	return status;
}

/* ---- the command ---------------------------------------------------------------------
 */

static int run(struct session *session)
{
	const struct arguments *arguments = &session->arguments;
	owned_json *reply = NULL;
	int status = session_ask(session, &question,
		json_pack("{s:o*, s:s*}", "refresh",
			arguments_has(arguments, "refresh") ? json_true() : NULL,
			"device", arguments->n_words ? arguments->words[0] : NULL),
		&reply);

	if (status != KP_EXIT_OK)
		return status;
	if (session->output.json)
		return output_json(reply);
	if (!session->output.quiet)
		return put_text(session, reply);
	field_lines(&session->output, json_object_get(reply, "devices"), "id");
	return KP_EXIT_OK;
}

static const struct option options[] = {
	{"refresh", NULL, "ask the GPUs' driver again (role operator)", false},
	{NULL, NULL, NULL, false},
};

const struct command devices_command = {
	.name = "devices",
	.args = "[DEVICE]",
	.most = 1,
	.summary = "List the CPU and the GPUs, or all that is known of one",
	.help = "DEVICE is an id, the PCI address or the UUID of a GPU. The arch of a "
		"GPU is what its driver says; while that cannot be asked, the reason is "
		"shown and kernels for that arch are not selected.",
	.options = options,
	.waits = true,
	.offline = true,
	.run = run,
};
