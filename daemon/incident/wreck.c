/* SPDX-License-Identifier: MIT */
/* Stamps beat what the kernel tells; where neither is sure, nobody is blamed. */
#include "daemon/incident/wreck.h"

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "daemon/application/control.h"

/* ---- reading --------------------------------------------------------------------- */

/* The name of a slot's kernel; NULL: of the application's own, or of another plugind. */
static const char *name_of(const struct control *control, uint64_t kernel)
{
	uint32_t number;

	return kp_slot_number(kernel, control_boot(control), &number)
		       ? control_name(control, number)
		       : NULL;
}

static void add_name(struct wreck *wreck, const char *name)
{
	for (size_t i = 0; i < wreck->n_names; i++)
		if (strcmp(wreck->names[i], name) == 0)
			return;
	if (wreck->n_names < WRECK_KERNELS)
		(void)snprintf(
			wreck->names[wreck->n_names++], KP_KERNEL_ID_BYTES, "%s", name);
}

static bool is_fatal(uint64_t signal)
{
	return signal == SIGSEGV || signal == SIGBUS || signal == SIGFPE ||
	       signal == SIGILL || signal == SIGABRT;
}

/* One in which a handler was called. */
static void take_stamp(struct wreck *wreck, const struct kp_slot *slot, const char *name)
{
	bool is_last = slot->thread == wreck->fatal >> 32;

	wreck->is_last |= is_last;
	wreck->is_mixed |= wreck->stamped++ > 0 && strcmp(wreck->kernel, name) != 0;
	if (wreck->stamped > 1 && !is_last)
		return;
	wreck->signal = (int)slot->signal;
	wreck->address = slot->address;
	(void)snprintf(wreck->kernel, sizeof(wreck->kernel), "%s", name);
	memcpy(wreck->label, slot->label, sizeof(slot->label));
}

static void take_slot(
	struct wreck *wreck, const struct kp_slot *slot, const struct control *control)
{
	if (slot->thread == 0 || slot->kernel == 0)
		return;
	const char *name = name_of(control, slot->kernel);
	if (!name)
		name = "";
	if (*name)
		add_name(wreck, name);
	wreck->inside++;
	if (is_fatal(slot->signal))
		take_stamp(wreck, slot, name);
	else if (wreck->stamped == 0)
		(void)snprintf(wreck->kernel, sizeof(wreck->kernel), "%s", name);
}

void wreck_read(struct wreck *wreck, int slots, const struct control *control)
{
	struct kp_slot all[KP_SLOTS];
	off_t at = KP_SLOTS_BYTES + offsetof(struct kp_told, fatal);

	*wreck = (struct wreck){0};
	if (pread(slots, &wreck->fatal, sizeof(wreck->fatal), at) !=
			(ssize_t)sizeof(wreck->fatal) ||
		pread(slots, all, sizeof(all), 0) != (ssize_t)sizeof(all))
		return;
	for (size_t i = 0; i < KP_SLOTS; i++)
		take_slot(wreck, &all[i], control);
}

/* ---- judging --------------------------------------------------------------------- */

__attribute__((format(printf, 3, 4))) static void say(
	struct judgement *judgement, int signal, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	(void)vsnprintf(judgement->text, sizeof(judgement->text), format, args);
	va_end(args);
	judgement->signal = signal;
	judgement->is_worth = true;
}

/* A handler of libkplug's was called last. */
static void judge_stamp(
	struct judgement *judgement, const struct wreck *wreck, int signal)
{
	char space[ENDING_NAME];
	const char *name = ending_name(signal, space);

	judgement->seen_by = "handlers";
	if (wreck->fatal & KP_FATAL_SENT)
		say(judgement, signal, "%s, which another thread or process sent", name);
	else if (!(wreck->fatal & KP_FATAL_INSIDE))
		say(judgement, signal, "%s outside of every kernel", name);
	else if (!wreck->is_last)
		say(judgement, signal,
			"%s in a kernel that nobody can name: of a thread beyond the "
			"%d that are told apart, or of an earlier plugind",
			name, (int)KP_SLOTS);
	else if (wreck->is_mixed)
		say(judgement, signal, "%s in several kernels at a time", name);
	else if (!wreck->kernel[0])
		say(judgement, signal,
			"%s in a kernel of the application's own, or of another plugind",
			name);
	else {
		judgement->is_crash = true;
		say(judgement, wreck->signal, "%s in code of %s",
			ending_name(wreck->signal, space), wreck->kernel);
	}
}

/* The kernel says which signal it was, and no handler saw it. */
static void judge_signal(
	struct judgement *judgement, const struct wreck *wreck, int signal)
{
	char space[ENDING_NAME];
	const char *name = ending_name(signal, space);

	judgement->seen_by = "kernel";
	if (wreck->inside == 0) {
		say(judgement, signal, "%s outside of every kernel", name);
	} else if (wreck->inside > 1) {
		say(judgement, signal,
			"%s with several threads inside of kernels; no handler was "
			"called that would tell which",
			name);
	} else if (!wreck->kernel[0] || !is_fatal((uint64_t)signal)) {
		say(judgement, signal, "%s with one thread inside of a kernel", name);
	} else {
		judgement->is_crash = true;
		say(judgement, signal, "%s while code of %s was the only one that ran",
			name, wreck->kernel);
	}
}

/* Ended on purpose: of interest only where a kernel was running. */
static void judge_end(struct judgement *judgement, const struct wreck *wreck,
	const struct ending *ending)
{
	judgement->seen_by = "kernel";
	if (wreck->inside == 0)
		return;
	/* Whoever leaves a kernel by longjmp(3) seems to be in it still. */
	if (wreck->fatal & KP_FATAL_EXIT && ending->status != 0)
		say(judgement, 0,
			"exit(%d) was called in a kernel, or after leaving "
			"one by a jump",
			ending->status);
	else if (ending->signal == SIGKILL)
		say(judgement, SIGKILL,
			"SIGKILL while a kernel ran: there was no memory left, or "
			"somebody ended it");
	else if (ending->signal == 0 && ending->status != 0)
		say(judgement, 0, "it ended with status %d while a kernel ran",
			ending->status);
}

struct judgement wreck_judge(const struct wreck *wreck, const struct ending *ending)
{
	struct judgement judgement = {.seen_by = "nobody"};
	int stamp = (int)(wreck->fatal & KP_FATAL_SIGNAL);
	/* A handler may end it by _exit(2); exit(3) takes the stamp back. */
	bool is_stamped = is_fatal((uint64_t)stamp);
	bool is_killed =
		ending->known && ending->signal != 0 && !ending_is_crash(ending->signal);

	if (is_stamped && !is_killed)
		judge_stamp(&judgement, wreck, stamp);
	else if (ending->known && ending_is_crash(ending->signal))
		judge_signal(&judgement, wreck, ending->signal);
	else if (ending->known)
		judge_end(&judgement, wreck, ending);
	else if (wreck->inside > 0)
		say(&judgement, 0,
			"it ended while a kernel ran, and this system does not tell "
			"how");
	return judgement;
}
