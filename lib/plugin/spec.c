/* SPDX-License-Identifier: MIT */
/* Names of bands, flags and archs, and the Kernel object of the interface. */
#include "lib/plugin/spec.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/json.h"

enum { ARCH_MOST = 99999 };

static const char *const kind_names[] = {
	[KP_ANY_DEVICE] = "any", [KP_CPU] = "cpu", [KP_GPU] = "gpu"};
enum { KINDS = sizeof(kind_names) / sizeof(kind_names[0]) };

const char *kp_device_kind_name(enum kp_device_kind kind)
{
	return kind_names[kind];
}

bool kp_device_kind_parse(const char *name, enum kp_device_kind *kind)
{
	for (unsigned i = 0; i < KINDS; i++)
		if (strcmp(name, kind_names[i]) == 0) {
			*kind = i;
			return true;
		}
	return false;
}

const char *kp_priority_band(int priority)
{
	static const struct {
		int first, last;
		const char *name;
	} bands[] = {
		{0, 0, "reference"},
		{4, 7, "portable"},
		{8, 11, "performant"},
		{12, 15, "specialized"},
		{16, 19, "plugin"},
	};
	for (size_t i = 0; i < sizeof(bands) / sizeof(bands[0]); i++)
		if (priority >= bands[i].first && priority <= bands[i].last)
			return bands[i].name;
	return "-";
}

static const struct {
	unsigned bit;
	const char *name;
} flags[] = {
	{KP_FLAG_CAPTURABLE, "capturable"},
	{KP_FLAG_SYNCS, "syncs"},
	{KP_FLAG_HOST_READS, "host_reads"},
	{KP_FLAG_REENTRANT, "reentrant"},
	{KP_FLAG_DETERMINISTIC, "deterministic"},
	{KP_FLAG_BATCH_INVARIANT, "batch_invariant"},
	{KP_FLAG_UNPROVEN, "unproven"},
};
enum { FLAGS = sizeof(flags) / sizeof(flags[0]) };

const char *kp_flag_name(unsigned bit)
{
	for (size_t i = 0; i < FLAGS; i++)
		if (flags[i].bit == bit)
			return flags[i].name;
	return NULL;
}

const char *kp_arch_print(const struct kp_arch *arch, char *text, size_t size)
{
	if (arch->known)
		(void)snprintf(text, size, "%d.%d", arch->major, arch->minor);
	else
		(void)snprintf(text, size, "unknown");
	return text;
}

/* Digits without a sign or a leading zero; NULL when there are none. */
static const char *parse_number(const char *text, int32_t *number)
{
	int32_t value = 0;
	const char *at = text;
	for (; *at >= '0' && *at <= '9'; at++) {
		value = value * 10 + (*at - '0');
		if (value > ARCH_MOST)
			return NULL;
	}
	if (at == text || (*text == '0' && at - text > 1))
		return NULL;
	*number = value;
	return at;
}

int kp_arch_parse(const char *text, struct kp_arch *arch, struct kp_diag *diag)
{
	struct kp_arch a = {.known = true};
	const char *at = parse_number(text, &a.major);

	if (at && *at == '.')
		at = parse_number(at + 1, &a.minor);
	if (!at || *at)
		return kp_diag_set(diag, "bad_arch", text,
			"%s is not an arch; write MAJOR.MINOR, such as 9.0", text);
	*arch = a;
	return 0;
}

int kp_arch_compare(const struct kp_arch *a, const struct kp_arch *b)
{
	if (a->major != b->major)
		return a->major < b->major ? -1 : 1;
	return (a->minor > b->minor) - (a->minor < b->minor);
}

static json_t *strings_json(const struct kp_strings *strings)
{
	json_t *out = json_array();
	for (size_t i = 0; out && i < strings->count; i++)
		out = kp_json_append(out, json_string(strings->items[i]));
	return out;
}

static json_t *arch_json(const struct kp_arch *arch)
{
	char text[24];
	return arch->known ? json_string(kp_arch_print(arch, text, sizeof(text)))
			   : json_null();
}

static json_t *capability_json(const struct kp_capability *capability)
{
	/* "o" takes each value, and makes the whole NULL where one is NULL. */
	return json_pack("{s:s, s:o, s:o, s:o, s:o}", "device",
		kp_device_kind_name(capability->device), "vendors",
		strings_json(&capability->vendors), "min_arch",
		arch_json(&capability->min_arch), "max_arch",
		arch_json(&capability->max_arch), "features",
		strings_json(&capability->features));
}

static json_t *traits_json(const struct kp_spec *spec)
{
	json_t *out = json_object();
	for (size_t i = 0; out && i < spec->n_traits; i++) {
		const struct kp_trait *trait = &spec->traits[i];
		if (json_object_set_new(out, trait->name, kp_trait_json(trait)) == 0)
			continue;
		json_decref(out);
		return NULL;
	}
	return out;
}

static json_t *flags_json(unsigned set)
{
	json_t *out = json_array();
	for (size_t i = 0; out && i < FLAGS; i++)
		if (set & flags[i].bit)
			out = kp_json_append(out, json_string(flags[i].name));
	return out;
}

static json_t *id_json(const char *plugin, const char *name)
{
	return json_sprintf("%s/%s", plugin, name);
}

static json_t *reason_json(const char *code, const char *message)
{
	if (!code)
		return json_null();
	return json_pack("{s:s, s:s}", "code", code, "message", message ? message : "");
}

json_t *kp_spec_json(const struct kp_spec *spec, const char *plugin, const char *state,
	const char *reason_code, const char *reason_message)
{
	return json_pack(
		"{s:s, s:o, s:s, s:i, s:o, s:i, s:s, s:o, s:o, s:o, s:o, s:o, s:o, "
		"s:o, s:o, s:o, s:o}",
		"name", spec->name, "id", id_json(plugin, spec->name), "operation",
		spec->operation, "revision", (int)spec->revision, "solution",
		kp_json_clean_or_null(spec->solution), "priority", spec->priority, "band",
		kp_priority_band(spec->priority), "signatures",
		strings_json(&spec->signatures), "capability",
		capability_json(&spec->capability), "traits", traits_json(spec), "tags",
		strings_json(&spec->tags), "features", strings_json(&spec->features),
		"flags", flags_json(spec->flags), "needs", strings_json(&spec->needs),
		"layouts", strings_json(&spec->layouts), "state",
		kp_json_clean_or_null(state), "reason",
		reason_json(reason_code, reason_message));
}
