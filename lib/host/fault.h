/* SPDX-License-Identifier: MIT */
/* What went wrong, as applications are told: a status and a sentence. */
#ifndef KP_LIB_HOST_FAULT_H
#define KP_LIB_HOST_FAULT_H

#include "kplug/host.h"
#include "lib/base/diag.h"

/* The status that a code of ours comes to. */
int kp_fault_status(const char *code);

/* Fills *error (NULL is fine) from what a function of lib said; returns the status. */
int kp_fault(struct kp_error *error, const struct kp_diag *diag);
/* The same with a status and a sentence of one's own. */
int kp_fault_say(struct kp_error *error, int status, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

#endif
