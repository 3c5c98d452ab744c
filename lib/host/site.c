/* SPDX-License-Identifier: MIT */
/* Making a site: what is said is read once, by the same reader as requests of people. */
#include "lib/host/site.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/json.h"
#include "lib/base/owned.h"
#include "lib/base/text.h"
#include "lib/host/adopt.h"
#include "lib/host/calm.h"
#include "lib/host/fault.h"
#include "lib/host/named.h"
#include "lib/select/query.h"
#include "lib/table/table_read.h"

static const int64_t EXTENT_MOST = INT64_C(1) << 40;

/* ---- ranges ------------------------------------------------------------------------ */

static int find_dim(
	const struct kp_family *family, const char *name, struct kp_diag *diag)
{
	const json_t *other = json_object_get(family->aliases, name);
	char offer[KP_TEXT_OFFER];

	if (json_is_string(other))
		name = json_string_value(other);
	for (size_t i = 0; i < family->dims.count; i++)
		if (strcmp(family->dims.items[i], name) == 0)
			return (int)i;
	return kp_diag_set(diag, "unknown_dim", name, "%s has no dim %s%s",
		family->operation, name,
		kp_text_offer(
			name, family->dims.items, family->dims.count, "it has", offer));
}

static int read_range(
	struct kp_inner_site *site, const struct kp_range *range, struct kp_diag *diag)
{
	int dim = range->dim ? find_dim(&site->contract->family, range->dim, diag)
			     : kp_diag_set(diag, "unknown_dim", NULL,
				       "a range of the site names no dim");

	if (dim < 0)
		return -1;
	if (range->least < 0 || range->least > range->most || range->most > EXTENT_MOST)
		return kp_diag_set(diag, "bad_extent", range->dim,
			"the range of %s is [%lld, %lld]; 0 <= least <= most <= 2^40 is "
			"needed",
			range->dim, (long long)range->least, (long long)range->most);
	site->least[dim] = range->least;
	site->most[dim] = range->most;
	site->has_range[dim] = site->has_ranges = true;
	return 0;
}

static int read_ranges(struct kp_inner_site *site, const struct kp_site_options *options,
	struct kp_diag *diag)
{
	for (size_t i = 0; i < KP_FAMILY_DIMS; i++)
		site->most[i] = EXTENT_MOST;
	if (options->n_ranges > 0 && !site->contract->described)
		return kp_diag_set(diag, "unknown_dim", options->operation,
			"no family describes %s: it has no dims", options->operation);
	for (uint32_t i = 0; i < options->n_ranges; i++)
		if (read_range(site, &options->ranges[i], diag) < 0)
			return -1;
	return 0;
}

/* ---- the request ------------------------------------------------------------------- */

static json_t *request_json(const struct kp_site_options *options,
	const struct kp_open_device *device, json_t *traits)
{
	json_t *root = json_pack("{s:s, s:s*, s:s*, s:s*, s:s*, s:s, s:o}", "operation",
		options->operation, "signature", options->signature, "solution",
		options->solution, "override", options->override_with, "label",
		options->label, "device", device->wanted, "traits", traits);
	return root;
}

static int read_request(struct kp_inner_site *site, const struct kp_sight *sight,
	const struct kp_site_options *options, struct kp_diag *diag)
{
	json_t *traits = kp_named_json(site, options, diag);
	owned_json *root = traits ? request_json(options, site->device, traits) : NULL;

	if (!traits)
		return -1;
	if (!root)
		return kp_diag_no_memory(diag);
	/* Read where it stays: its signature is text inside it. */
	return kp_request_from_json(&sight->table, root, &site->request, diag);
}

static int read_signature(struct kp_inner_site *site, struct kp_diag *diag)
{
	const struct kp_family *family = &site->contract->family;
	const char *text = site->request.signature;

	if (!site->contract->described)
		return 0;
	if (!text)
		text = family->signature;
	if (!text)
		return kp_diag_set(diag, "no_signature", family->operation,
			"%s has no default signature: the site must have one",
			family->operation);
	if (kp_signature_parse(text, &site->signature, diag) < 0 ||
		kp_family_check_signature(family, &site->signature, diag) < 0)
		return -1;
	kp_check_init(&site->check, family, &site->signature, &site->device->device);
	return 0;
}

/* ---- making ------------------------------------------------------------------------ */

int kp_site_unknown(
	const struct kp_sight *sight, const char *operation, struct kp_diag *diag)
{
	const struct kp_request request = {.operation = operation, .any_signature = true};

	free(kp_query_new(&sight->table, &request, diag));
	return -1;
}

static int find_contract(struct kp_inner_site *site, const struct kp_sight *sight,
	const char *operation, struct kp_diag *diag)
{
	struct kp_handle *handle = site->handle;

	if (kp_table_operation(&sight->table, operation) == SIZE_MAX)
		return kp_site_unknown(sight, operation, diag);
	site->contract =
		kp_contract_get(&handle->contracts, handle->attach, operation, diag);
	return site->contract ? 0 : -1;
}

static int find_device(struct kp_inner_site *site, uint32_t id, struct kp_diag *diag)
{
	site->device = kp_handle_device(site->handle, id);
	if (site->device)
		return 0;
	return kp_diag_set(diag, "unknown_device", NULL,
		"the site's device is %u, which kp_device_add has not given out", id);
}

static int fill(struct kp_inner_site *site, const struct kp_sight *sight,
	const struct kp_site_options *options, struct kp_diag *diag)
{
	site->flags = options->flags;
	kp_guard_init(site, options);
	site->label = strdup(options->label ? options->label : "");
	if (!site->label ||
		!kp_environment_override(options->operation, &site->environment))
		return kp_diag_no_memory(diag);
	if (find_device(site, options->device, diag) < 0 ||
		find_contract(site, sight, options->operation, diag) < 0 ||
		read_ranges(site, options, diag) < 0 ||
		read_request(site, sight, options, diag) < 0)
		return -1;
	return read_signature(site, diag);
}

static void site_finish(struct kp_inner_site *site)
{
	bool lost = site->device && kp_device_is_lost(site->device);

	kp_guard_finish(site);
	kp_rungs_free(site, lost);
	while (site->ladders) {
		struct kp_ladder *next = site->ladders->next;
		kp_ladder_free(site->ladders);
		site->ladders = next;
	}
	kp_sight_drop(site->sight);
	kp_request_finish(&site->request);
	(void)pthread_mutex_destroy(&site->lock);
	free(site->stable_out);
	free(site->environment);
	free(site->label);
	free(site);
}

static void enter(struct kp_inner_site *site)
{
	struct kp_handle *handle = site->handle;

	(void)pthread_mutex_lock(&handle->sites_lock);
	site->link = &handle->sites;
	site->next = handle->sites;
	if (site->next)
		site->next->link = &site->next;
	handle->sites = site;
	(void)pthread_mutex_unlock(&handle->sites_lock);
}

static int check_options(const struct kp_site_options *options, struct kp_diag *diag)
{
	const unsigned known = KP_SITE_STABLE | KP_SITE_CHECKED | KP_SITE_CAPTURED;

	if (!options->operation)
		return kp_diag_set(diag, "missing_key", "operation",
			"kp_site_options.operation is NULL; set size with KP_SIZED");
	if (options->flags & 0xffffu & ~known)
		return kp_diag_set(diag, "unknown_flag", "flags",
			"kp_site_options.flags has 0x%x, this libkplug knows no such "
			"flag",
			options->flags);
	return 0;
}

static struct kp_inner_site *site_new(struct kp_handle *handle)
{
	struct kp_inner_site *site = calloc(1, sizeof(*site));

	if (!site)
		return NULL;
	site->handle = handle;
	site->front.now = handle->at_step ? &handle->step : &handle->control->generation;
	site->front.seen = site->decided = KP_SITE_TOUCHED;
	(void)pthread_mutex_init(&site->lock, NULL);
	return site;
}

int kp_site_new(struct kp_handle *handle, const struct kp_site_options *from,
	struct kp_site **out, struct kp_error *error)
{
	owned_calm calm = kp_calm_begin();
	struct kp_site_options options = {.size = 0};
	struct kp_diag diag;

	if (kp_handle_is_forked(handle))
		return kp_handle_forked(error);
	memcpy(&options, from,
		from->size < sizeof(options) ? from->size : sizeof(options));
	if (check_options(&options, &diag) < 0)
		return kp_fault(error, &diag);
	struct kp_sight *sight = kp_handle_sight(handle, KP_AS_PATIENCE_ALLOWS, &diag);
	if (!sight)
		return kp_fault(error, &diag);
	struct kp_inner_site *site = site_new(handle);
	int result = site ? fill(site, sight, &options, &diag) : kp_diag_no_memory(&diag);
	if (result == 0)
		result = kp_adopt_first(site, sight, &diag);
	kp_sight_drop(sight);
	if (result < 0) {
		if (site)
			site_finish(site);
		return kp_fault(error, &diag);
	}
	enter(site);
	*out = &site->front;
	return KP_OK;
}

void kp_site_free(struct kp_site *front)
{
	owned_calm calm = kp_calm_begin();
	struct kp_inner_site *site = front ? kp_site_inner(front) : NULL;

	if (!site || kp_handle_is_forked(site->handle))
		return;
	(void)pthread_mutex_lock(&site->handle->sites_lock);
	*site->link = site->next;
	if (site->next)
		site->next->link = site->link;
	(void)pthread_mutex_unlock(&site->handle->sites_lock);
	site_finish(site);
}
