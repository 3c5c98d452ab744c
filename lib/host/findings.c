/* SPDX-License-Identifier: MIT */
/* The words of a finding, and when it is told. */
#include "lib/host/findings.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/base/clock.h"
#include "lib/base/json.h"
#include "lib/family/element.h"
#include "lib/host/guard_verdict.h"
#include "lib/host/report.h"
#include "lib/host/site.h"

enum { QUIET_MS = 60000, PLACE_BYTES = 128 };

struct kp_suspect {
	struct kp_suspect *next;
	const struct kp_inner_rung *rung;
	int64_t told_ms;
	json_int_t count; /* not told yet */
	json_t *last;	  /* evidence of the last of these */
};

/* ---- words ---------------------------------------------------------------------- */

static json_t *number(double value)
{
	return isfinite(value) ? json_real(value) : json_null();
}

static json_t *shape_json(const struct kp_check *check, const struct kp_call *call)
{
	int64_t dims[KP_FAMILY_DIMS];
	json_t *shape = json_object();

	kp_check_dims(check, call->tensors, call->n_tensors, dims);
	for (size_t i = 0; i < check->n_dims; i++)
		if (dims[i] >= 0)
			(void)json_object_set_new(shape, check->family->dims.items[i],
				json_integer((json_int_t)dims[i]));
	return shape;
}

static json_t *dtypes_json(const struct kp_check *check, const struct kp_call *call)
{
	json_t *dtypes = json_object();
	enum kp_element element;

	for (uint32_t i = 0; i < call->n_tensors; i++)
		if (call->tensors[i] &&
			kp_element_of_dtype(call->tensors[i]->dtype, &element))
			(void)json_object_set_new(dtypes, check->family->roles[i].name,
				json_string(kp_element_name(element)));
	return dtypes;
}

static json_t *place_json(const struct kp_sample *sample, const struct kp_wrong *wrong)
{
	json_t *place = json_array();

	for (int32_t d = 0; d < sample->results[wrong->role].tensor.ndim; d++)
		place = kp_json_append(place, json_integer((json_int_t)wrong->place[d]));
	return place;
}

static json_t *evidence(const struct kp_inner_site *site,
	const struct kp_inner_rung *rung, const struct kp_sample *sample,
	const struct kp_wrong *wrong, const struct kp_call *call)
{
	return json_pack("{s:s, s:s?, s:o, s:o, s:I, s:s, s:o, s:o, s:o, s:o, s:o, s:o}",
		"operation", site->contract->operation, "digest",
		rung->digest[0] ? rung->digest : NULL, "shape",
		shape_json(&site->check, call), "dtypes", dtypes_json(&site->check, call),
		"seed", (json_int_t)sample->seed, "role",
		site->check.family->roles[wrong->role].name, "element",
		place_json(sample, wrong), "result", number(wrong->result), "reference",
		number(wrong->reference), "difference",
		number(fabs(wrong->result - wrong->reference)), "error",
		number(wrong->comparison.error), "tolerance",
		number(wrong->comparison.tolerance));
}

static void log_it(struct kp_inner_site *site, const struct kp_inner_rung *rung,
	const struct kp_sample *sample, const struct kp_wrong *wrong)
{
	char place[PLACE_BYTES] = "";
	size_t n = 0;

	for (int32_t d = 0; d < sample->results[wrong->role].tensor.ndim; d++)
		n += (size_t)snprintf(place + n, sizeof(place) - n, "%s%lld",
			d ? ", " : "", (long long)wrong->place[d]);
	kp_log(&site->handle->log, KP_LOG_ERROR,
		"%s is wrong at %s: %s[%s] is %.9g, the reference has %.9g; error %.3g, "
		"allowed %.3g",
		rung->name, site->label[0] ? site->label : "a site without a label",
		site->check.family->roles[wrong->role].name, place, wrong->result,
		wrong->reference, wrong->comparison.error, wrong->comparison.tolerance);
}

/* ---- telling -------------------------------------------------------------------- */

/* What is to be told once no lock is held. */
struct telling {
	const struct kp_inner_rung *rung;
	json_t *evidence; /* NULL: nothing */
};

/* With how often it was: the lock is held. */
static struct telling take(struct kp_suspect *suspect, int64_t now)
{
	struct telling telling = {suspect->rung, suspect->last};

	if (telling.evidence && json_object_set_new(telling.evidence, "count",
					json_integer(suspect->count)) < 0) {
		json_decref(telling.evidence);
		telling.evidence = NULL;
	}
	suspect->last = NULL;
	suspect->count = 0;
	suspect->told_ms = now;
	return telling;
}

static void tell(struct kp_inner_site *site, struct telling telling)
{
	char text[256];
	const char *role = kp_json_text(telling.evidence, "role");

	if (!telling.evidence)
		return;
	(void)snprintf(text, sizeof(text), "%s of %s is not what %s computes",
		role ? role : "a result", site->contract->operation,
		site->check.family->reference);
	kp_report(site->handle, "numeric", telling.rung->name, site->label, text,
		telling.evidence);
}

static bool is_due(const struct kp_suspect *suspect, int64_t now)
{
	return suspect->count > 0 &&
	       (suspect->told_ms == 0 || now - suspect->told_ms >= QUIET_MS);
}

static struct kp_suspect *find(
	struct kp_inner_site *site, const struct kp_inner_rung *rung)
{
	struct kp_suspect *suspect = site->guard.suspects;

	while (suspect && suspect->rung != rung)
		suspect = suspect->next;
	if (suspect)
		return suspect;
	suspect = calloc(1, sizeof(*suspect));
	if (!suspect)
		return NULL;
	suspect->rung = rung;
	suspect->next = site->guard.suspects;
	site->guard.suspects = suspect;
	return suspect;
}

void kp_findings_add(struct kp_inner_site *site, const struct kp_inner_rung *rung,
	const struct kp_sample *sample, const struct kp_wrong *wrong,
	const struct kp_call *call)
{
	json_t *made = evidence(site, rung, sample, wrong, call);
	struct telling telling = {rung, NULL};
	int64_t now = kp_clock_ms();

	(void)pthread_mutex_lock(&site->lock);
	struct kp_suspect *suspect = find(site, rung);
	if (suspect) {
		suspect->count++;
		json_decref(suspect->last);
		suspect->last = json_incref(made);
		if (is_due(suspect, now))
			telling = take(suspect, now);
	}
	(void)pthread_mutex_unlock(&site->lock);
	json_decref(made);
	if (!telling.evidence)
		return;
	log_it(site, rung, sample, wrong);
	tell(site, telling);
}

void kp_findings_flush(struct kp_inner_site *site)
{
	struct telling telling;
	int64_t now = kp_clock_ms();

	do {
		telling = (struct telling){0};
		(void)pthread_mutex_lock(&site->lock);
		for (struct kp_suspect *at = site->guard.suspects;
			at && !telling.evidence; at = at->next)
			if (is_due(at, now))
				telling = take(at, now);
		(void)pthread_mutex_unlock(&site->lock);
		tell(site, telling);
	} while (telling.evidence);
}

void kp_findings_finish(struct kp_inner_site *site)
{
	while (site->guard.suspects) {
		struct kp_suspect *suspect = site->guard.suspects;
		site->guard.suspects = suspect->next;
		if (suspect->count > 0)
			tell(site, take(suspect, 1));
		free(suspect);
	}
}
