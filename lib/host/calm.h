/* SPDX-License-Identifier: MIT */
/*
 * Threads that are not cancelled (pthread_cancel) while they have a lock: it would stay
 * theirs. What waits, asks, logs and opens files are cancellation points.
 */
#ifndef KP_LIB_HOST_CALM_H
#define KP_LIB_HOST_CALM_H

#include <pthread.h>

static inline int kp_calm_begin(void)
{
	int before = PTHREAD_CANCEL_ENABLE;

	(void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
	return before;
}

static inline void kp_calm_end(const int *before)
{
	(void)pthread_setcancelstate(*before, NULL);
}

/* `owned_calm calm = kp_calm_begin();`: until the end of the block. */
#define owned_calm __attribute__((cleanup(kp_calm_end), unused)) int

#endif
