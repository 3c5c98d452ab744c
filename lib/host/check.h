/* SPDX-License-Identifier: MIT */
/*
 * What lib/family/argument.h asks of a call's tensors, worked out once for a site: a call
 * is then integers compared. Whatever does not pass here is looked at there, which knows
 * the words.
 */
#ifndef KP_LIB_HOST_CHECK_H
#define KP_LIB_HOST_CHECK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kplug/plugin.h"
#include "lib/base/diag.h"
#include "lib/family/family.h"
#include "lib/family/format.h"

enum { KP_CHECK_ALL = KP_FAMILY_ROLES * KP_FAMILY_RANK };

struct kp_check_role {
	struct kp_dtype dtype;
	uint8_t rank;
	bool optional, writes;
	bool absent;		/* the signature does not have it */
	bool unknown;		/* nor its type: the slow way looks */
	bool on_cpu, on_device; /* where its memory may be */
	/* Index of a dim, or -1 and the number. */
	int8_t dims[KP_FAMILY_RANK];
	int64_t numbers[KP_FAMILY_RANK];
	uint32_t apart; /* a bit a later role whose memory must be another */
	uint8_t bytes;	/* of an element */
};

struct kp_check {
	const struct kp_family *family;
	const struct kp_signature *signature;
	struct kp_place place; /* where tensors of the device are */
	size_t n_roles, n_dims;
	bool unsupported; /* a role that repeats */
	bool has_presets;
	/* Dims that no role has: the extent of another dim, or a number; -1: none. */
	int8_t preset_dim[KP_FAMILY_DIMS];
	int64_t preset[KP_FAMILY_DIMS];
	struct kp_check_role roles[KP_FAMILY_ROLES];
};

/* Family and signature are borrowed. */
void kp_check_init(struct kp_check *check, const struct kp_family *family,
	const struct kp_signature *signature, const struct kp_device *device);

/*
 * Codes of kp_arguments_check; wrong_device also where a tensor of the device is on
 * another one. *dims has an extent a dim of the family, -1 where it is not known.
 */
int kp_check_tensors(const struct kp_check *check, const struct kp_tensor *const *tensors,
	size_t count, int64_t dims[KP_FAMILY_DIMS], struct kp_diag *diag)
	__attribute__((warn_unused_result));

/* The dims alone, of a call that is right. */
void kp_check_dims(const struct kp_check *check, const struct kp_tensor *const *tensors,
	size_t count, int64_t dims[KP_FAMILY_DIMS]);

#endif
