/* SPDX-License-Identifier: MIT */
/* Checking of names, and a second look at those that plugind does not find. */
#include "cmd/name.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/field.h"

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

/* What the name is, other than what was asked for; malloc'ed, NULL for nothing. */
static char *look_again(struct session *session, const char *code, const char *name)
{
	char *text = NULL;
	bool maybe_operation = strcmp(code, "no_such_plugin") == 0 ||
			       strcmp(code, "no_such_kernel") == 0;
	bool maybe_plugin = strcmp(code, "unknown_operation") == 0 ||
			    (strcmp(code, "no_such_kernel") == 0 && !strchr(name, '/'));
	int size = name_plugin_size(name);
	int printed = 0;
	if (maybe_operation && session_knows(session, "Kernels", "operation", name))
		printed = asprintf(&text,
			"%s is an operation: `pluginctl kernels %s` lists its kernels",
			name, name);
	else if (maybe_plugin) {
		owned_chars plugin = strndup(name, (size_t)size);
		if (plugin && session_knows(session, "Info", "name", plugin))
			printed = asprintf(&text,
				"%s is a plugin: `pluginctl info %s` lists its kernels",
				plugin, plugin);
	}
	return printed < 0 ? NULL : text;
}

void name_explain(
	struct session *session, const char *error, json_t *parameters, const char *name)
{
	const char *message = field_text(parameters, "message", NULL);
	if (!message || kp_error_exit(error) != KP_EXIT_NOT_FOUND)
		return;
	owned_chars more = look_again(session, field_text(parameters, "code", ""), name);
	owned_chars whole = NULL;
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
