/* SPDX-License-Identifier: MIT */
/* Packets with descriptors, between daemon, launcher and keepers. */
#ifndef KP_WORKER_PACKET_H
#define KP_WORKER_PACKET_H

#include <stddef.h>

#include "daemon/worker/process.h"

/* A job's text, where it reports, where it prints; then what it is about. */
enum {
	PACKET_FDS_LEAST = 3,
	PACKET_FDS = PACKET_FDS_LEAST + PROCESS_FDS_MOST,
	PACKET_BYTES = 256,
};

struct packet {
	char text[PACKET_BYTES];
	size_t size;
	int fds[PACKET_FDS];
	size_t n_fds;
};

/* Fills *packet, whose descriptors are then owned. 1; 0 at the end; -1: try again. */
int packet_receive(int socket, struct packet *packet);

/* Sends it whole, without waiting; the descriptors stay the caller's. 0 or -1. */
int packet_send(int socket, const struct packet *packet);

void packet_close(struct packet *packet);

#endif
