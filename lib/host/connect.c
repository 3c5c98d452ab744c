/* SPDX-License-Identifier: MIT */
/* One attachment: whom it is made with, and what comes of it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/file.h"
#include "lib/base/json.h"
#include "lib/base/owned.h"
#include "lib/base/place.h"
#include "lib/host/attach_state.h"
#include "lib/protocol/trust.h"

enum { FIRST_FDS = 3, SETTLE_MS = 5000 };

/* ---- dialling ------------------------------------------------------------------- */

int kp_attach_dial(const struct kp_attach *attach, const char *path, int timeout_ms,
	struct kp_client **client, uid_t *owner, struct kp_diag *diag)
{
	struct kp_client *dialled;
	(void)attach;

	if (kp_client_open(path, timeout_ms, &dialled, diag) < 0)
		return -1;
	if (kp_client_trust(dialled, owner, diag) < 0) {
		kp_client_close(dialled);
		return -1;
	}
	*client = dialled;
	return 0;
}

int kp_attach_refused(const struct kp_reply_message *reply, struct kp_diag *diag)
{
	const char *code = kp_json_text(reply->parameters, "code");
	const char *message = kp_json_text(reply->parameters, "message");
	const char *object = kp_json_text(reply->parameters, "object");

	if (!code || !message)
		return kp_diag_set(diag, "bad_reply", "plugind",
			"plugind answered %s; are it and this library of one version?",
			reply->error);
	return kp_diag_set(diag, kp_error_code(code), object, "%s", message);
}

/* ---- what comes ---------------------------------------------------------------- */

static int bad_reply(const char *what, struct kp_diag *diag)
{
	return kp_diag_set(diag, "bad_reply", "Attach",
		"what plugind answered to Attach lacks %s; are it and this library of "
		"one version?",
		what);
}

void kp_attach_tell_view(struct kp_attach *attach)
{
	if (attach->pages.told)
		__atomic_store_n(&attach->pages.told->view, attach->view->generation,
			__ATOMIC_RELEASE);
}

/* The newest from now on; takes the reference. The lock is held. */
static void set_view(struct kp_attach *attach, struct kp_view *view)
{
	struct kp_view *before = attach->view;

	/* A fork between the two finds one of them. */
	__atomic_store_n(&attach->view, view, __ATOMIC_RELEASE);
	kp_view_drop(before);
	/* The first one: nothing has been chosen from another. */
	if (!before)
		kp_attach_tell_view(attach);
	(void)pthread_cond_broadcast(&attach->newer);
}

int kp_attach_take(struct kp_attach *attach, const struct kp_reply_message *reply,
	struct kp_diag *diag)
{
	owned_fd fd = kp_client_take_fd(attach->client);
	struct kp_view *view;

	if (!json_is_integer(json_object_get(reply->parameters, "view")) || fd < 0)
		return bad_reply("a view", diag);
	if (kp_view_map(fd, &view, diag) < 0)
		return -1;
	kp_view_set_without(view, json_object_get(reply->parameters, "without"));
	(void)pthread_mutex_lock(&attach->lock);
	set_view(attach, view);
	(void)pthread_mutex_unlock(&attach->lock);
	return 0;
}

/* What a first reply has; descriptors are -1 once they were given away. */
struct first {
	int fds[FIRST_FDS];
	int view, control, slots; /* among them */
	const char *boot, *table;
	const json_t *without;
};

static void first_finish(struct first *first)
{
	for (int i = 0; i < FIRST_FDS; i++)
		kp_file_close(&first->fds[i]);
}

static int index_of(const json_t *parameters, const char *key)
{
	const json_t *value = json_object_get(parameters, key);
	json_int_t i = json_is_integer(value) ? json_integer_value(value) : -1;

	return i >= 0 && i < FIRST_FDS ? (int)i : -1;
}

static int read_first(struct kp_client *client, const struct kp_reply_message *reply,
	struct first *first, struct kp_diag *diag)
{
	const json_t *parameters = reply->parameters;
	int have = 0;

	*first = (struct first){.fds = {-1, -1, -1},
		.view = index_of(parameters, "view"),
		.control = index_of(parameters, "control"),
		.slots = index_of(parameters, "slots"),
		.boot = kp_json_text(parameters, "boot"),
		.table = kp_json_text(parameters, "table"),
		.without = json_object_get(parameters, "without")};
	while (have < FIRST_FDS && (first->fds[have] = kp_client_take_fd(client)) >= 0)
		have++;
	if (have == FIRST_FDS && first->view >= 0 && first->control >= 0 &&
		first->slots >= 0 && first->view != first->control &&
		first->view != first->slots && first->control != first->slots &&
		first->boot && strlen(first->boot) < KP_BOOT_TEXT)
		return 0;
	return bad_reply("a descriptor or the boot", diag);
}

/* All of it takes the place of what was there, or none. */
static int bring_in_force(
	struct kp_attach *attach, struct first *first, struct kp_diag *diag)
{
	struct kp_view *view;
	int slots = first->fds[first->slots];

	if (kp_view_map(first->fds[first->view], &view, diag) < 0)
		return -1;
	kp_view_set_without(view, first->without);
	first->fds[first->slots] = -1;
	(void)pthread_mutex_lock(&attach->lock);
	/* The view first: whoever sees the page's generation finds it. */
	int result =
		kp_pages_map(&attach->pages, first->fds[first->control], slots, diag);
	if (result == 0)
		set_view(attach, view);
	(void)pthread_mutex_unlock(&attach->lock);
	if (result < 0)
		kp_view_drop(view);
	return result;
}

/* ---- the whole of it ----------------------------------------------------------- */

/* Half of a first scan is nothing to begin with, nor to go over to. */
static json_t *call_json(const struct kp_attach *attach)
{
	json_t *call = json_pack("{s:o*, s:i}", "name", json_string(attach->options.name),
		"settle_ms", SETTLE_MS);

	if (attach->pages.control) {
		uint64_t seen = kp_control_generation(attach->pages.control);
		(void)json_object_set_new(call, "boot", json_string(attach->boot));
		(void)json_object_set_new(call, "seen", json_integer((json_int_t)seen));
	}
	return call;
}

/* The call was made; what became of it. */
static int take_first(struct kp_attach *attach, struct kp_client *client,
	const struct kp_reply_message *reply, struct kp_diag *diag)
{
	struct first first;

	if (reply->error)
		return kp_attach_refused(reply, diag);
	if (read_first(client, reply, &first, diag) < 0 ||
		bring_in_force(attach, &first, diag) < 0) {
		first_finish(&first);
		return -1;
	}
	first_finish(&first);
	(void)snprintf(attach->boot, sizeof(attach->boot), "%s", first.boot);
	free(attach->table);
	attach->table = first.table ? strdup(first.table) : NULL;
	attach->stamp = (struct kp_view_stamp){0};
	attach->is_transient =
		json_is_true(json_object_get(reply->parameters, "transient"));
	return 0;
}

static int attach_by(
	struct kp_attach *attach, struct kp_client *client, struct kp_diag *diag)
{
	struct kp_reply_message reply;
	owned_json *call = call_json(attach);

	if (!call)
		return kp_diag_no_memory(diag);
	kp_client_keep_fds(client);
	if (kp_client_call_more(client, "Attach", call, &reply, diag) < 0)
		return -1;
	int result = take_first(attach, client, &reply, diag);
	kp_reply_message_finish(&reply);
	return result;
}

int kp_attach_connect(struct kp_attach *attach, int timeout_ms, struct kp_diag *diag)
{
	struct kp_client *client;
	uid_t owner;

	if (kp_attach_dial(attach, attach->options.socket, timeout_ms, &client, &owner,
		    diag) < 0)
		return -1;
	kp_client_set_stop(client, attach->wake[0]);
	char *path = strdup(kp_client_path(client));
	if (!path || attach_by(attach, client, diag) < 0) {
		int result = path ? -1 : kp_diag_no_memory(diag);
		free(path);
		kp_client_close(client);
		return result;
	}
	kp_client_set_timeout(client, -1);
	(void)pthread_mutex_lock(&attach->lock);
	free(attach->path);
	attach->path = path;
	attach->owner = owner;
	(void)pthread_mutex_unlock(&attach->lock);
	attach->client = client;
	__atomic_store_n(&attach->is_there, true, __ATOMIC_RELAXED);
	return 0;
}
