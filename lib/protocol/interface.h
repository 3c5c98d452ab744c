/* SPDX-License-Identifier: MIT */
/* The text of lib/org.kplug.Manager.varlink, compiled in. */
#ifndef KP_LIB_INTERFACE_H
#define KP_LIB_INTERFACE_H

extern const char kp_interface_text[];

#endif
