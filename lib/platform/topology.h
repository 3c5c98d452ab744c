/* SPDX-License-Identifier: MIT */
/* Cores, threads and caches of this machine's CPUs, from sysfs. Knows no device. */
#ifndef KP_LIB_TOPOLOGY_H
#define KP_LIB_TOPOLOGY_H

#include <stddef.h>
#include <stdint.h>

enum { KP_CACHES = 16, KP_CPUS = 8192 };

struct kp_cache {
	unsigned level;
	char kind[16];	    /* "data", "instruction", "unified" */
	uint64_t bytes;	    /* of one */
	unsigned shared_by; /* threads that have one in common */
	unsigned count;	    /* how many there are */
};

/* 0 where it is not known. Caches in order of level, then kind. */
struct kp_topology {
	unsigned cores, threads; /* that are online */
	size_t n_caches;
	struct kp_cache caches[KP_CACHES];
};

/* Reads `root`/sys/devices/system/cpu ("": this machine's). Blocks on files. */
void kp_topology_read(const char *root, struct kp_topology *topology);

#endif
