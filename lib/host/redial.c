/* SPDX-License-Identifier: MIT */
/* The thread of a connection: reads, and when plugind has gone looks for it. */
#include <poll.h>
#include <pthread.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/host/attach_state.h"

enum {
	DIAL_MS = 8000, /* to connect, and for the answer, which waits for a scan */
	SOON_MS = 100,	/* between two tries at first */
	LATER_MS = 500,
	SOON_TRIES = 50,
	START_TRIES = 10, /* as often a private one is started again */
	LOOK_MS = 1000,	  /* between two looks at the table on disk */
};

/* ---- while plugind is there ------------------------------------------------------ */

static void follow(struct kp_attach *attach)
{
	struct kp_reply_message reply;
	struct kp_diag diag;

	while (kp_client_next(attach->client, &reply, &diag) == 0) {
		bool goes_on = !reply.error && reply.continues;
		int result = goes_on ? kp_attach_take(attach, &reply, &diag) : -1;
		kp_reply_message_finish(&reply);
		if (!goes_on)
			break;
		/* The bits hold without it. */
		if (result < 0)
			kp_attach_log(attach, 1, "%s", diag.message);
		else
			kp_attach_tell(attach);
	}
	/* Nobody else closes it while this thread lives; a child never finds it closed.
	 */
	struct kp_client *client = attach->client;
	__atomic_store_n(&attach->client, NULL, __ATOMIC_RELEASE);
	kp_client_close(client);
}

/* ---- while it is away ------------------------------------------------------------ */

/* Waits; is this thread to end? */
static bool is_ended(const struct kp_attach *attach, int wait_ms)
{
	struct pollfd wake = {.fd = attach->wake[0], .events = POLLIN};
	return poll(&wake, 1, wait_ms) > 0;
}

static void has_gone(struct kp_attach *attach)
{
	(void)pthread_mutex_lock(&attach->lock);
	__atomic_store_n(&attach->is_there, false, __ATOMIC_RELAXED);
	(void)pthread_cond_broadcast(&attach->newer);
	(void)pthread_mutex_unlock(&attach->lock);
	kp_attach_log(attach, 1,
		"plugind at %s has gone: kernels stay as they are until it is back",
		attach->path);
	kp_attach_tell(attach);
}

/* A page of our own takes the place of one that nobody writes any more. */
static bool adopt(struct kp_attach *attach, struct kp_view *view)
{
	uint64_t seen = kp_control_generation(attach->pages.control);
	uint64_t next = view->generation > seen ? view->generation : seen + 1;

	(void)pthread_mutex_lock(&attach->lock);
	/* The file on the disk is everybody's: what is off for this user stays so. */
	kp_view_set_without(view, attach->view->without);
	bool is_newer = view->generation > attach->view->generation &&
			kp_pages_follow(&attach->pages, next, view->generation);
	if (is_newer) {
		kp_view_drop(attach->view);
		attach->view = kp_view_use(view);
	}
	(void)pthread_mutex_unlock(&attach->lock);
	return is_newer;
}

static void look_at_table(struct kp_attach *attach)
{
	struct kp_view *view = NULL;
	struct kp_diag diag;

	if (!attach->table || kp_view_read(attach->table, attach->owner, &attach->stamp,
				      &view, &diag) < 0)
		return;
	if (view && adopt(attach, view)) {
		kp_attach_log(attach, 2, "%s: follows what another plugind left there",
			attach->table);
		kp_attach_tell(attach);
	}
	kp_view_drop(view);
}

/* Why it does not come back is said once, unless it is only not there. */
static void complain(
	struct kp_attach *attach, const struct kp_diag *diag, const char **said)
{
	if (strcmp(diag->code, "no_daemon") == 0 || *said == diag->code)
		return;
	*said = diag->code;
	kp_attach_log(attach, 1, "%s", diag->message);
}

/*
 * Who was killed does not come back by itself; a restart by somebody would have. Some
 * tries, since one that is started may be killed, too.
 */
static bool is_to_be_started(
	const struct kp_attach *attach, int tries, const struct kp_diag *why)
{
	return attach->may_start && attach->is_transient && tries > 0 &&
	       tries < SOON_TRIES && tries % START_TRIES == 0 &&
	       strcmp(why->code, "no_daemon") == 0;
}

static int dial(struct kp_attach *attach, int tries, struct kp_diag *diag)
{
	struct kp_client *guest;

	if (kp_attach_connect(attach, DIAL_MS, diag) == 0)
		return 0;
	if (!is_to_be_started(attach, tries, diag))
		return -1;
	if (kp_private_start(attach->wake[0], &guest, diag) < 0) {
		kp_attach_log(attach, 1, "%s", diag->message);
		return -1;
	}
	int result = kp_attach_connect(attach, DIAL_MS, diag);
	kp_client_close(guest);
	return result;
}

/* False: this thread is to end. */
static bool redial(struct kp_attach *attach)
{
	int64_t look = kp_clock_ms();
	const char *said = NULL;
	struct kp_diag diag;

	for (int tries = 0; !is_ended(attach, tries < SOON_TRIES ? SOON_MS : LATER_MS);
		tries += tries < SOON_TRIES) {
		if (dial(attach, tries, &diag) == 0) {
			kp_attach_log(attach, 2, "attached again to plugind at %s",
				attach->path);
			kp_attach_tell(attach);
			return true;
		}
		complain(attach, &diag, &said);
		if (kp_clock_ms() >= look) {
			look_at_table(attach);
			look = kp_clock_ms() + LOOK_MS;
		}
	}
	return false;
}

void *kp_attach_run(void *context)
{
	struct kp_attach *attach = context;

	(void)pthread_setname_np(pthread_self(), "kplug");
	do {
		follow(attach);
		if (is_ended(attach, 0))
			return NULL;
		has_gone(attach);
	} while (redial(attach));
	return NULL;
}
