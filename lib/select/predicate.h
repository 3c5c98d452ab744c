/* SPDX-License-Identifier: MIT */
/*
 * What a kernel must pass to be eligible, one row a predicate: the same rows
 * answer "does it pass?" and "why not?".
 *
 * Codes of exclusions, in the order of the rows (stable):
 *   excluded_by_request   left out by `without`
 *   plugin_disabled, kernel_disabled, plugin_failed, plugin_rejected,
 *   quarantined, pending, plugin_masked, plugin_missing   its state
 *   unavailable           the probe said no
 *   and what an overlay of the request says (lib/host/outlook.h)
 *   signature             none of its signatures is the one asked for
 *   solution, layout, missing_feature   what the request demands
 *   device_kind, vendor, machine, min_arch, max_arch, arch_unknown,
 *   missing_device_feature   of the device that comes closest; machine: its library
 *                            is for CPUs of another vendor
 *   family_revision       written for an earlier revision than what is asked
 *   trait, trait_required, shape   a value that it does not accept, or lacks
 */
#ifndef KP_LIB_PREDICATE_H
#define KP_LIB_PREDICATE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "lib/select/query.h"

enum { KP_EXCLUSIONS = 48 };

/* code and source are static. More than KP_EXCLUSIONS are not kept. */
struct kp_exclusion {
	const char *code, *source;
	char required[256], actual[256];
};
struct kp_exclusions {
	size_t count;
	struct kp_exclusion items[KP_EXCLUSIONS];
};

/* Groups of predicates that can be left aside. */
enum kp_skip {
	KP_SKIP_STATE = 1,     /* disabled, failed, quarantined, unavailable */
	KP_SKIP_SIGNATURE = 2, /* known to be equal */
	KP_SKIP_FIT = 4,       /* device, traits, shape: what force leaves aside */
};

/*
 * Is the kernel eligible? With `out` every predicate is looked at and all that
 * exclude it are added. *device (may be NULL) is the index in query->devices
 * that passed, SIZE_MAX for none.
 */
bool kp_predicate_check(const struct kp_query *query, size_t kernel, unsigned skip,
	struct kp_exclusions *out, size_t *device);

/*
 * Kernels that are alike in profile, traits and their library's machine fit a request
 * alike: what became of the first of them is asked once. For one query; zero it first.
 */
enum { KP_FITS = 128 };
struct kp_fits {
	struct kp_fit {
		uint32_t like; /* plus 1; 0: nothing is known */
		bool fits;
		unsigned char device;
	} items[KP_FITS];
};

static inline struct kp_fit *kp_fit_of(struct kp_fits *known, size_t like)
{
	return &known->items[like * 0x9e3779b1U >> 16 & (KP_FITS - 1)];
}
/* Is it known that no kernel like this one passes? */
static inline bool kp_fits_exclude(struct kp_fits *known, size_t like)
{
	const struct kp_fit *fit = kp_fit_of(known, like);
	return fit->like == like + 1 && !fit->fits;
}

/*
 * kp_predicate_check with KP_SKIP_SIGNATURE and no `out`. *fits says whether all but
 * state and `without` passes.
 */
bool kp_predicate_passes(const struct kp_query *query, struct kp_fits *known,
	size_t kernel, size_t like, bool *fits, size_t *device);

/*
 * Is it off because somebody or something turned it off (disabled, failed,
 * quarantined, unavailable), not because of what it is? Then *code and *message
 * say why.
 */
bool kp_predicate_is_off(const struct kp_table *table, size_t kernel, const char **code,
	const char **message);
/* Does the request's overlay turn it off? why may be NULL. */
bool kp_predicate_is_overlaid(
	const struct kp_query *query, size_t kernel, struct kp_off *why);

/* What the rows see. */
struct kp_subject {
	size_t index, device;
	const unsigned char *kernel, *profile;
};
bool kp_predicate_device(const struct kp_query *query, struct kp_subject *subject,
	struct kp_exclusions *out);
bool kp_predicate_role(const struct kp_query *query, struct kp_subject *subject,
	struct kp_exclusions *out);
bool kp_predicate_revision(const struct kp_query *query, struct kp_subject *subject,
	struct kp_exclusions *out);
bool kp_predicate_traits(const struct kp_query *query, struct kp_subject *subject,
	struct kp_exclusions *out);

/* The next free exclusion; NULL when there is no room. */
struct kp_exclusion *kp_exclude(
	struct kp_exclusions *out, const char *code, const char *source);
/* The Exclusions of the interface, a new array; NULL for want of memory. */
json_t *kp_exclusions_json(const struct kp_exclusions *exclusions);
/* "a, b" of a list of texts, "none" for an empty one; returns `text`. */
const char *kp_predicate_join(
	const struct kp_table *table, struct kp_list list, char *text, size_t size);

#endif
