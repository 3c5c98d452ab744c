/* SPDX-License-Identifier: MIT */
/* What a site would run, and how that is decided, in the words of the protocol. */
#include <stdlib.h>
#include <string.h>

#include "lib/base/owned.h"
#include "lib/base/json.h"
#include "lib/host/calm.h"
#include "lib/host/fault.h"
#include "lib/host/resolve.h"
#include "lib/select/select.h"

enum { WAIT_MS = 50 };

/* Where nothing is said, the least of each range; an open one says nothing. */
static const int64_t *dims_of(
	const struct kp_inner_site *site, const int64_t *dims, int64_t *least)
{
	if (!site->contract->described)
		return NULL;
	for (size_t i = 0; i < site->check.n_dims; i++)
		least[i] = dims ? dims[i] : site->has_range[i] ? site->least[i] : -1;
	return least;
}

/* For people the table is worth a wait: it has the reasons. */
static void wait_for_reasons(struct kp_inner_site *site)
{
	struct kp_diag diag;
	struct kp_sight *sight = kp_handle_sight(site->handle, WAIT_MS, &diag);

	(void)pthread_mutex_lock(&site->lock);
	if (sight && site->sight && sight->number != site->sight->number)
		kp_site_touch(site);
	(void)pthread_mutex_unlock(&site->lock);
	kp_sight_drop(sight);
}

static int bring_up(struct kp_inner_site *site, struct kp_diag *diag)
{
	uint64_t now = __atomic_load_n(site->front.now, __ATOMIC_ACQUIRE);

	if (__atomic_load_n(&site->decided, __ATOMIC_ACQUIRE) == now)
		return 0;
	return kp_resolve_refresh(site, now, NULL, diag);
}

const char *kp_site_kernel(struct kp_site *front, const int64_t *dims)
{
	owned_calm calm = kp_calm_begin();
	struct kp_inner_site *site = kp_site_inner(front);
	int64_t least[KP_FAMILY_DIMS];
	struct kp_diag diag;

	if (kp_handle_is_forked(site->handle) || kp_device_is_lost(site->device) ||
		bring_up(site, &diag) < 0)
		return NULL;
	const struct kp_inner_rung *rung =
		kp_resolve(site, dims_of(site, dims, least), &diag);
	return rung ? rung->name : NULL;
}

/* The parameters of Explain's reply. */
static json_t *explain(const struct kp_table *table, const struct kp_request *request,
	bool candidates, struct kp_diag *diag)
{
	struct kp_decision decision;

	if (kp_select(table, request, &decision, diag) < 0)
		return NULL;
	json_t *reply = kp_decision_json(table, request, &decision);
	kp_decision_finish(&decision);
	/* This process waits for nothing. */
	int result = reply ? json_object_set_new(reply, "pending", json_array()) : -1;
	if (result == 0 && candidates)
		result = json_object_set_new(
			reply, "candidates", kp_explain_json(table, request));
	if (result == 0)
		return reply;
	json_decref(reply);
	kp_diag_no_memory(diag);
	return NULL;
}

static char *dump(json_t *reply, struct kp_diag *diag)
{
	char *text = reply ? kp_json_dumps(reply, JSON_COMPACT) : NULL;

	if (reply && !text)
		kp_diag_no_memory(diag);
	json_decref(reply);
	return text;
}

char *kp_site_why(struct kp_site *front, const int64_t *dims, struct kp_error *error)
{
	owned_calm calm = kp_calm_begin();
	struct kp_inner_site *site = kp_site_inner(front);
	int64_t least[KP_FAMILY_DIMS];
	const int64_t *known = dims_of(site, dims, least);
	struct kp_diag diag;

	if (kp_handle_is_forked(site->handle)) {
		(void)kp_handle_forked(error);
		return NULL;
	}
	wait_for_reasons(site);
	if (bring_up(site, &diag) < 0) {
		(void)kp_fault(error, &diag);
		return NULL;
	}
	/* Whether its code can be loaded here is part of the answer. */
	(void)kp_resolve(site, known, &diag);
	(void)pthread_mutex_lock(&site->lock);
	json_t *reply = explain(
		&site->sight->table, kp_resolve_request(site, known, NULL), true, &diag);
	(void)pthread_mutex_unlock(&site->lock);
	if (reply && kp_guard_tell(site, reply) < 0) {
		json_decref(reply);
		reply = NULL;
		kp_diag_no_memory(&diag);
	}
	char *text = dump(reply, &diag);
	if (!text)
		(void)kp_fault(error, &diag);
	return text;
}

/* ---- requests of one's own -----------------------------------------------------------
 */

struct asking {
	const struct kp_handle *handle;
	const struct kp_sight *sight;
};

static bool is_off(
	void *context, const struct kp_table *table, size_t kernel, struct kp_off *off)
{
	const struct asking *asking = context;
	const struct kp_inner_site like = {
		.handle = (struct kp_handle *)(uintptr_t)asking->handle};

	(void)table;
	return kp_resolve_is_off(&like, asking->sight, kernel, off);
}

static json_t *answer(struct kp_handle *handle, const struct kp_sight *sight,
	const char *text, bool candidates, struct kp_diag *diag)
{
	struct asking asking = {handle, sight};
	const struct kp_overlay overlay = {&asking, is_off};
	json_error_t why;
	bool no_memory;
	owned_json *root = kp_json_load(
		text, strlen(text), JSON_REJECT_DUPLICATES, &why, &no_memory);
	struct kp_request request;
	char *environment = NULL;

	if (no_memory) {
		kp_diag_no_memory(diag);
		return NULL;
	}
	if (!root) {
		kp_diag_set(diag, "bad_json", "request", "the request is no JSON");
		return NULL;
	}
	if (kp_request_from_json(&sight->table, root, &request, diag) < 0)
		return NULL;
	if (!kp_environment_override(request.operation, &environment)) {
		kp_request_finish(&request);
		kp_diag_no_memory(diag);
		return NULL;
	}
	(void)pthread_mutex_lock(&handle->lock);
	const char *choice =
		kp_scopes_choice(&handle->scopes, request.operation, kp_thread_number());
	if (!choice)
		choice = kp_scopes_choice(&handle->scopes, request.operation, 0);
	(void)pthread_mutex_unlock(&handle->lock);
	request.overlay = request.on ? NULL : &overlay;
	request.overrides[KP_OVERRIDE_SCOPE] = choice;
	request.overrides[KP_OVERRIDE_ENVIRONMENT] = environment;
	json_t *reply = explain(&sight->table, &request, candidates, diag);
	kp_request_finish(&request);
	free(environment);
	return reply;
}

static int ask(struct kp_handle *handle, const char *request, bool candidates,
	char **reply, struct kp_error *error)
{
	struct kp_diag diag;

	if (kp_handle_is_forked(handle))
		return kp_handle_forked(error);
	struct kp_sight *sight = kp_handle_sight(handle, KP_AS_PATIENCE_ALLOWS, &diag);
	char *text =
		sight ? dump(answer(handle, sight, request, candidates, &diag), &diag)
		      : NULL;
	kp_sight_drop(sight);
	if (!text)
		return kp_fault(error, &diag);
	*reply = text;
	return KP_OK;
}

int kp_decide(struct kp_handle *handle, const char *request, char **reply,
	struct kp_error *error)
{
	owned_calm calm = kp_calm_begin();
	return ask(handle, request, false, reply, error);
}

int kp_why(struct kp_handle *handle, const char *request, char **reply,
	struct kp_error *error)
{
	owned_calm calm = kp_calm_begin();
	return ask(handle, request, true, reply, error);
}

void kp_free(void *memory)
{
	free(memory);
}

int kp_fingerprint(struct kp_handle *handle, const char *device, char digest[65],
	struct kp_error *error)
{
	owned_calm calm = kp_calm_begin();
	owned_json *reply = NULL;
	struct kp_diag diag;

	if (kp_handle_is_forked(handle))
		return kp_handle_forked(error);
	json_t *asked = json_pack("{s:s*}", "device", device);
	int result =
		asked ? kp_attach_ask(handle->attach, "Fingerprint", asked, &reply, &diag)
		      : kp_diag_no_memory(&diag);
	json_decref(asked);
	if (result < 0)
		return kp_fault(error, &diag);
	const char *text = json_string_value(json_object_get(reply, "digest"));
	if (!text || strlen(text) != 64)
		return kp_fault_say(error, KP_UNAVAILABLE,
			"plugind's fingerprint is none: are it and libkplug of one "
			"version?");
	memcpy(digest, text, 65);
	return KP_OK;
}
