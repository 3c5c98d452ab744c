/* SPDX-License-Identifier: MIT */
/*
 * One call at a time, of a kernel that may be left in any way: by a jump, an exception or
 * the end of its thread. Knows no kernel.
 */
#ifndef KP_LIB_HOST_SERIAL_H
#define KP_LIB_HOST_SERIAL_H

#include <pthread.h>

/*
 * Ready for use, also in the place of one that threads of the parent had when it forked.
 * Destroyed by pthread_mutex_destroy. -1: no memory.
 */
int kp_serial_init(pthread_mutex_t *serial) __attribute__((warn_unused_result));

/*
 * Waits until no other thread is inside. One that has ended there, and this one where it
 * never came back from a call, are inside no more.
 */
void kp_serial_enter(pthread_mutex_t *serial);
void kp_serial_leave(pthread_mutex_t *serial);

#endif
