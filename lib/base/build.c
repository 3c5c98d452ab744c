/* SPDX-License-Identifier: MIT */
/* The only object that is another one in another version. */
#include "lib/base/build.h"

const char kp_build_version[] = KP_VERSION;
const int kp_build_protocol = KP_PROTOCOL;
