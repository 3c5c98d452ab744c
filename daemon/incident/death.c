/* SPDX-License-Identifier: MIT */
/*
 * A list of those whose ending is not known yet, looked at by a timer. A process with
 * several handles was attached as often, and died once.
 */
#include "daemon/incident/death.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <uv.h>

#include "daemon/application/attached.h"
#include "daemon/daemon.h"
#include "daemon/incident/incidents.h"
#include "daemon/incident/quarantine.h"
#include "daemon/incident/wreck.h"
#include "lib/base/file.h"
#include "lib/base/json.h"

enum {
	LOOK_MS = 20,
	WAIT_MS = 1000, /* for its parent to wait for it */
	WAITING = 256,	/* beyond, they are judged without */
};

struct death {
	struct death *next;
	char name[ATTACHED_NAME];
	pid_t pid;
	unsigned uid;
	bool is_operator;
	int pidfd;
	uint64_t at_ms;
	struct wreck wreck;
};

struct deaths {
	struct daemon *daemon;
	struct death *first;
	size_t count;
	uv_timer_t look;
	bool closing;
};

/* ---- judging --------------------------------------------------------------------- */

static json_t *names_json(const struct wreck *wreck)
{
	json_t *names = json_array();

	for (size_t i = 0; i < wreck->n_names; i++)
		names = kp_json_append(names, kp_json_clean_string(wreck->names[i]));
	return names;
}

static json_t *ended_json(const struct ending *ending)
{
	char space[ENDING_NAME];

	if (!ending->known)
		return json_string("nobody tells how");
	return ending->signal ? json_string(ending_name(ending->signal, space))
			      : json_sprintf("status %d", ending->status);
}

static json_t *evidence_json(const struct wreck *wreck, const struct ending *ending,
	const struct judgement *judgement)
{
	uint64_t thread = wreck->fatal >> 32;

	return json_pack("{s:o, s:s, s:I, s:o, s:o*, s:o*}", "ended", ended_json(ending),
		"seen by", judgement->seen_by, "threads inside",
		(json_int_t)wreck->inside, "inside", names_json(wreck), "thread",
		thread ? json_integer((json_int_t)thread) : NULL, "address",
		judgement->is_crash && wreck->stamped
			? json_sprintf("0x%" PRIx64, wreck->address)
			: NULL);
}

static void judge(struct daemon *daemon, const struct death *death)
{
	struct ending ending = death->pidfd < 0 ? (struct ending){false, 0, 0}
						: ending_of(death->pidfd, death->pid);
	const struct wreck *wreck = &death->wreck;
	struct judgement judgement = wreck_judge(wreck, &ending);
	char space[ENDING_NAME];

	if (!judgement.is_worth)
		return;
	json_t *evidence = evidence_json(wreck, &ending, &judgement);
	const struct incident incident = {
		.kind = judgement.is_crash ? "crash" : "unattributed",
		.kernel = judgement.is_crash ? wreck->kernel : NULL,
		.application = death->name,
		.signal = judgement.signal ? ending_name(judgement.signal, space) : NULL,
		.label = judgement.is_crash ? wreck->label : NULL,
		.text = judgement.text,
		.evidence = evidence,
		.pid = death->pid,
		.uid = death->uid,
		.is_operator = death->is_operator,
	};
	int64_t id = incidents_add(daemon->incidents, &incident);
	json_decref(evidence);
	if (judgement.is_crash)
		quarantine_strike(daemon, wreck->kernel,
			death->is_operator ? KP_QUARANTINE_ALL : (int64_t)death->uid, id);
}

static void death_free(struct death *death)
{
	kp_file_close(&death->pidfd);
	free(death);
}

/* ---- waiting --------------------------------------------------------------------- */

static bool is_ready(const struct deaths *deaths, const struct death *death)
{
	uint64_t now = uv_now(&deaths->daemon->loop);

	return deaths->closing || now >= death->at_ms + WAIT_MS ||
	       (now >= death->at_ms + LOOK_MS &&
		       ending_of(death->pidfd, death->pid).known);
}

static void look(struct deaths *deaths)
{
	struct death **link = &deaths->first;

	while (*link) {
		struct death *death = *link;
		if (!is_ready(deaths, death)) {
			link = &death->next;
			continue;
		}
		*link = death->next;
		deaths->count--;
		judge(deaths->daemon, death);
		death_free(death);
	}
}

static void on_look(uv_timer_t *timer)
{
	struct deaths *deaths = timer->data;

	look(deaths);
	if (!deaths->first)
		(void)uv_timer_stop(timer);
}

/* The other handle of a process that is here; what it shows counts if it shows more. */
static bool join(struct deaths *deaths, const struct attached_death *from,
	const struct wreck *wreck)
{
	for (struct death *death = deaths->first; death; death = death->next) {
		if (death->pid != from->pid || death->uid != from->uid)
			continue;
		if (wreck->stamped > death->wreck.stamped ||
			(!death->wreck.stamped && wreck->inside > death->wreck.inside))
			death->wreck = *wreck;
		return true;
	}
	return false;
}

static void on_death(void *context, const struct attached_death *from)
{
	struct deaths *deaths = context;
	struct death *new = calloc(1, sizeof(*new));

	if (!new)
		return;
	wreck_read(&new->wreck, from->slots, deaths->daemon->control);
	if (join(deaths, from, &new->wreck)) {
		free(new);
		return;
	}
	new->pid = from->pid;
	new->uid = from->uid;
	new->is_operator = from->is_operator;
	new->pidfd = fcntl(from->pidfd, F_DUPFD_CLOEXEC, 0);
	new->at_ms = uv_now(&deaths->daemon->loop);
	(void)snprintf(new->name, sizeof(new->name), "%s", from->name);
	if (deaths->count == WAITING || deaths->closing) {
		judge(deaths->daemon, new);
		death_free(new);
		return;
	}
	new->next = deaths->first;
	deaths->first = new;
	deaths->count++;
	if (!uv_is_active((uv_handle_t *)&deaths->look))
		(void)uv_timer_start(&deaths->look, on_look, LOOK_MS, LOOK_MS);
}

/* ---- life ------------------------------------------------------------------------ */

struct deaths *deaths_new(struct daemon *daemon)
{
	struct deaths *new = calloc(1, sizeof(*new));

	if (!new)
		return NULL;
	new->daemon = daemon;
	(void)uv_timer_init(&daemon->loop, &new->look);
	new->look.data = new;
	attached_on_death(daemon->attached, on_death, new);
	return new;
}

void deaths_close(struct deaths *deaths)
{
	if (!deaths || deaths->closing)
		return;
	deaths->closing = true;
	look(deaths);
	uv_close((uv_handle_t *)&deaths->look, NULL);
}

void deaths_free(struct deaths *deaths)
{
	free(deaths);
}
