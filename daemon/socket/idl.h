/* SPDX-License-Identifier: MIT */
/*
 * The interface description, read: what the parameters of each method are. It
 * is the one source of what is checked; knows no handler.
 */
#ifndef KP_DAEMON_IDL_H
#define KP_DAEMON_IDL_H

#include <jansson.h>
#include <stdbool.h>

#include "lib/base/diag.h"

struct idl;

/* Code bad_interface, with the line; no_memory. */
struct idl *idl_new(const char *text, struct kp_diag *diag);
void idl_free(struct idl *idl);

/* Is it in the interface? */
bool idl_has_method(const struct idl *idl, const char *method);

/*
 * Are these the parameters of the method? Codes unknown_key, wrong_type, missing_key; the
 * object is the path (`request.shape.m`). An absent member is null.
 */
int idl_check_call(const struct idl *idl, const char *method, const json_t *parameters,
	struct kp_diag *diag) __attribute__((warn_unused_result));

#endif
