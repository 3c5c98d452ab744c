/* SPDX-License-Identifier: MIT */
/* The interface description as a string. */
#include "lib/protocol/interface.h"

const char kp_interface_text[] =
#include "interface.inc"
	;
