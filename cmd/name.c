/* SPDX-License-Identifier: MIT */
/* Checking of names, and a second look at those that plugind does not find. */
#include "cmd/name.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/field.h"

enum { PLUGIN_BYTES = 80 };

int name_plugin_size(const char *name)
{
	return (int)strcspn(name, "/");
}

int name_check(struct session *session, const char *name, const char *whole)
{
	const struct output *output = &session->output;
	int size = name_plugin_size(name);
	if (size == 0)
		return output_refuse(output, "empty_value", name,
			"%s: the name of the plugin has an empty value", name);
	if (name[size] && !name[size + 1])
		return output_refuse(output, "empty_value", name,
			"%s: the name of the kernel has an empty value", name);
	if (name[size] && whole)
		return output_refuse(output, "not_a_plugin", name,
			"%s is a kernel, and plugins are %s as a whole: pluginctl %s "
			"%.*s",
			name, whole, output->what, size, name);
	return KP_EXIT_OK;
}

static char *as_operation(struct session *session, const char *name)
{
	char *text = NULL;
	if (!session_knows(session, "Kernels", "operation", name) ||
		asprintf(&text,
			"%s is an operation: `pluginctl kernels %s` lists its kernels",
			name, name) < 0)
		return NULL;
	return text;
}

/* The plugin of "plugin/kernel", too. */
static char *as_plugin(struct session *session, const char *name)
{
	char *text = NULL;
	char plugin[PLUGIN_BYTES];
	(void)snprintf(plugin, sizeof(plugin), "%.*s", name_plugin_size(name), name);
	if (!session_knows(session, "Info", "name", plugin) ||
		asprintf(&text, "%s is a plugin: `pluginctl info %s` lists its kernels",
			plugin, plugin) < 0)
		return NULL;
	return text;
}

/* What the name is, other than what was asked for; malloc'ed, NULL for nothing. */
static char *look_again(struct session *session, const char *code, const char *name)
{
	char *text = NULL;
	bool no_kernel = strcmp(code, "no_such_kernel") == 0;
	if (no_kernel || strcmp(code, "no_such_plugin") == 0)
		text = as_operation(session, name);
	if (!text && ((no_kernel && !strchr(name, '/')) ||
			     strcmp(code, "unknown_operation") == 0))
		text = as_plugin(session, name);
	return text;
}

void name_explain(
	struct session *session, const char *error, json_t *parameters, const char *name)
{
	const char *message = field_text(parameters, "message", NULL);
	if (!message || kp_error_exit(error) != KP_EXIT_NOT_FOUND)
		return;
	owned_text more = look_again(session, field_text(parameters, "code", ""), name);
	owned_text whole = NULL;
	if (more && asprintf(&whole, "%s; %s", message, more) < 0)
		whole = NULL;
	/* For want of memory the message stays as it is. */
	if (whole)
		(void)json_object_set_new(parameters, "message", json_string(whole));
}

int name_ask(struct session *session, const struct question *question, const char *name,
	json_t *parameters, json_t **reply)
{
	char *error = NULL;
	owned_json *got = NULL;
	int status = session_try(session, question, parameters, &got, &error);
	if (status == KP_EXIT_OK && error) {
		name_explain(session, error, got, name);
		status = session_fail(session, error, got);
	} else if (status == KP_EXIT_OK) {
		*reply = json_incref(got);
	}
	free(error);
	return status;
}
