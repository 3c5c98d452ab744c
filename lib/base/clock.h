/* SPDX-License-Identifier: MIT */
/* The clock that deadlines and measurements are made of. */
#ifndef KP_LIB_CLOCK_H
#define KP_LIB_CLOCK_H

#include <stdint.h>

/* Milliseconds of CLOCK_MONOTONIC. */
int64_t kp_clock_ms(void);
/* Its seconds, as exact as it is. */
double kp_clock_s(void);

#endif
