/* SPDX-License-Identifier: MIT */
/* The clock that deadlines are made of. */
#ifndef KP_LIB_CLOCK_H
#define KP_LIB_CLOCK_H

#include <stdint.h>

/* Milliseconds of CLOCK_MONOTONIC. */
int64_t kp_clock_ms(void);

#endif
