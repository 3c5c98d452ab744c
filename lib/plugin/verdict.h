/* SPDX-License-Identifier: MIT */
/*
 * The result of a plugin's way through store, identify and probe: written by the
 * pipeline (or read from its cache), applied to the registry.
 */
#ifndef KP_LIB_VERDICT_H
#define KP_LIB_VERDICT_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/diag.h"

/* In the order in which `list` counts them. */
enum kp_state {
	KP_STATE_PENDING,
	KP_STATE_ACTIVE,
	KP_STATE_DISABLED,
	KP_STATE_MASKED,
	KP_STATE_REJECTED, /* what it is */
	KP_STATE_FAILED,   /* what it did */
	KP_STATE_QUARANTINED,
	KP_STATE_MISSING, /* the library is not there */
	KP_STATES
};

const char *kp_state_name(enum kp_state state);
bool kp_state_parse(const char *name, enum kp_state *state);

/* What one kernel answered in the probe. */
struct kp_availability {
	char *kernel;
	bool available;
	char code[40]; /* "unavailable", "missing_library", ...; "" when available */
	char *message;
};

/*
 * state is KP_STATE_ACTIVE, REJECTED, FAILED or MISSING. code and message say
 * why when it is not active. note is set whenever a valid one was found, even
 * when the plugin then failed. Everything owned.
 */
struct kp_verdict {
	enum kp_state state;
	char code[48];
	char *message;
	char *stored;	  /* path of the library inside the store, or NULL */
	char digest[65];  /* SHA-256 of the library file, or "" */
	char closure[65]; /* of all files of the entry, or "" */
	int64_t bytes;
	json_t *note;	   /* the note's text, parsed; or NULL */
	json_t *elf;	   /* what identify saw, as `info` shows it; or NULL */
	json_t *signature; /* the Signature of the interface; or NULL */
	json_t *evidence;  /* the Evidence of the interface; or NULL */
	struct kp_diags warnings;
	json_t *codes; /* owns the codes of warnings that were read from JSON; or NULL */
	double probe_ms; /* identify and probe; negative: from the cache */
	bool retry;	 /* worker_lost: nobody's blame, try again */
	size_t n_kernels;
	struct kp_availability *kernels;
};

void kp_verdict_finish(struct kp_verdict *verdict);

/*
 * For the cache: all of it, and back; NULL when memory is exhausted or probe_ms is
 * no number. Reading back leaves probe_ms as it was written: who reads a cache
 * makes it negative. Warnings that were read back live as long as the verdict
 * (or `codes`). Code bad_cache.
 */
json_t *kp_verdict_json(const struct kp_verdict *verdict);
int kp_verdict_from_json(const json_t *value, struct kp_verdict *verdict,
	struct kp_diag *diag) __attribute__((warn_unused_result));

#endif
