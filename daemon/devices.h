/* SPDX-License-Identifier: MIT */
/*
 * What is known of this machine's devices beyond what sysfs says: asked of the GPUs'
 * driver by a worker, which may hang; kept in the daemon's platform. One question at a
 * time. Where sysfs shows no GPU whose driver can be asked, no worker is started.
 */
#ifndef KP_DAEMON_DEVICES_H
#define KP_DAEMON_DEVICES_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "lib/platform/topology.h"

struct daemon;
struct devices;
struct kp_device_facts;

struct devices *devices_new(struct daemon *daemon);

/*
 * Looks at sysfs again, in libuv's pool; then, with `ask` or where other GPUs or another
 * driver are there, asks the driver. The number is what devices_has_done is asked for.
 */
uint64_t devices_look(struct devices *devices, bool ask);
bool devices_has_done(const struct devices *devices, uint64_t number);

/* Asks the driver of the GPUs that the daemon's start has found. */
void devices_start(struct devices *devices);
/* Has that question been answered, or come to nothing? */
bool devices_has_settled(const struct devices *devices);

/* What the last question was answered, for devices_json.c; members may be NULL. */
struct devices_answer {
	const json_t *driver;	    /* {"version", "cuda"} */
	const json_t *gpus;	    /* by address, as the worker reports them */
	const char *code, *message; /* why there is no answer, or NULL */
	int64_t at;		    /* seconds since 1970 */
	const struct kp_topology *topology;
	bool asking;
};
struct devices_answer devices_answer(const struct devices *devices);

/* The parameters of the reply of Devices: all devices, or the one whose id, address or
 * UUID is `only`. New reference; NULL when memory is exhausted. */
json_t *devices_json(const struct daemon *daemon, const char *only);

/* Why something of a device is not known, as a Reason; NULL: nothing is missing. */
json_t *devices_reason_json(
	const struct daemon *daemon, const struct kp_device_facts *device);

/* No further look or question. NULL is fine. */
void devices_close(struct devices *devices);
/* Once the loop has ended. NULL is fine. */
void devices_free(struct devices *devices);

#endif
