/* SPDX-License-Identifier: MIT */
/* Which calls, by which reference, and what happens around them. */
#include "lib/host/guard.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "lib/base/random.h"
#include "lib/host/call.h"
#include "lib/host/findings.h"
#include "lib/host/guard_verdict.h"
#include "lib/host/resolve.h"
#include "lib/host/sample.h"
#include "lib/host/weight.h"
#include "lib/plugin/abi.h"
#include "lib/table/table_read.h"

/* A seed is a number that every reader of JSON keeps whole. */
static const uint64_t SEEDS = UINT64_C(1) << 53;
static const uint64_t WORKSPACE_MOST = UINT64_C(256) << 20;

struct kp_guarded {
	struct kp_inner_site *site;
	const struct kp_inner_rung *rung, *reference;
	const struct kp_call *call;
	struct kp_sample sample;
};

/* ---- a site's ------------------------------------------------------------------- */

void kp_guard_init(struct kp_inner_site *site, const struct kp_site_options *options)
{
	struct timespec now = {0};
	struct kp_random random;

	(void)clock_gettime(CLOCK_REALTIME, &now);
	kp_random_seed(&random, (uint64_t)now.tv_sec ^ (uint64_t)now.tv_nsec << 32,
		options->label ? options->label : "");
	site->guard.seed = kp_random_next(&random);
	site->guard.own = options->guard_every;
}

void kp_guard_finish(struct kp_inner_site *site)
{
	kp_findings_finish(site);
}

void kp_guard_follow(struct kp_inner_site *site)
{
	struct kp_guard *guard = &site->guard;
	uint32_t every =
		guard->own ? guard->own
			   : kp_table_guard(&site->sight->table, site->request.operation);

	if (site->flags & KP_SITE_CAPTURED || site->device->device.type != KP_DEVICE_CPU)
		every = 0;
	guard->is_sought = false;
	__atomic_store_n(&guard->every, every, __ATOMIC_RELAXED);
}

/* At a place of its own in each run of calls: what a program repeats does not hide. */
bool kp_guard_is_due(struct kp_guard *guard)
{
	uint64_t every = __atomic_load_n(&guard->every, __ATOMIC_RELAXED);
	uint64_t call;
	struct kp_random random = {.has_spare = false};

	if (every == 0)
		return false;
	call = __atomic_fetch_add(&guard->calls, 1, __ATOMIC_RELAXED);
	random.state = guard->seed + call / every;
	return kp_random_next(&random) % every == call % every;
}

/* ---- the reference -------------------------------------------------------------- */

static int check_family(const struct kp_inner_site *site, struct kp_diag *diag)
{
	const char *operation = site->contract->operation;

	if (!site->contract->described)
		return kp_diag_set(diag, "undescribed", operation,
			"no family describes %s: nobody knows what is right", operation);
	if (!site->contract->family.reference)
		return kp_diag_set(diag, "no_reference", operation,
			"the family of %s names no reference", operation);
	if (site->check.unsupported)
		return kp_diag_set(diag, "repeated_role", operation,
			"%s has a role that repeats: its calls are not divided",
			operation);
	return 0;
}

/* By selection, as any kernel: what is off is off here, too. The lock is held. */
static int seek(struct kp_inner_site *site, struct kp_diag *diag)
{
	struct kp_request *request = kp_resolve_request(site, NULL, NULL);
	struct kp_request asked = *request;
	struct kp_decision decision;

	asked.overrides[KP_OVERRIDE_ARGUMENT] = site->contract->family.reference;
	asked.solution = NULL;
	asked.objective = KP_OBJECTIVE_DEFAULT;
	if (kp_select(&site->sight->table, &asked, &decision, diag) < 0)
		return -1;
	size_t kernel = decision.selected;
	kp_decision_finish(&decision);
	if (kernel == SIZE_MAX)
		return kp_diag_set(diag, "no_reference", request->operation,
			"%s is not eligible", site->contract->family.reference);
	if (kp_rung_get(site, site->sight, kernel, &site->guard.reference, diag) < 0)
		return -1;
	if (!site->guard.reference->loaded->functions.plan)
		return 0;
	return kp_diag_set(diag, "needs_plan", request->operation,
		"the reference %s needs a plan", site->guard.reference->name);
}

static void say_problem(struct kp_inner_site *site, const struct kp_diag *why)
{
	struct kp_guard *guard = &site->guard;
	bool is_new = !guard->said || strcmp(guard->said, why->code) != 0;

	guard->problem = *why;
	guard->said = why->code;
	if (is_new)
		kp_log(&site->handle->log, KP_LOG_WARNING,
			"the guard of %s (%s) compares nothing: %s",
			site->label[0] ? site->label : "a site without a label",
			site->contract->operation, why->message);
}

/* NULL: there is none, and that is known. */
static const struct kp_inner_rung *find_reference(struct kp_inner_site *site)
{
	struct kp_guard *guard = &site->guard;
	struct kp_diag why;

	(void)pthread_mutex_lock(&site->lock);
	if (!guard->is_sought && site->sight) {
		guard->is_sought = true;
		guard->reference = NULL;
		guard->problem.code = NULL;
		if (check_family(site, &why) < 0 || seek(site, &why) < 0) {
			guard->reference = NULL;
			say_problem(site, &why);
		}
	}
	const struct kp_inner_rung *reference = guard->reference;
	(void)pthread_mutex_unlock(&site->lock);
	return reference;
}

/* ---- around a call -------------------------------------------------------------- */

static void guarded_free(struct kp_guarded *guarded)
{
	kp_sample_finish(&guarded->sample);
	free(guarded);
}

/* A weight in a kernel's own layout says nothing to another one. */
static int check_tensors(const struct kp_inner_site *site, const struct kp_call *call,
	struct kp_diag *diag)
{
	for (uint32_t i = 0; i < call->n_tensors; i++)
		if (call->tensors[i] &&
			kp_weight_is_prepared(site->handle, call->tensors[i]->data))
			return kp_diag_set(diag, "prepared_weight",
				site->check.family->roles[i].name,
				"%s is laid out for its kernel alone",
				site->check.family->roles[i].name);
	return 0;
}

static int take(struct kp_guarded *guarded, struct kp_diag *diag)
{
	const struct kp_inner_site *site = guarded->site;
	const struct kp_call *call = guarded->call;
	int64_t dims[KP_FAMILY_DIMS];
	struct kp_random random = {
		.state = site->guard.seed ^
			 __atomic_load_n(&site->guard.calls, __ATOMIC_RELAXED)};

	if (check_tensors(site, call, diag) < 0)
		return -1;
	kp_check_dims(&site->check, call->tensors, call->n_tensors, dims);
	return kp_sample_take(&guarded->sample, &site->check, call->tensors,
		call->n_tensors, dims, kp_random_next(&random) % SEEDS, diag);
}

static void give_up(struct kp_inner_site *site, const struct kp_diag *why)
{
	(void)pthread_mutex_lock(&site->lock);
	say_problem(site, why);
	(void)pthread_mutex_unlock(&site->lock);
}

struct kp_guarded *kp_guard_begin(struct kp_inner_site *site,
	const struct kp_inner_rung *rung, const struct kp_call *call)
{
	const struct kp_inner_rung *reference = find_reference(site);
	struct kp_guarded *guarded;
	struct kp_diag why;

	kp_findings_flush(site);
	if (!reference || reference == rung)
		return NULL;
	guarded = calloc(1, sizeof(*guarded));
	if (!guarded)
		return NULL;
	guarded->site = site;
	guarded->rung = rung;
	guarded->reference = reference;
	guarded->call = call;
	int result = take(guarded, &why);
	if (result == 0 && !kp_sample_is_empty(&guarded->sample))
		return guarded;
	if (result < 0)
		give_up(site, &why);
	guarded_free(guarded);
	return NULL;
}

static int give_workspace(
	const struct kp_guarded *guarded, struct kp_call *call, struct kp_sample *sample)
{
	struct kp_need need;
	int status = kp_call_need(guarded->site, guarded->reference, call, &need);

	if (status != KP_OK || need.workspace_bytes == 0)
		return status;
	if (need.workspace_bytes <= WORKSPACE_MOST)
		call->workspace = kp_sample_memory(sample, need.workspace_bytes,
			need.workspace_align ? need.workspace_align : 1);
	call->workspace_bytes = need.workspace_bytes;
	return call->workspace ? KP_OK : KP_NO_MEMORY;
}

/* What the reference makes of these tensors. Its own error, its own workspace. */
static int run_reference(
	void *context, const struct kp_tensor *const *tensors, struct kp_diag *diag)
{
	struct kp_guarded *guarded = context;
	struct kp_error error;
	struct kp_call call = {
		.tensors = tensors,
		.n_tensors = (uint32_t)guarded->sample.n_roles,
		.attrs = guarded->call->attrs,
		.n_attrs = guarded->call->n_attrs,
		.stream = guarded->call->stream,
		.error = &error,
		.state = guarded->reference->front.state,
		.device_state = guarded->reference->front.device_state,
	};

	kp_error_reset(&error);
	kp_call_ready(guarded->site, &call);
	int status = give_workspace(guarded, &call, &guarded->sample);
	if (status == KP_OK)
		status = kp_call_enter(guarded->reference, &call);
	if (status == KP_OK)
		return 0;
	char name[64];
	(void)kp_error_settle(&error, status);
	return kp_diag_set(diag, "reference_failed", guarded->reference->name,
		"%s returns %s%s%s", guarded->reference->name,
		kp_status_text(status, name, sizeof(name)), error.text[0] ? ": " : "",
		error.text);
}

void kp_guard_end(struct kp_guarded *guarded, int status)
{
	struct kp_inner_site *site = guarded->site;
	struct kp_wrong wrong;
	struct kp_diag why;

	if (status == KP_OK) {
		kp_sample_results(&guarded->sample, guarded->call->tensors,
			guarded->call->n_tensors);
		int verdict = kp_guard_verdict(
			&guarded->sample, run_reference, guarded, &wrong, &why);
		if (verdict >= 0)
			__atomic_add_fetch(&site->guard.compared, 1, __ATOMIC_RELAXED);
		if (verdict < 0)
			give_up(site, &why);
		else if (verdict > 0)
			kp_findings_add(site, guarded->rung, &guarded->sample, &wrong,
				guarded->call);
	}
	guarded_free(guarded);
}

/* ---- for people ----------------------------------------------------------------- */

static json_t *guarding_json(struct kp_inner_site *site)
{
	struct kp_guard *guard = &site->guard;
	const struct kp_inner_rung *reference = find_reference(site);

	(void)pthread_mutex_lock(&site->lock);
	json_t *made = json_pack("{s:s?, s:s?, s:I}", "reference",
		reference ? reference->name : NULL, "problem",
		guard->problem.code ? guard->problem.message : NULL, "compared",
		(json_int_t)__atomic_load_n(&guard->compared, __ATOMIC_RELAXED));
	(void)pthread_mutex_unlock(&site->lock);
	return made;
}

int kp_guard_tell(struct kp_inner_site *site, json_t *reply)
{
	json_int_t every = __atomic_load_n(&site->guard.every, __ATOMIC_RELAXED);

	if (every == 0)
		return json_object_set_new(reply, "guard", json_null());
	return json_object_set_new(reply, "guard", json_integer(every)) < 0 ||
			       json_object_set_new(
				       reply, "guarding", guarding_json(site)) < 0
		       ? -1
		       : 0;
}
