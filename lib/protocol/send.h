/* SPDX-License-Identifier: MIT */
/* send(2) with descriptors. Knows no message. */
#ifndef KP_LIB_SEND_H
#define KP_LIB_SEND_H

#include <stddef.h>
#include <sys/types.h>

enum { KP_SEND_FDS = 64 };

/*
 * As much as the socket takes now, the descriptors (at most KP_SEND_FDS, they stay the
 * caller's) with its first byte. As sendmsg(2), without a signal and without waiting.
 */
ssize_t kp_send(int socket, const void *bytes, size_t size, const int *fds, size_t n_fds);

#endif
