/* SPDX-License-Identifier: MIT */
/* The state machine of a worker: reads its report, keeps its output, says what to do. */
#include "lib/plugin/supervisor.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/base/file.h"
#include "lib/base/text.h"

enum {
	READ_STEP = 64 << 10, /* of one descriptor a turn, so that others get theirs */
	DRAIN_MOST = 2 << 20, /* after the worker's end: more than a pipe holds */
	LEAVE_MS = 1000,      /* to exit after the end mark */
	DIE_MS = 5000,	      /* to die after a kill: it may be stuck in the kernel */
};

struct kp_supervisor {
	int report, output; /* open until freed: whoever polls them stops first */
	bool report_open, output_open;
	int64_t started, limit, deadline;
	void (*on_line)(void *context, json_t *line);
	void *context;
	struct kp_report lines;
	char tail[KP_WORKER_OUTPUT]; /* a ring */
	size_t written;
	bool marked, ended, lingered, kill_asked, leaving, finished;
	int status;
	bool has_cause;
	enum kp_worker_end cause; /* what ended it, when that was not its own doing */
	bool launcher;		  /* it was this parent that it killed */
	char refusal[256];	  /* for which it was killed */
	struct kp_worker_result result;
};

/* Codes by the first word of the stage. */
static const struct stage_codes {
	const char *word, *exited, *timed_out;
} stages[] = {
	{"load", "exited_during_load", "probe_timeout"},
	{"relocation", "exited_during_load", "probe_timeout"},
	{"probe", "exited_during_probe", "probe_timeout"},
	{"identify", "exited_during_identify", "identify_timeout"},
	{"bench", "exited_during_bench", "bench_timeout"},
	{"verify", "exited_during_verify", "verify_timeout"},
	{"", "exited_early", "worker_timeout"},
};

static const struct stage_codes *stage_codes(const struct kp_supervisor *supervisor)
{
	size_t i = 0;
	size_t length = strcspn(supervisor->result.stage, " ");
	while (*stages[i].word &&
		(strlen(stages[i].word) != length ||
			memcmp(stages[i].word, supervisor->result.stage, length) != 0))
		i++;
	return &stages[i];
}

/* For sentences: "load", or what comes before any stage. */
static const char *stage_words(const struct kp_supervisor *supervisor)
{
	return *supervisor->result.stage ? supervisor->result.stage : "its start";
}

const char *kp_worker_end_name(enum kp_worker_end end)
{
	static const char *const names[KP_WORKER_ENDS] = {"done", "exited", "killed",
		"timed_out", "garbled", "lingered", "killed_parent", "refused", "lost",
		"cancelled"};

	return names[end];
}

struct kp_supervisor *kp_supervisor_new(int report, int output,
	const struct kp_report_terms *terms, int64_t now, int64_t deadline,
	void (*on_line)(void *context, json_t *line), void *context)
{
	struct kp_supervisor *supervisor = calloc(1, sizeof(*supervisor));
	if (!supervisor)
		return NULL;
	supervisor->report = report;
	supervisor->output = output;
	supervisor->report_open = report >= 0;
	supervisor->output_open = output >= 0;
	supervisor->lines.terms = *terms;
	supervisor->started = now;
	supervisor->limit = deadline - now;
	supervisor->deadline = deadline;
	supervisor->on_line = on_line;
	supervisor->context = context;
	supervisor->result.exit = -1;
	return supervisor;
}

void kp_supervisor_free(struct kp_supervisor *supervisor)
{
	if (!supervisor)
		return;
	kp_file_close(&supervisor->report);
	kp_file_close(&supervisor->output);
	kp_report_finish(&supervisor->lines);
	free(supervisor);
}

int kp_supervisor_report_fd(const struct kp_supervisor *supervisor)
{
	return supervisor->report_open ? supervisor->report : -1;
}

int kp_supervisor_output_fd(const struct kp_supervisor *supervisor)
{
	return supervisor->output_open ? supervisor->output : -1;
}

int64_t kp_supervisor_deadline(const struct kp_supervisor *supervisor)
{
	return supervisor->deadline;
}

const struct kp_worker_result *kp_supervisor_result(
	const struct kp_supervisor *supervisor)
{
	return &supervisor->result;
}

/* The first cause counts. */
static void set_cause(struct kp_supervisor *supervisor, enum kp_worker_end cause)
{
	if (supervisor->has_cause)
		return;
	supervisor->has_cause = true;
	supervisor->cause = cause;
}

static void keep_text(const json_t *value, char *out, size_t size)
{
	if (json_is_string(value))
		kp_text_clean_bytes(
			json_string_value(value), json_string_length(value), out, size);
}

static const char *take_line(void *context, json_t *line)
{
	struct kp_supervisor *supervisor = context;
	struct kp_worker_result *result = &supervisor->result;

	if (supervisor->marked)
		return "it goes on after its end";
	if (json_is_true(json_object_get(line, "end"))) {
		supervisor->marked = true;
		return NULL;
	}
	keep_text(json_object_get(line, "stage"), result->stage, sizeof(result->stage));
	keep_text(
		json_object_get(line, "loader"), result->loader, sizeof(result->loader));
	if (supervisor->on_line)
		supervisor->on_line(supervisor->context, line);
	return NULL;
}

static void take_report(struct kp_supervisor *supervisor, const char *bytes, size_t size)
{
	if (kp_report_take(&supervisor->lines, bytes, size, take_line, supervisor) == 0)
		return;
	set_cause(supervisor,
		supervisor->lines.no_memory ? KP_WORKER_LOST : KP_WORKER_GARBLED);
	supervisor->report_open = false;
}

static void take_output(struct kp_supervisor *supervisor, const char *bytes, size_t size)
{
	for (size_t i = 0; i < size; i++)
		supervisor->tail[supervisor->written++ % KP_WORKER_OUTPUT] = bytes[i];
}

/* At most `most` bytes of what is there. */
static void read_some(struct kp_supervisor *supervisor, int fd, bool *open, size_t most,
	void (*take)(struct kp_supervisor *, const char *, size_t))
{
	char bytes[16 << 10];
	for (size_t done = 0; *open && done < most;) {
		ssize_t n = read(fd, bytes, sizeof(bytes));
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
			return;
		if (n <= 0) {
			*open = false;
			return;
		}
		take(supervisor, bytes, (size_t)n);
		done += (size_t)n;
	}
}

static void read_both(struct kp_supervisor *supervisor, size_t most)
{
	read_some(supervisor, supervisor->report, &supervisor->report_open, most,
		take_report);
	read_some(supervisor, supervisor->output, &supervisor->output_open, most,
		take_output);
}

void kp_supervisor_read(struct kp_supervisor *supervisor)
{
	if (!supervisor->finished)
		read_both(supervisor, READ_STEP);
}

void kp_supervisor_ended(struct kp_supervisor *supervisor, int status, bool lingered)
{
	if (supervisor->finished || supervisor->ended)
		return;
	/* What it wrote before it died counts, and is in the pipes already. */
	read_both(supervisor, DRAIN_MOST);
	supervisor->ended = true;
	supervisor->status = status;
	supervisor->lingered = lingered;
}

void kp_supervisor_lost(struct kp_supervisor *supervisor)
{
	set_cause(supervisor, KP_WORKER_LOST);
	supervisor->ended = true;
}

void kp_supervisor_bereaved(struct kp_supervisor *supervisor, bool launcher)
{
	if (!supervisor->finished)
		read_both(supervisor, DRAIN_MOST);
	set_cause(supervisor, KP_WORKER_KILLED_PARENT);
	supervisor->launcher = launcher;
	supervisor->ended = true;
}

void kp_supervisor_refused(
	struct kp_supervisor *supervisor, const char *text, bool deadly)
{
	char *refused = supervisor->result.refused;
	size_t used = strlen(refused);
	char clean[sizeof(supervisor->refusal)];

	(void)kp_text_clean(text, clean, sizeof(clean));
	/* Whole, or not at all. */
	if (used + strlen(clean) + 2 < sizeof(supervisor->result.refused))
		(void)snprintf(refused + used, sizeof(supervisor->result.refused) - used,
			"%s%s", used ? "; " : "", clean);
	if (!deadly || supervisor->has_cause)
		return;
	set_cause(supervisor, KP_WORKER_REFUSED);
	memcpy(supervisor->refusal, clean, sizeof(clean));
}

void kp_supervisor_cancel(struct kp_supervisor *supervisor)
{
	set_cause(supervisor, KP_WORKER_CANCELLED);
}

/* The ring in order, without the half of a character at its cut. */
static void finish_output(struct kp_supervisor *supervisor)
{
	char bytes[KP_WORKER_OUTPUT];
	size_t size = supervisor->written < KP_WORKER_OUTPUT ? supervisor->written
							     : KP_WORKER_OUTPUT;
	size_t from = supervisor->written - size;
	for (size_t i = 0; i < size; i++)
		bytes[i] = supervisor->tail[(from + i) % KP_WORKER_OUTPUT];
	size_t cut = 0;
	while (from > 0 && cut < 3 && cut < size &&
		((unsigned char)bytes[cut] & 0xc0) == 0x80)
		cut++;
	kp_text_clean_bytes(bytes + cut, size - cut, supervisor->result.output,
		sizeof(supervisor->result.output));
}

const char *kp_supervisor_printed(struct kp_supervisor *supervisor)
{
	if (!supervisor->finished)
		finish_output(supervisor);
	return supervisor->result.output;
}

static enum kp_worker_end judge(const struct kp_supervisor *supervisor)
{
	/* Reported all, then would not leave: killed without blame. */
	bool overstayed =
		supervisor->marked && supervisor->leaving && supervisor->kill_asked;
	if (supervisor->has_cause)
		return supervisor->cause;
	if (supervisor->ended && !overstayed) {
		if (WIFSIGNALED(supervisor->status))
			return KP_WORKER_KILLED;
		if (!supervisor->marked || WEXITSTATUS(supervisor->status) != 0)
			return KP_WORKER_EXITED;
	}
	return supervisor->lingered ? KP_WORKER_LINGERED : KP_WORKER_DONE;
}

static void explain_exit(struct kp_supervisor *supervisor)
{
	const char *code = stage_codes(supervisor)->exited;
	int status = supervisor->result.exit;
	kp_diag_set(&supervisor->result.diag, code, supervisor->result.stage,
		"exited with status %d during %s, %s finishing its report: %s(%d)",
		status, stage_words(supervisor), supervisor->marked ? "after" : "without",
		code, status);
}

static void explain_signal(struct kp_supervisor *supervisor)
{
	int number = supervisor->result.signal;
	const char *name = sigabbrev_np(number);
	const char *text = sigdescr_np(number);
	kp_diag_set(&supervisor->result.diag, "killed_by_signal",
		supervisor->result.stage, "killed by SIG%s (%s, signal %d) during %s",
		name ? name : "?", text ? text : "unknown", number,
		stage_words(supervisor));
}

static void explain_bereaved(struct kp_supervisor *supervisor)
{
	bool launcher = supervisor->launcher;
	kp_diag_set(&supervisor->result.diag,
		launcher ? "killed_the_launcher" : "killed_its_keeper",
		supervisor->result.stage, "killed %s during %s",
		launcher ? "the launcher of all workers, while it ran alone,"
			 : "the process that watches over it",
		stage_words(supervisor));
}

static void explain(struct kp_supervisor *supervisor)
{
	struct kp_diag *diag = &supervisor->result.diag;
	const char *stage = supervisor->result.stage;
	switch (supervisor->result.end) {
	case KP_WORKER_DONE:
		break;
	case KP_WORKER_EXITED:
		explain_exit(supervisor);
		break;
	case KP_WORKER_KILLED:
		explain_signal(supervisor);
		break;
	case KP_WORKER_TIMED_OUT:
		kp_diag_set(diag, stage_codes(supervisor)->timed_out, stage,
			"did not finish %s within %lld ms and was killed%s",
			stage_words(supervisor), (long long)supervisor->limit,
			supervisor->ended ? "" : ", but does not die");
		break;
	case KP_WORKER_GARBLED:
		kp_diag_set(diag, "garbled_report", stage,
			"the report is garbled during %s: %s", stage_words(supervisor),
			supervisor->lines.why);
		break;
	case KP_WORKER_LINGERED:
		kp_diag_set(diag, "lingering_process", stage,
			"left processes running, which were killed");
		break;
	case KP_WORKER_KILLED_PARENT:
		explain_bereaved(supervisor);
		break;
	case KP_WORKER_REFUSED:
		kp_diag_set(diag, "refused_by_sandbox", stage,
			"was ended by its sandbox during %s: %s", stage_words(supervisor),
			supervisor->refusal);
		break;
	case KP_WORKER_LOST:
		kp_diag_set(diag, "worker_lost", stage,
			supervisor->lines.no_memory
				? "no memory was left to read its report during %s; the "
				  "plugin is not to blame"
				: "its worker was lost with the launcher during %s; the "
				  "plugin is not to blame",
			stage_words(supervisor));
		break;
	case KP_WORKER_CANCELLED:
		kp_diag_set(diag, "cancelled", stage, "cancelled during %s",
			stage_words(supervisor));
		break;
	}
}

static enum kp_supervisor_step finish(struct kp_supervisor *supervisor, int64_t now)
{
	struct kp_worker_result *result = &supervisor->result;
	supervisor->finished = true;
	supervisor->report_open = supervisor->output_open = false;
	result->end = judge(supervisor);
	if (supervisor->ended && result->end != KP_WORKER_LOST &&
		result->end != KP_WORKER_KILLED_PARENT) {
		if (WIFSIGNALED(supervisor->status))
			result->signal = WTERMSIG(supervisor->status);
		else
			result->exit = WEXITSTATUS(supervisor->status);
	}
	result->elapsed_ms = (double)(now - supervisor->started);
	finish_output(supervisor);
	explain(supervisor);
	return KP_SUPERVISE_DONE;
}

/* Time is up, by the clock that runs now. Returns whether it must be killed. */
static bool expire(struct kp_supervisor *supervisor, int64_t now)
{
	if (supervisor->marked && !supervisor->leaving) {
		supervisor->leaving = true;
		supervisor->deadline = now + LEAVE_MS;
	}
	bool over = now >= supervisor->deadline;
	if (over && !supervisor->leaving)
		set_cause(supervisor, KP_WORKER_TIMED_OUT);
	return over || supervisor->has_cause;
}

enum kp_supervisor_step kp_supervisor_step(struct kp_supervisor *supervisor, int64_t now)
{
	if (supervisor->finished)
		return KP_SUPERVISE_DONE;
	if (supervisor->ended)
		return finish(supervisor, now);
	if (supervisor->kill_asked)
		return now >= supervisor->deadline ? finish(supervisor, now)
						   : KP_SUPERVISE_WAIT;
	if (!expire(supervisor, now))
		return KP_SUPERVISE_WAIT;
	supervisor->kill_asked = true;
	supervisor->deadline = now + DIE_MS;
	return KP_SUPERVISE_KILL;
}
