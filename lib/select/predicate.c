/* SPDX-License-Identifier: MIT */
/* The rows of predicates, and those about state and what the request demands. */
#include "lib/select/predicate.h"

#include <stdio.h>
#include <string.h>

#include "lib/base/text.h"

struct kp_exclusion *kp_exclude(
	struct kp_exclusions *out, const char *code, const char *source)
{
	if (!out || out->count == KP_EXCLUSIONS)
		return NULL;
	struct kp_exclusion *exclusion = &out->items[out->count++];
	exclusion->code = code;
	exclusion->source = source;
	exclusion->required[0] = exclusion->actual[0] = '\0';
	return exclusion;
}

const char *kp_predicate_join(
	const struct kp_table *table, struct kp_list list, char *text, size_t size)
{
	size_t used = kp_text_add(text, size, 0, "%s", list.count ? "" : "none");
	for (size_t i = 0; i < list.count; i++)
		used = kp_text_add(text, size, used, "%s%s", i ? ", " : "",
			kp_table_text(table, kp_list_get(list, i)));
	return text;
}

static struct kp_list profile_list(
	const struct kp_query *query, const struct kp_subject *subject, unsigned field)
{
	return kp_table_list(query->table, kp_load32(subject->profile + field));
}

static bool check_without(const struct kp_query *query, struct kp_subject *subject,
	struct kp_exclusions *out)
{
	size_t plugin = kp_load32(subject->kernel + KP_KERNEL_PLUGIN);

	for (size_t i = 0; i < query->n_without; i++) {
		if (query->without[i].plugin != plugin ||
			(query->without[i].kernel != SIZE_MAX &&
				query->without[i].kernel != subject->index))
			continue;
		struct kp_exclusion *e =
			kp_exclude(out, "excluded_by_request", "request");
		if (e) {
			(void)snprintf(e->required, sizeof(e->required), "not left out");
			(void)snprintf(e->actual, sizeof(e->actual), "left out: %s",
				query->without[i].name);
		}
		return false;
	}
	return true;
}

static const char *state_code(const struct kp_table *table, const unsigned char *kernel)
{
	static const char *const codes[KP_STATES] = {
		[KP_STATE_PENDING] = "pending",
		[KP_STATE_ACTIVE] = "pending", /* not asked for */
		[KP_STATE_DISABLED] = "plugin_disabled",
		[KP_STATE_MASKED] = "plugin_masked",
		[KP_STATE_REJECTED] = "plugin_rejected",
		[KP_STATE_FAILED] = "plugin_failed",
		[KP_STATE_QUARANTINED] = "quarantined",
		[KP_STATE_MISSING] = "plugin_missing",
	};
	const unsigned char *plugin = kp_table_record(
		table, KP_SECTION_PLUGINS, kp_load32(kernel + KP_KERNEL_PLUGIN));
	enum kp_state state = kernel[KP_KERNEL_STATE];

	if (state == KP_STATE_DISABLED && plugin[KP_PLUGIN_STATE] != KP_STATE_DISABLED)
		return "kernel_disabled";
	return codes[state];
}

/* Sources are kept as texts in the table; exclusions point to static ones. */
static const char *known_source(const char *source)
{
	static const char *const sources[] = {
		"operator", "machine", "kernel", "family", "request"};
	for (size_t i = 0; source && i < sizeof(sources) / sizeof(sources[0]); i++)
		if (strcmp(source, sources[i]) == 0)
			return sources[i];
	return "daemon";
}

static bool check_state(const struct kp_query *query, struct kp_subject *subject,
	struct kp_exclusions *out)
{
	const char *code, *message, *source;

	if (subject->kernel[KP_KERNEL_STATE] == KP_STATE_ACTIVE)
		return true;
	if (!out)
		return false;
	kp_table_reason(query->table, kp_load32(subject->kernel + KP_KERNEL_OFF), &code,
		&message, &source);
	struct kp_exclusion *e = kp_exclude(
		out, state_code(query->table, subject->kernel), known_source(source));
	if (e) {
		(void)snprintf(e->required, sizeof(e->required), "active");
		(void)snprintf(e->actual, sizeof(e->actual), "%s: %s",
			code ? code : kp_state_name(subject->kernel[KP_KERNEL_STATE]),
			message ? message : "");
	}
	return false;
}

static bool check_available(const struct kp_query *query, struct kp_subject *subject,
	struct kp_exclusions *out)
{
	uint32_t link = kp_load32(subject->kernel + KP_KERNEL_UNAVAILABLE);
	const char *code, *message, *source;

	/* What a probe found here says nothing of another machine. */
	if (!link || query->request->on)
		return true;
	struct kp_exclusion *e = kp_exclude(out, "unavailable", "machine");
	if (e) {
		kp_table_reason(query->table, link, &code, &message, &source);
		(void)snprintf(e->required, sizeof(e->required), "available");
		(void)snprintf(e->actual, sizeof(e->actual), "%s",
			message && message[0] ? message : code);
	}
	return false;
}

bool kp_predicate_is_overlaid(
	const struct kp_query *query, size_t kernel, struct kp_off *why)
{
	const struct kp_overlay *overlay = query->request->overlay;

	return overlay && overlay->is_off(overlay->context, query->table, kernel, why);
}

static bool check_overlay(const struct kp_query *query, struct kp_subject *subject,
	struct kp_exclusions *out)
{
	struct kp_off off = {.message = ""};

	if (!kp_predicate_is_overlaid(query, subject->index, out ? &off : NULL))
		return true;
	struct kp_exclusion *e = kp_exclude(out, off.code, off.source);
	if (e) {
		(void)snprintf(
			e->required, sizeof(e->required), "usable in this process");
		memcpy(e->actual, off.message, sizeof(off.message));
	}
	return false;
}

static bool check_signature(const struct kp_query *query, struct kp_subject *subject,
	struct kp_exclusions *out)
{
	struct kp_list list = kp_table_list(
		query->table, kp_load32(subject->kernel + KP_KERNEL_SIGNATURES));

	if (!query->key_signature ||
		(query->entry_text && kp_list_has(list, query->entry_text)))
		return true;
	struct kp_exclusion *e = kp_exclude(out, "signature", "request");
	if (e) {
		(void)snprintf(
			e->required, sizeof(e->required), "%s", query->key_signature);
		kp_predicate_join(query->table, list, e->actual, sizeof(e->actual));
	}
	return false;
}

static bool check_solution(const struct kp_query *query, struct kp_subject *subject,
	struct kp_exclusions *out)
{
	uint32_t solution = kp_load32(subject->profile + KP_PROFILE_SOLUTION);

	if (!query->request->solution || (query->solution && query->solution == solution))
		return true;
	struct kp_exclusion *e = kp_exclude(out, "solution", "request");
	if (e) {
		(void)snprintf(
			e->required, sizeof(e->required), "%s", query->request->solution);
		(void)snprintf(e->actual, sizeof(e->actual), "%s",
			solution ? kp_table_text(query->table, solution) : "none");
	}
	return false;
}

static bool check_layout(const struct kp_query *query, struct kp_subject *subject,
	struct kp_exclusions *out)
{
	struct kp_list list = profile_list(query, subject, KP_PROFILE_LAYOUTS);

	if (!query->request->layout ||
		(query->layout && kp_list_has(list, query->layout)))
		return true;
	struct kp_exclusion *e = kp_exclude(out, "layout", "request");
	if (e) {
		(void)snprintf(
			e->required, sizeof(e->required), "%s", query->request->layout);
		kp_predicate_join(query->table, list, e->actual, sizeof(e->actual));
	}
	return false;
}

static bool check_features(const struct kp_query *query, struct kp_subject *subject,
	struct kp_exclusions *out)
{
	struct kp_list list = profile_list(query, subject, KP_PROFILE_FEATURES);
	char missing[256] = "";
	size_t used = 0;

	for (size_t i = 0; i < query->request->n_features; i++) {
		if (query->features[i] && kp_list_has(list, query->features[i]))
			continue;
		if (!out)
			return false;
		used = kp_text_add(missing, sizeof(missing), used, "%s%s",
			used ? ", " : "", query->request->features[i]);
	}
	if (!used)
		return true;
	struct kp_exclusion *e = kp_exclude(out, "missing_feature", "request");
	if (e) {
		memcpy(e->required, missing, sizeof(missing));
		kp_predicate_join(query->table, list, e->actual, sizeof(e->actual));
	}
	return false;
}

/* The kernel's own first; from OWN_ROWS on what depends on its fit alone. */
static const struct {
	bool (*passes)(const struct kp_query *query, struct kp_subject *subject,
		struct kp_exclusions *out);
	unsigned group;
} rows[] = {
	{check_without, 0},
	{check_state, KP_SKIP_STATE},
	{check_available, KP_SKIP_STATE},
	{check_overlay, KP_SKIP_STATE},
	{check_signature, KP_SKIP_SIGNATURE},
	{check_solution, 0},
	{check_layout, 0},
	{check_features, 0},
	{kp_predicate_device, KP_SKIP_FIT},
	{kp_predicate_role, 0},
	{kp_predicate_revision, KP_SKIP_FIT},
	{kp_predicate_traits, KP_SKIP_FIT},
};
enum { ROWS = sizeof(rows) / sizeof(rows[0]), OWN_ROWS = 5 };

static struct kp_subject subject_of(const struct kp_query *query, size_t kernel)
{
	const unsigned char *record = kp_table_kernel(query->table, kernel);
	return (struct kp_subject){
		kernel, SIZE_MAX, record, kp_table_profile(query->table, record)};
}

bool kp_predicate_check(const struct kp_query *query, size_t kernel, unsigned skip,
	struct kp_exclusions *out, size_t *device)
{
	struct kp_subject subject = subject_of(query, kernel);
	bool passes = true;

	for (size_t i = 0; i < ROWS; i++) {
		if (rows[i].group & skip || rows[i].passes(query, &subject, out))
			continue;
		passes = false;
		if (!out)
			break;
	}
	if (device)
		*device = subject.device;
	return passes;
}

static void find_fit(const struct kp_query *query, size_t like, struct kp_fit *fit)
{
	struct kp_subject subject = subject_of(query, like);

	fit->like = (uint32_t)like + 1;
	fit->fits = true;
	/* Traits first: of those that could run here, most are excluded by them. */
	for (size_t i = ROWS; i-- > OWN_ROWS && fit->fits;)
		fit->fits = rows[i].passes(query, &subject, NULL);
	fit->device = (unsigned char)subject.device;
}

bool kp_predicate_passes(const struct kp_query *query, struct kp_fits *known,
	size_t kernel, size_t like, bool *fits, size_t *device)
{
	struct kp_fit *fit = kp_fit_of(known, like);

	if (fit->like != like + 1)
		find_fit(query, like, fit);
	*fits = fit->fits;
	*device = fit->device;
	if (!fit->fits)
		return false;
	struct kp_subject subject = subject_of(query, kernel);
	return check_without(query, &subject, NULL) &&
	       check_state(query, &subject, NULL) &&
	       check_available(query, &subject, NULL) &&
	       check_overlay(query, &subject, NULL);
}

bool kp_predicate_is_off(const struct kp_table *table, size_t kernel, const char **code,
	const char **message)
{
	const unsigned char *record = kp_table_kernel(table, kernel);
	enum kp_state state = record[KP_KERNEL_STATE];
	uint32_t unavailable = kp_load32(record + KP_KERNEL_UNAVAILABLE);
	uint32_t off = kp_load32(record + KP_KERNEL_OFF);
	const char *source;

	if (state == KP_STATE_ACTIVE) {
		kp_table_reason(table, unavailable, code, message, &source);
		return unavailable != 0;
	}
	kp_table_reason(table, off, code, message, &source);
	/* An unproven kernel never ran: nothing fell back from it. */
	if (state == KP_STATE_DISABLED)
		return !*code || strcmp(*code, "unproven") != 0;
	/* A duplicate is there, under the other name. */
	if (state == KP_STATE_REJECTED)
		return !*code || strcmp(*code, "duplicate_of") != 0;
	return state == KP_STATE_FAILED || state == KP_STATE_QUARANTINED;
}
