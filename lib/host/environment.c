/* SPDX-License-Identifier: MIT */
/* Lists, names and levels out of variables. */
#include "lib/host/environment.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/text.h"
#include "lib/table/table_read.h"

static const char PREFIX[] = "KPLUG_OVERRIDE_";
static const char BLANKS[] = " \t\n\r";
enum { NAMES_OFFERED = 256 };

/* The next name of a comma list, blanks around it cut off; NULL at the end. */
static char *next_name(char **at)
{
	while (*at) {
		char *name = *at + strspn(*at, BLANKS);
		char *end = name + strcspn(name, ",");
		*at = *end ? end + 1 : NULL;
		*end = '\0';
		while (end > name && strchr(BLANKS, end[-1]))
			*--end = '\0';
		if (*name)
			return name;
	}
	return NULL;
}

static int read_disable(struct kp_environment *environment, struct kp_diag *diag)
{
	const char *value = secure_getenv("KPLUG_DISABLE");
	size_t most = 1;
	char *name;

	if (!value || !*value)
		return 0;
	for (const char *c = value; *c; c++)
		most += *c == ',';
	environment->text = strdup(value);
	environment->names = calloc(most, sizeof(*environment->names));
	if (!environment->text || !environment->names)
		return kp_diag_no_memory(diag);
	char *at = environment->text;
	while ((name = next_name(&at)))
		environment->names[environment->count++] = name;
	return 0;
}

int kp_environment_read(struct kp_environment *environment, struct kp_diag *diag)
{
	const char *level = secure_getenv("KPLUG_LOG");

	*environment = (struct kp_environment){.level = KP_LOG_NONE};
	if (read_disable(environment, diag) < 0) {
		kp_environment_finish(environment);
		return -1;
	}
	if (level && *level && !kp_log_parse(level, &environment->level))
		environment->level = KP_LOG_WARNING;
	return 0;
}

void kp_environment_finish(struct kp_environment *environment)
{
	free(environment->names);
	free(environment->text);
	*environment = (struct kp_environment){.level = KP_LOG_NONE};
}

/* "plugin" or "plugin/kernel". */
static bool names_kernel(const char *name, const struct kp_table *table, size_t kernel)
{
	const char *plugin = kp_table_kernel_plugin(table, kernel);
	size_t length = strlen(plugin);

	if (strncmp(name, plugin, length) != 0)
		return false;
	return !name[length] ||
	       (name[length] == '/' && strcmp(name + length + 1,
					       kp_table_kernel_name(table, kernel)) == 0);
}

const char *kp_environment_disables(const struct kp_environment *environment,
	const struct kp_table *table, size_t kernel)
{
	for (size_t i = 0; i < environment->count; i++)
		if (names_kernel(environment->names[i], table, kernel))
			return environment->names[i];
	return NULL;
}

bool kp_environment_is_unknown(
	const struct kp_table *table, const char *name, struct kp_diag *diag)
{
	const char *names[NAMES_OFFERED];
	char offer[KP_TEXT_OFFER];
	struct kp_diag why;
	size_t kernel, count = 0;

	if (strchr(name, '/')) {
		if (kp_table_find(table, NULL, name, &kernel, &why) == 0)
			return false;
		kp_diag_set(diag, "unknown_name", name, "KPLUG_DISABLE: %s", why.message);
		return true;
	}
	if (kp_table_plugin(table, name) != SIZE_MAX)
		return false;
	for (size_t i = 0; i < kp_table_plugins(table) && count < NAMES_OFFERED; i++)
		names[count++] = kp_table_text(
			table, kp_load32(kp_table_record(table, KP_SECTION_PLUGINS, i) +
					 KP_PLUGIN_NAME));
	kp_diag_set(diag, "unknown_name", name, "KPLUG_DISABLE: there is no plugin %s%s",
		name, kp_text_offer(name, names, count, "there are", offer));
	return true;
}

char *kp_environment_variable(const char *operation)
{
	size_t length = strlen(operation);
	char *name = malloc(sizeof(PREFIX) + length);

	if (!name)
		return NULL;
	memcpy(name, PREFIX, sizeof(PREFIX) - 1);
	for (size_t i = 0; i <= length; i++) {
		char c = operation[i];
		char *to = &name[sizeof(PREFIX) - 1 + i];
		if (c >= 'a' && c <= 'z')
			*to = (char)(c - 'a' + 'A');
		else if ((c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || !c)
			*to = c;
		else
			*to = '_';
	}
	return name;
}

bool kp_environment_override(const char *operation, char **value)
{
	char *name = kp_environment_variable(operation);
	const char *found = name ? secure_getenv(name) : NULL;

	*value = found && *found ? strdup(found) : NULL;
	bool done = name && (!found || !*found || *value);
	free(name);
	return done;
}
