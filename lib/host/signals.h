/* SPDX-License-Identifier: MIT */
/*
 * Which kernel a fatal signal struck: handlers before the application's own stamp the
 * thread's slot, then pass on. One of the few places with state of the process: there is
 * one handler a signal. Knows no handle and no connection.
 */
#ifndef KP_LIB_HOST_SIGNALS_H
#define KP_LIB_HOST_SIGNALS_H

#include <stdbool.h>

#include "kplug/host.h"
#include "lib/host/control.h"

/*
 * From now on fatal signals are stamped, there and in slots: SEGV, BUS, FPE, ILL, ABRT,
 * but for those that are ignored. The first use installs the handlers. What was installed
 * before is called as the kernel would have called it; what is installed later is called
 * first and may pass on to ours. False: too many handles are open.
 */
bool kp_signals_begin(struct kp_told *told);
/*
 * The last one puts back what was there, where the handler is still ours; where another
 * one has taken its place, it may call ours, which only passes on then.
 */
void kp_signals_end(struct kp_told *told);

bool kp_signals_are_on(void);

/*
 * A stack for the handlers of this thread, so that an overflow of its own is told of;
 * NULL: none is needed, or it has one from the application.
 */
void *kp_signals_stack(void);
/* In the same thread, at its end. NULL is fine. */
void kp_signals_drop_stack(void *stack);

/* The thread goes on: somebody recovered (siglongjmp), and no crash it was. */
void kp_signals_recovered(struct kp_slot *slot);

/*
 * The number by which the handlers find a site's label, for kp_slot_labelled; 0: none, or
 * there are too many. Labels that are alike have one; they are kept.
 */
unsigned kp_signals_label(const char *label);

#endif
