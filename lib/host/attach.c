/* SPDX-License-Identifier: MIT */
/* The life of a connection to plugind, and what others ask of it. */
#include "lib/host/attach.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "lib/base/file.h"
#include "lib/base/place.h"
#include "lib/host/attach_state.h"

enum {
	OPEN_MS = 10000,
	ASK_MS = 30000,
	STACK_BYTES = 512 << 10,
};

void kp_attach_log(const struct kp_attach *attach, int level, const char *format, ...)
{
	char text[1024];
	va_list args;

	if (!attach->options.log)
		return;
	va_start(args, format);
	(void)vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	attach->options.log(attach->options.context, level, text);
}

void kp_attach_tell(struct kp_attach *attach)
{
	if (attach->options.changed)
		attach->options.changed(attach->options.context);
	/* From now on calls choose from it, not from when it came. */
	(void)pthread_mutex_lock(&attach->lock);
	kp_attach_tell_view(attach);
	(void)pthread_mutex_unlock(&attach->lock);
}

/* ---- coming -------------------------------------------------------------------- */

static int make_lock(struct kp_attach *attach)
{
	pthread_condattr_t by_clock;

	(void)pthread_mutex_init(&attach->lock, NULL);
	if (pthread_condattr_init(&by_clock) != 0)
		return -1;
	(void)pthread_condattr_setclock(&by_clock, CLOCK_MONOTONIC);
	int result = pthread_cond_init(&attach->newer, &by_clock);
	(void)pthread_condattr_destroy(&by_clock);
	return result == 0 ? 0 : -1;
}

static bool make_wake(int wake[2])
{
	if (pipe2(wake, O_CLOEXEC) < 0)
		return false;
	wake[0] = kp_file_lift(wake[0]);
	wake[1] = kp_file_lift(wake[1]);
	return wake[0] >= 0 && wake[1] >= 0;
}

static struct kp_attach *make(const struct kp_attach_options *options)
{
	struct kp_attach *new = calloc(1, sizeof(*new));

	if (!new)
		return NULL;
	new->options = *options;
	new->wake[0] = new->wake[1] = -1;
	new->pages.slots_fd = -1;
	new->options.socket = options->socket ? strdup(options->socket) : NULL;
	new->options.name =
		strdup(options->name ? options->name : program_invocation_short_name);
	if (make_lock(new) == 0 && new->options.name &&
		(!options->socket || new->options.socket) && make_wake(new->wake))
		return new;
	int error = errno;
	kp_attach_free(new);
	errno = error;
	return NULL;
}

/* Somebody who names a socket means that plugind and no other. */
static bool may_start_one(const struct kp_attach *attach)
{
	const char *named = attach->options.socket ? attach->options.socket
						   : secure_getenv("KPLUG_SOCKET");

	return !attach->options.no_daemon && (!named || !*named);
}

static int start_and_connect(struct kp_attach *attach, struct kp_diag *diag)
{
	struct kp_client *guest;

	if (kp_private_start(attach->wake[0], &guest, diag) < 0)
		return -1;
	int result = kp_attach_connect(attach, OPEN_MS, diag);
	kp_client_close(guest);
	return result;
}

static int reach(struct kp_attach *attach, struct kp_diag *diag)
{
	struct kp_diag why;

	attach->may_start = may_start_one(attach);
	if (kp_attach_connect(attach, OPEN_MS, &why) == 0)
		return 0;
	if (attach->may_start && strcmp(why.code, "no_daemon") == 0)
		return start_and_connect(attach, diag);
	if (diag)
		*diag = why;
	return -1;
}

/* Signals are the application's: its own threads get them. */
static int start_thread(struct kp_attach *attach)
{
	sigset_t all, before;
	pthread_attr_t small;

	if (pthread_attr_init(&small) != 0)
		return -1;
	(void)pthread_attr_setstacksize(&small, STACK_BYTES);
	(void)sigfillset(&all);
	(void)pthread_sigmask(SIG_SETMASK, &all, &before);
	int result = pthread_create(&attach->thread, &small, kp_attach_run, attach);
	(void)pthread_sigmask(SIG_SETMASK, &before, NULL);
	(void)pthread_attr_destroy(&small);
	attach->has_thread = result == 0;
	return attach->has_thread ? 0 : -1;
}

int kp_attach_new(const struct kp_attach_options *options, struct kp_attach **out,
	struct kp_diag *diag)
{
	errno = 0;
	struct kp_attach *attach = make(options);
	if (!attach && (errno == EMFILE || errno == ENFILE))
		return kp_diag_set(diag, "io_error", "pipe", "cannot make a pipe: %s",
			strerror(errno));
	if (!attach)
		return kp_diag_no_memory(diag);
	if (reach(attach, diag) < 0) {
		kp_attach_free(attach);
		return -1;
	}
	if (start_thread(attach) < 0) {
		kp_attach_free(attach);
		return kp_diag_no_memory(diag);
	}
	*out = attach;
	return 0;
}

/* ---- going --------------------------------------------------------------------- */

static void end_thread(struct kp_attach *attach)
{
	if (!attach->has_thread || attach->forked)
		return;
	while (write(attach->wake[1], "", 1) < 0 && errno == EINTR)
		;
	(void)pthread_join(attach->thread, NULL);
}

void kp_attach_free(struct kp_attach *attach)
{
	if (!attach)
		return;
	end_thread(attach);
	/* Then nobody takes the end of the connection for a death. */
	if (attach->pages.told)
		__atomic_store_n(&attach->pages.told->closed, 1, __ATOMIC_RELEASE);
	kp_client_close(attach->client);
	kp_view_drop(attach->view);
	kp_pages_finish(&attach->pages);
	kp_file_close(&attach->wake[0]);
	kp_file_close(&attach->wake[1]);
	/* In a child nobody knows who had the lock. */
	if (!attach->forked) {
		(void)pthread_cond_destroy(&attach->newer);
		(void)pthread_mutex_destroy(&attach->lock);
	}
	free(attach->table);
	free(attach->path);
	free((char *)(uintptr_t)attach->options.socket);
	free((char *)(uintptr_t)attach->options.name);
	free(attach);
}

void kp_attach_in_child(struct kp_attach *attach)
{
	kp_pages_forked(&attach->pages);
}

void kp_attach_forked(struct kp_attach *attach)
{
	attach->forked = true;
	__atomic_store_n(&attach->is_there, false, __ATOMIC_RELAXED);
	kp_client_close(attach->client);
	attach->client = NULL;
	kp_file_close(&attach->wake[0]);
	kp_file_close(&attach->wake[1]);
	kp_pages_forked(&attach->pages);
}

/* ---- what is there ------------------------------------------------------------- */

const struct kp_control *kp_attach_control(const struct kp_attach *attach)
{
	return attach->pages.control;
}

struct kp_slot *kp_attach_slots(const struct kp_attach *attach)
{
	return attach->pages.slots;
}

void kp_attach_leave_slots(struct kp_attach *attach)
{
	attach->pages.stays = true;
}

bool kp_attach_is_there(const struct kp_attach *attach)
{
	return __atomic_load_n(&attach->is_there, __ATOMIC_RELAXED);
}

static void deadline_of(int wait_ms, struct timespec *deadline)
{
	(void)clock_gettime(CLOCK_MONOTONIC, deadline);
	deadline->tv_sec += wait_ms / 1000;
	deadline->tv_nsec += wait_ms % 1000 * 1000000L;
	if (deadline->tv_nsec >= 1000000000L) {
		deadline->tv_sec++;
		deadline->tv_nsec -= 1000000000L;
	}
}

struct kp_view *kp_attach_view(struct kp_attach *attach, uint64_t at_least, int wait_ms)
{
	struct timespec deadline;

	/* In a child the lock may be another process's thread's for ever. */
	if (attach->forked)
		return kp_view_use(attach->view);
	deadline_of(wait_ms > 0 ? wait_ms : 0, &deadline);
	(void)pthread_mutex_lock(&attach->lock);
	/* Without plugind nothing comes that is worth a wait. */
	while (attach->view->generation < at_least && wait_ms > 0 &&
		kp_attach_is_there(attach))
		if (pthread_cond_timedwait(&attach->newer, &attach->lock, &deadline) != 0)
			break;
	struct kp_view *view = kp_view_use(attach->view);
	(void)pthread_mutex_unlock(&attach->lock);
	return view;
}

void kp_attach_obeys(struct kp_attach *attach, uint64_t generation)
{
	__atomic_store_n(&attach->pages.told->adopted, generation, __ATOMIC_RELEASE);
}

/* ---- holds --------------------------------------------------------------------- */

/* Its place; else, where it is wanted, a free one. */
static struct kp_held *place_of(
	struct kp_told *told, const char *kernel, const char *what, bool wanted)
{
	struct kp_held *free_one = NULL;

	for (size_t i = 0; i < KP_HELD; i++) {
		struct kp_held *held = &told->held[i];
		if (held->count == 0)
			free_one = free_one ? free_one : held;
		else if (strncmp(held->kernel, kernel, KP_HELD_KERNEL - 1) == 0 &&
			 strncmp(held->what, what, KP_HELD_WHAT - 1) == 0)
			return held;
	}
	if (!wanted || !free_one)
		return NULL;
	(void)snprintf(free_one->kernel, sizeof(free_one->kernel), "%s", kernel);
	(void)snprintf(free_one->what, sizeof(free_one->what), "%s", what);
	return free_one;
}

void kp_attach_holds(
	struct kp_attach *attach, const char *kernel, const char *what, int change)
{
	struct kp_told *told = attach->pages.told;

	if (attach->forked)
		return;
	(void)pthread_mutex_lock(&attach->lock);
	struct kp_held *held = place_of(told, kernel, what, change > 0);
	uint64_t *count = held ? &held->count : &told->more;
	uint64_t now = *count + (uint64_t)(int64_t)change;
	/* Nobody can hold less than nothing. */
	if (change < 0 && *count < (uint64_t) - (int64_t)change)
		now = 0;
	__atomic_store_n(count, now, __ATOMIC_RELEASE);
	(void)pthread_mutex_unlock(&attach->lock);
}

/* ---- asking -------------------------------------------------------------------- */

static char *path_of(struct kp_attach *attach)
{
	(void)pthread_mutex_lock(&attach->lock);
	char *path = strdup(attach->path);
	(void)pthread_mutex_unlock(&attach->lock);
	return path;
}

int kp_attach_ask(struct kp_attach *attach, const char *method, json_t *parameters,
	json_t **reply, struct kp_diag *diag)
{
	struct kp_reply_message got;
	struct kp_client *client;
	uid_t owner;

	if (attach->forked)
		return kp_diag_set(diag, "disconnected", "plugind",
			"this process is a child of the one that attached");
	char *path = path_of(attach);
	if (!path)
		return kp_diag_no_memory(diag);
	int result = kp_attach_dial(attach, path, ASK_MS, &client, &owner, diag);
	free(path);
	if (result < 0)
		return -1;
	result = kp_client_call(client, method, parameters, &got, diag);
	kp_client_close(client);
	if (result < 0)
		return -1;
	if (got.error)
		result = kp_attach_refused(&got, diag);
	else
		*reply = json_incref(got.parameters);
	kp_reply_message_finish(&got);
	return result;
}
