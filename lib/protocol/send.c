/* SPDX-License-Identifier: MIT */
/* SCM_RIGHTS, put together. */
#include "lib/protocol/send.h"

#include <assert.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>

ssize_t kp_send(int socket, const void *bytes, size_t size, const int *fds, size_t n_fds)
{
	union {
		char bytes[CMSG_SPACE(KP_SEND_FDS * sizeof(int))];
		struct cmsghdr align;
	} control = {.bytes = {0}};
	struct iovec iov = {(void *)(uintptr_t)bytes, size};
	struct msghdr message = {.msg_iov = &iov, .msg_iovlen = 1};
	size_t length = n_fds * sizeof(int);

	assert(n_fds <= KP_SEND_FDS);
	if (n_fds > 0) {
		message.msg_control = control.bytes;
		message.msg_controllen = CMSG_SPACE(length);
		struct cmsghdr *header = CMSG_FIRSTHDR(&message);
		assert(header);
		header->cmsg_level = SOL_SOCKET;
		header->cmsg_type = SCM_RIGHTS;
		header->cmsg_len = CMSG_LEN(length);
		memcpy(CMSG_DATA(header), fds, length);
	}
	return sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
}
