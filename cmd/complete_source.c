/* SPDX-License-Identifier: MIT */
/* Sources of candidates: plugind's replies, lists of words, the shell's own files. */
#include "cmd/complete_source.h"

#include <stdio.h>
#include <string.h>

#include "cmd/command.h"
#include "cmd/field.h"
#include "lib/plugin/verdict.h"

typedef int offer_fn(struct session *session, const struct typed *typed);

/* Shells quote in many ways: what would need it is not offered. */
static bool is_plain(const char *word)
{
	return strspn(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
			    "0123456789_./+-:") == strlen(word);
}

void complete_offer(struct session *session, const struct typed *typed, const char *word,
	const char *what)
{
	if (!is_plain(word) || strncmp(word, typed->prefix, strlen(typed->prefix)) != 0)
		return;
	output_line(&session->output, TONE_PLAIN, "%s%s%s%s", typed->before, word,
		*what ? " -- " : "", what);
}

static void offer_list(struct session *session, const struct typed *typed,
	const char *const *words, size_t count)
{
	for (size_t i = 0; i < count; i++)
		complete_offer(session, typed, words[i], "");
}

/* ---- asked of plugind ------------------------------------------------------------ */

static int ask(struct session *session, const char *method, const char *list,
	json_t *parameters, json_t **reply)
{
	const struct question question = {method, {{list, KP_JSON_ARRAY, true}}};

	return session_ask(session, &question, parameters, reply);
}

/* Of each object of the reply's `list` the member `word`, explained by the member `what`.
 */
static int offer_members(struct session *session, const struct typed *typed,
	const char *method, const char *list, const char *word, const char *what)
{
	owned_json *reply = NULL;
	int status = ask(session, method, list, json_object(), &reply);
	const json_t *members = json_object_get(reply, list);

	for (size_t i = 0; i < json_array_size(members); i++) {
		const json_t *member = json_array_get(members, i);
		complete_offer(session, typed, field_text(member, word, ""),
			field_text(member, what, ""));
	}
	return status;
}

static int offer_plugins(struct session *session, const struct typed *typed)
{
	return offer_members(session, typed, "List", "plugins", "name", "state");
}

static bool is_of(const json_t *kernel, const char *operation)
{
	return operation && field_is(kernel, "operation", operation);
}

/* Where the line has named an operation, its kernels alone. */
static int offer_kernels(struct session *session, const struct typed *typed)
{
	owned_json *reply = NULL;
	int status = ask(session, "Kernels", "kernels", json_object(), &reply);
	const json_t *kernels = json_object_get(reply, "kernels");
	size_t count = json_array_size(kernels);
	bool named = false;

	for (size_t i = 0; i < count && !named; i++)
		named = is_of(json_array_get(kernels, i), typed->first);
	for (size_t i = 0; i < count; i++) {
		const json_t *kernel = json_array_get(kernels, i);
		if (!named || is_of(kernel, typed->first))
			complete_offer(session, typed, field_text(kernel, "kernel", ""),
				field_text(kernel, "operation", ""));
	}
	return status;
}

/* Kernels once there is a slash: else they would hide the plugins. */
static int offer_names(struct session *session, const struct typed *typed)
{
	return strchr(typed->prefix, '/') ? offer_kernels(session, typed)
					  : offer_plugins(session, typed);
}

/* Kernels come in the order of their operations. */
static int offer_parts(
	struct session *session, const struct typed *typed, bool families, bool modes)
{
	owned_json *reply = NULL;
	int status = ask(session, "Kernels", "kernels", json_object(), &reply);
	const json_t *kernels = json_object_get(reply, "kernels");
	char family[128] = "", last[128] = "", here[128];

	for (size_t i = 0; i < json_array_size(kernels); i++) {
		const char *operation =
			field_text(json_array_get(kernels, i), "operation", "");
		(void)snprintf(here, sizeof(here), "%.*s", (int)strcspn(operation, "/"),
			operation);
		if (families && strcmp(here, family) != 0)
			complete_offer(session, typed, here, "family");
		if (modes && strcmp(operation, last) != 0)
			complete_offer(session, typed, operation, "");
		(void)snprintf(family, sizeof(family), "%s", here);
		(void)snprintf(last, sizeof(last), "%s", operation);
	}
	return status;
}

static int offer_operations(struct session *session, const struct typed *typed)
{
	return offer_parts(session, typed, false, true);
}

static int offer_families(struct session *session, const struct typed *typed)
{
	return offer_parts(session, typed, true, false);
}

static int offer_both(struct session *session, const struct typed *typed)
{
	return offer_parts(session, typed, true, true);
}

static int offer_devices(struct session *session, const struct typed *typed)
{
	return offer_members(session, typed, "Devices", "devices", "id", "name");
}

/* Of the plugin that the line has named. */
static int offer_generations(struct session *session, const struct typed *typed)
{
	static const struct question question = {
		"History", {{"generations", KP_JSON_ARRAY, true}}};
	owned_json *reply = NULL;
	char number[24];

	if (!typed->first)
		return KP_EXIT_OK;
	int status = session_ask(
		session, &question, json_pack("{s:s}", "name", typed->first), &reply);
	const json_t *list = json_object_get(reply, "generations");
	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *generation = json_array_get(list, i);
		(void)snprintf(number, sizeof(number), "%lld",
			(long long)field_int(generation, "number"));
		complete_offer(
			session, typed, number, field_text(generation, "version", ""));
	}
	return status;
}

/* ---- known here ------------------------------------------------------------------ */

static int offer_states(struct session *session, const struct typed *typed)
{
	for (int i = 0; i < KP_STATES; i++)
		complete_offer(session, typed, kp_state_name((enum kp_state)i), "");
	complete_offer(session, typed, "unclaimed", "");
	return KP_EXIT_OK;
}

static int offer_commands(struct session *session, const struct typed *typed)
{
	for (size_t i = 0; commands[i]; i++)
		complete_offer(session, typed, commands[i]->name, commands[i]->summary);
	return KP_EXIT_OK;
}

static int offer_platforms(struct session *session, const struct typed *typed)
{
	static const char *const names[] = {
		"x86-64", "x86-64-v2", "x86-64-v3", "x86-64-v4", "aarch64", "nvidia-9.0"};

	offer_list(session, typed, names, KP_COUNT(names));
	return KP_EXIT_OK;
}

static int offer_kinds(struct session *session, const struct typed *typed)
{
	static const char *const names[] = {"crash", "unattributed", "error", "numeric"};

	offer_list(session, typed, names, KP_COUNT(names));
	return KP_EXIT_OK;
}

static int offer_policies(struct session *session, const struct typed *typed)
{
	static const char *const names[] = {"off", "warn", "require"};

	offer_list(session, typed, names, KP_COUNT(names));
	return KP_EXIT_OK;
}

static int offer_files(struct session *session, const struct typed *typed)
{
	(void)typed;
	output_line(&session->output, TONE_PLAIN, ":files");
	return KP_EXIT_OK;
}

static int offer_directories(struct session *session, const struct typed *typed)
{
	(void)typed;
	output_line(&session->output, TONE_PLAIN, ":directories");
	return KP_EXIT_OK;
}

static int offer_names_and_files(struct session *session, const struct typed *typed)
{
	(void)offer_files(session, typed);
	return offer_names(session, typed);
}

static int offer_nothing(struct session *session, const struct typed *typed)
{
	(void)session;
	(void)typed;
	return KP_EXIT_OK;
}

/* The first row that fits; place NULL: any. */
static const struct {
	const char *place, *placeholder;
	offer_fn *offer;
} sources[] = {
	{"new", "NAME", offer_nothing},
	{"schema", "[NAME]", offer_nothing},
	{"install", "NAME", offer_nothing},
	{"name", "NAME", offer_nothing},
	{"layout", "NAME", offer_nothing},
	{"objective", "NAME", offer_nothing},
	{"solution", NULL, offer_nothing},
	{"kernel", "NAME", offer_kernels},
	{"override", "NAME", offer_kernels},
	{"without", "NAME", offer_names},
	{NULL, "NAME", offer_plugins},
	{NULL, "[NAME]", offer_plugins},
	{NULL, "NAME[/KERNEL]", offer_names},
	{NULL, "[GENERATION]", offer_generations},
	{NULL, "NAME[/KERNEL]...", offer_names},
	{NULL, "NAME[/KERNEL]|FILE.so", offer_names_and_files},
	{NULL, "[NAME|ID]", offer_names},
	{NULL, "KERNEL|SOLUTION", offer_kernels},
	{NULL, "FAMILY/MODE", offer_operations},
	{NULL, "[FAMILY/MODE]", offer_operations},
	{NULL, "FAMILY", offer_families},
	{NULL, "[FAMILY[/MODE]]", offer_both},
	{NULL, "STATE", offer_states},
	{NULL, "KIND", offer_kinds},
	{NULL, "[DIR=]POLICY", offer_policies},
	{NULL, "[COMMAND]", offer_commands},
	{NULL, "[DEVICE]", offer_devices},
	{NULL, "ID", offer_devices},
	{NULL, "PLATFORM", offer_platforms},
	{NULL, "DIR", offer_directories},
	{NULL, "FILE", offer_files},
	{NULL, "FILE.so", offer_files},
	{NULL, "PATH", offer_files},
	{NULL, "FILE|DIR...", offer_files},
};

int complete_from(struct session *session, const struct typed *typed, const char *place,
	const char *placeholder)
{
	for (size_t i = 0; i < KP_COUNT(sources); i++)
		if ((!sources[i].place || strcmp(sources[i].place, place) == 0) &&
			(!sources[i].placeholder ||
				strcmp(sources[i].placeholder, placeholder) == 0))
			return sources[i].offer(session, typed);
	return KP_EXIT_OK;
}
