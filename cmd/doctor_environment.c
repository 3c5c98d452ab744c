/* SPDX-License-Identifier: MIT */
/* Variables of applications: do they, and the names in them, mean something? */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/doctor.h"
#include "cmd/field.h"
#include "lib/base/json.h"
#include "lib/base/owned.h"
#include "lib/base/text.h"

enum { WORD = 128, NAMES_MOST = 4096 };

static const char *const variables[] = {
	"KPLUG_SOCKET", "KPLUG_DISABLE", "KPLUG_LIBRARY", "KPLUG_LOG", "KPLUG_CUBLASLT"};
static const char override_prefix[] = "KPLUG_OVERRIDE_";

/* Borrowed texts that a name is held against. */
struct names {
	size_t count;
	const char *items[NAMES_MOST];
};

static void add(struct names *names, const char *name)
{
	if (name && names->count < NAMES_MOST &&
		!kp_text_among(name, names->items, names->count))
		names->items[names->count++] = name;
}

static bool has(const struct names *names, const char *name)
{
	return kp_text_among(name, names->items, names->count);
}

static void tell_unknown(struct doctor *doctor, const char *variable, const char *name,
	const struct names *names)
{
	char offer[KP_TEXT_OFFER];
	doctor_tell(doctor, "unknown_name", NULL, "%s: nothing here is called %s%s",
		variable, name,
		kp_text_offer(name, names->items, names->count, NULL, offer));
}

/* ---- KPLUG_DISABLE --------------------------------------------------------------- */

static void check_disable(struct doctor *doctor, const char *value)
{
	static const char blanks[] = ", \t\n\r";
	struct names names = {0};
	char name[WORD];
	size_t i;
	json_t *row;
	json_array_foreach (doctor->plugins, i, row)
		add(&names, field_text(row, "name", NULL));
	json_array_foreach (doctor->kernels, i, row)
		add(&names, field_text(row, "kernel", NULL));
	while (*(value += strspn(value, blanks))) {
		size_t size = strcspn(value, blanks);
		(void)snprintf(name, sizeof(name), "%.*s", (int)size, value);
		if (!has(&names, name))
			tell_unknown(doctor, "KPLUG_DISABLE", name, &names);
		value += size;
	}
}

/* ---- KPLUG_OVERRIDE_FAMILY_MODE -------------------------------------------------- */

/* GEMM_MM of gemm/mm. */
static void spell(const char *operation, char *text, size_t size)
{
	size_t i = 0;
	for (; operation[i] && i + 1 < size; i++)
		text[i] = isalnum((unsigned char)operation[i])
				  ? (char)toupper((unsigned char)operation[i])
				  : '_';
	text[i] = '\0';
}

/*
 * The operation whose variable it is gives the kernels that it may name; a name without
 * a slash may be a solution, of which plugind tells no list.
 */
static void check_override(struct doctor *doctor, const char *name, const char *value)
{
	struct names choices = {0}, operations = {0};
	char spelt[WORD];
	size_t i;
	json_t *row;
	json_array_foreach (doctor->kernels, i, row) {
		const char *operation = field_text(row, "operation", "");
		add(&operations, operation);
		spell(operation, spelt, sizeof(spelt));
		if (strcmp(spelt, name + strlen(override_prefix)) != 0)
			continue;
		add(&choices, field_text(row, "kernel", NULL));
	}
	if (choices.count == 0)
		tell_unknown(doctor, name, "an operation that is spelt so", &operations);
	else if (strchr(value, '/') && !has(&choices, value))
		tell_unknown(doctor, name, value, &choices);
}

/* ---- all of them ----------------------------------------------------------------- */

static bool is_variable(const char *name)
{
	if (strncmp(name, override_prefix, strlen(override_prefix)) == 0)
		return true;
	for (size_t i = 0; i < KP_COUNT(variables); i++)
		if (strcmp(variables[i], name) == 0)
			return true;
	return false;
}

static void check_variable(struct doctor *doctor, const char *name, const char *value)
{
	char offer[KP_TEXT_OFFER];
	if (!is_variable(name))
		doctor_tell(doctor, "unknown_variable", NULL,
			"%s is set and means nothing%s", name,
			kp_text_offer(name, variables, KP_COUNT(variables), NULL, offer));
	else if (!doctor->kernels || !doctor->plugins)
		return;
	else if (strcmp(name, "KPLUG_DISABLE") == 0)
		check_disable(doctor, value);
	else if (strncmp(name, override_prefix, strlen(override_prefix)) == 0)
		check_override(doctor, name, value);
}

void doctor_environment(struct doctor *doctor)
{
	char name[WORD];
	for (char **entry = environ; *entry; entry++) {
		const char *value = strchr(*entry, '=');
		if (!value || strncmp(*entry, "KPLUG_", strlen("KPLUG_")) != 0)
			continue;
		(void)snprintf(name, sizeof(name), "%.*s", (int)(value - *entry), *entry);
		check_variable(doctor, name, value + 1);
	}
}
