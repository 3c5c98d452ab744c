/* SPDX-License-Identifier: MIT */
/* Between the files of lib/registry/decisions*.c: copies and ends of each kind of
 * decision. */
#ifndef KP_LIB_DECISIONS_KIND_H
#define KP_LIB_DECISIONS_KIND_H

#include "lib/registry/decisions.h"

/* Adds those of `from`. -1: memory. */
int kp_decisions_copy_pins(const struct kp_decisions *from, struct kp_decisions *to);
int kp_decisions_copy_rules(const struct kp_decisions *from, struct kp_decisions *to);
int kp_decisions_copy_guards(const struct kp_decisions *from, struct kp_decisions *to);
int kp_decisions_copy_quarantined(
	const struct kp_decisions *from, struct kp_decisions *to);
int kp_decisions_copy_rollbacks(const struct kp_decisions *from, struct kp_decisions *to);
void kp_decisions_finish_rollbacks(struct kp_decisions *decisions);
void kp_decisions_finish_quarantined(struct kp_decisions *decisions);
void kp_decisions_finish_pins(struct kp_decisions *decisions);
void kp_decisions_finish_rules(struct kp_decisions *decisions);
void kp_decisions_finish_guards(struct kp_decisions *decisions);

/* Replaces an owned text; *changed is set when it differs. -1: memory. */
int kp_decisions_replace(char **text, const char *wanted, bool *changed)
	__attribute__((warn_unused_result));

#endif
