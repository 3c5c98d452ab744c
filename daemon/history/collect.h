/* SPDX-License-Identifier: MIT */
/*
 * Takes out of the store what nothing refers to any more: no plugin, no generation that
 * is kept, no rollback, no view that an application has. Looks now and then, in the pool,
 * and only while no plugin is on its way and no worker runs. Belongs to the loop thread.
 */
#ifndef KP_DAEMON_COLLECT_H
#define KP_DAEMON_COLLECT_H

#include <jansson.h>
#include <stdint.h>

struct collector;
struct daemon;

/* NULL for want of memory. */
struct collector *collector_new(struct daemon *daemon);
/* What is under way is finished. NULL is fine in both. */
void collector_close(struct collector *collector);
void collector_free(struct collector *collector);

/* Something has changed: it looks in a while. */
void collector_look(struct collector *collector);

/* The Store of the interface, a new reference; null: not looked at yet. */
json_t *collector_json(const struct collector *collector);
/* Bytes and entries of the store; -1: not known yet. */
int64_t collector_bytes(const struct collector *collector);
int64_t collector_entries(const struct collector *collector);

#endif
