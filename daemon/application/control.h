/* SPDX-License-Identifier: MIT */
/*
 * The control page (lib/host/control.h): which kernels must not run, by number, and which
 * generation holds. Knows no client.
 */
#ifndef KP_DAEMON_CONTROL_H
#define KP_DAEMON_CONTROL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/diag.h"
#include "lib/table/table.h"

struct control;

/* boot: 32 hexadecimal digits of this start. Codes no_memory, io_error. */
struct control *control_new(const char *boot, struct kp_diag *diag);
void control_free(struct control *control); /* NULL is fine */

/* The memory file, sealed and open for reading; borrowed. */
int control_descriptor(const struct control *control);

/*
 * What the table says holds from now on, for every process that has the page: bits, then
 * view and generation. Kernels that are in no table any more must not run. Where memory
 * is exhausted new kernels get no bit: the view alone speaks for them. NULL is fine.
 */
void control_follow(
	struct control *control, const struct kp_table *table, uint64_t generation);

uint64_t control_boot(const struct control *control);
/*
 * The numbers of that table's kernels, in their order, valid until the next one; NULL for
 * want of memory.
 */
const uint32_t *control_numbers(const struct control *control, size_t *count);
/* The number of "plugin/kernel", KP_CONTROL_NONE where it has none. */
uint32_t control_number(const struct control *control, const char *kernel);
/* And back; NULL: not given out. */
const char *control_name(const struct control *control, uint32_t number);
/* Must not run now? Also one that nobody knows. */
bool control_is_off(const struct control *control, const char *kernel);

#endif
