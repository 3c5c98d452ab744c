/* SPDX-License-Identifier: MIT */
/* Which kplug this is. */
#ifndef KP_LIB_BUILD_H
#define KP_LIB_BUILD_H

extern const char kp_build_version[]; /* "0.1.0" */
/* Grows when the interface does; what was in it stays. */
extern const int kp_build_protocol;

#endif
