/* SPDX-License-Identifier: MIT */
/* What applications tell of themselves (struct kp_told), as Client of the interface. */
#include <string.h>
#include <unistd.h>

#include "daemon/application/attached_client.h"
#include "daemon/application/control.h"
#include "daemon/daemon.h"
#include "lib/base/json.h"
#include "lib/base/text.h"
#include "lib/host/control.h"
#include "lib/table/table_read.h"

_Static_assert((int)KP_HELD_KERNEL == (int)KP_KERNEL_ID_BYTES, "every id has room");

/* Whatever is there is taken: short reads leave zeroes, texts are ended. */
static void read_told(const struct application *application, struct kp_told *told)
{
	memset(told, 0, sizeof(*told));
	if (pread(application->slots, told, sizeof(*told), KP_SLOTS_BYTES) < 0)
		told->adopted = 0;
	for (size_t i = 0; i < KP_HELD; i++) {
		told->held[i].what[KP_HELD_WHAT - 1] = '\0';
		told->held[i].kernel[KP_HELD_KERNEL - 1] = '\0';
	}
}

/*
 * The table that its calls choose from: what is off is obeyed without it. One that does
 * not say which chooses from what it obeys.
 */
static uint64_t table_of(const struct kp_told *told)
{
	return told->view && told->view < told->adopted ? told->view : told->adopted;
}

static json_int_t bounded(uint64_t value)
{
	return value > INT64_MAX ? INT64_MAX : (json_int_t)value;
}

static bool concerns(const char *kernel, const char *name)
{
	return !name || kp_text_is_below(kernel, name);
}

/* *off is set where one of them must not run. */
static json_t *holds_json(const struct application *application,
	const struct kp_told *told, const char *name, bool *off)
{
	const struct control *control = application->all->daemon->control;
	json_t *array = json_array();

	for (size_t i = 0; i < KP_HELD; i++) {
		const struct kp_held *held = &told->held[i];
		if (held->count == 0 || !concerns(held->kernel, name))
			continue;
		bool is_off = control_is_off(control, held->kernel);
		*off |= is_off;
		(void)json_array_append_new(
			array, json_pack("{s:o, s:o, s:I, s:b}", "kernel",
				       kp_json_clean_string(held->kernel), "what",
				       kp_json_clean_string(held->what), "count",
				       bounded(held->count), "off", is_off));
	}
	return array;
}

static const char *state_of(
	const struct application *application, const struct kp_told *told, bool off)
{
	uint64_t generation = application->all->daemon->generation.number;

	return off			     ? "held"
	       : told->adopted >= generation ? "obeyed"
	       : application->behind	     ? "behind"
					     : "pending";
}

static json_t *client_json(const struct application *application, const char *name)
{
	struct kp_told told;
	bool off = false;

	read_told(application, &told);
	json_t *holds = holds_json(application, &told, name, &off);
	return json_pack("{s:s, s:i, s:I, s:I, s:I, s:I, s:s, s:o, s:I}", "name",
		application->name, "pid", (int)application->pid, "uid",
		(json_int_t)application->uid, "since", (json_int_t)application->since,
		"generation", bounded(told.adopted), "table", bounded(table_of(&told)),
		"state", state_of(application, &told, off), "holds", holds, "more",
		bounded(told.more));
}

static json_t *all_json(const struct attached *attached, const char *name)
{
	json_t *array = json_array();

	for (const struct application *at = attached->first; at; at = at->next)
		if (at->call && json_array_append_new(array, client_json(at, name)) < 0) {
			json_decref(array);
			return NULL;
		}
	return array;
}

uint64_t attached_oldest(const struct attached *attached)
{
	uint64_t oldest = UINT64_MAX;

	for (const struct application *at = attached->first; at; at = at->next) {
		struct kp_told told;
		read_told(at, &told);
		uint64_t table = table_of(&told);
		uint64_t own = table > at->began ? table : at->began;
		if (own < oldest)
			oldest = own;
	}
	return oldest;
}

json_t *attached_json(const struct attached *attached)
{
	return all_json(attached, NULL);
}

json_t *attached_add_all(struct daemon *daemon, const char *name, json_t *reply)
{
	(void)name;
	return attached_add(daemon, NULL, reply);
}

json_t *attached_add(struct daemon *daemon, const char *name, json_t *reply)
{
	json_t *clients = all_json(daemon->attached, name);

	if (reply && clients)
		(void)json_object_set(reply, "clients", clients);
	json_decref(clients);
	return reply;
}
