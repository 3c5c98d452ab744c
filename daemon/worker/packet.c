/* SPDX-License-Identifier: MIT */
/* recvmsg and sendmsg of packets. */
#include "daemon/worker/packet.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "lib/base/file.h"
#include "lib/protocol/send.h"

union control {
	struct cmsghdr header;
	char bytes[CMSG_SPACE(sizeof(int) * PACKET_FDS)];
};

static void take_fds(struct msghdr *header, struct packet *packet)
{
	for (struct cmsghdr *at = CMSG_FIRSTHDR(header); at;
		at = CMSG_NXTHDR(header, at)) {
		if (at->cmsg_level != SOL_SOCKET || at->cmsg_type != SCM_RIGHTS)
			continue;
		size_t n = (at->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		packet->n_fds = n < PACKET_FDS ? n : PACKET_FDS;
		memcpy(packet->fds, CMSG_DATA(at), packet->n_fds * sizeof(int));
	}
}

int packet_receive(int socket, struct packet *packet)
{
	union control control;
	struct iovec part = {.iov_base = packet->text, .iov_len = sizeof(packet->text)};
	struct msghdr header = {.msg_iov = &part,
		.msg_iovlen = 1,
		.msg_control = control.bytes,
		.msg_controllen = sizeof(control.bytes)};
	packet->n_fds = 0;
	ssize_t n = recvmsg(socket, &header, MSG_CMSG_CLOEXEC);
	if (n < 0)
		return errno == EINTR || errno == EAGAIN ? -1 : 0;
	packet->size = (size_t)n;
	take_fds(&header, packet);
	return n > 0;
}

int packet_send(int socket, const struct packet *packet)
{
	return kp_send(socket, packet->text, packet->size, packet->fds, packet->n_fds) < 0
		       ? -1
		       : 0;
}

void packet_close(struct packet *packet)
{
	for (size_t i = 0; i < packet->n_fds; i++)
		kp_file_close(&packet->fds[i]);
	packet->n_fds = 0;
}
