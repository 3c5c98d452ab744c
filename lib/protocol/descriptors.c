/* SPDX-License-Identifier: MIT */
/* recvmsg(2) with SCM_RIGHTS. */
#include "lib/protocol/descriptors.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/base/file.h"

static bool keep(struct kp_descriptors *kept, const struct cmsghdr *header)
{
	size_t count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
	bool fits = count <= KP_DESCRIPTORS - kept->count;

	for (size_t i = 0; i < count; i++) {
		int fd;
		memcpy(&fd, CMSG_DATA(header) + i * sizeof(int), sizeof(int));
		if (fits)
			fd = kp_file_lift(fd);
		fits &= fd >= 0;
		if (fits)
			kept->items[kept->count++] = fd;
		else
			kp_file_close(&fd);
	}
	return fits;
}

ssize_t kp_descriptors_receive(
	struct kp_descriptors *kept, int socket, void *space, size_t size)
{
	union {
		char bytes[CMSG_SPACE(KP_DESCRIPTORS * sizeof(int))];
		struct cmsghdr align;
	} control;
	struct iovec iov = {space, size};
	struct msghdr message = {.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = control.bytes,
		.msg_controllen = sizeof(control.bytes)};
	ssize_t n = recvmsg(socket, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	bool fits = !(n >= 0 && message.msg_flags & MSG_CTRUNC);

	if (n < 0)
		return n;
	for (struct cmsghdr *c = CMSG_FIRSTHDR(&message); c; c = CMSG_NXTHDR(&message, c))
		if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS)
			fits &= keep(kept, c);
	if (fits)
		return n;
	errno = EPROTO;
	return -1;
}

int kp_descriptors_take(struct kp_descriptors *kept)
{
	if (kept->count == 0)
		return -1;
	int fd = kept->items[0];
	kept->count--;
	memmove(kept->items, kept->items + 1, kept->count * sizeof(kept->items[0]));
	return fd;
}

void kp_descriptors_finish(struct kp_descriptors *kept)
{
	while (kept->count > 0)
		(void)close(kept->items[--kept->count]);
}
