/* SPDX-License-Identifier: MIT */
/* Snapshots of a process and what differs between them. */
#include "daemon/worker/hygiene.h"

#include <dirent.h>
#include <locale.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "daemon/worker/exits.h"
#include "lib/base/floats.h"
#include "lib/base/owned.h"
#include "lib/base/text.h"

enum { TEXT = 256, PATH = 1024, OBJECT = 64 };

struct hygiene {
	struct kp_floats floats;
	char locale[TEXT], directory[PATH];
	void (*handlers[NSIG])(int);
	sigset_t blocked;
	size_t threads, descriptors;
	mode_t mask;
	cpu_set_t processors;
	struct rlimit limits[RLIM_NLIMITS];
	size_t exits[EXITS_KINDS];
	char *environment; /* "NAME=VALUE\n" each */
};

/* ---- taking ---------------------------------------------------------------------- */

static size_t count_entries(const char *path)
{
	DIR *directory = opendir(path);
	size_t count = 0;

	if (!directory)
		return 0;
	for (const struct dirent *entry; (entry = readdir(directory));)
		count += entry->d_name[0] != '.';
	(void)closedir(directory);
	return count;
}

/* A directory of directories has a link of each. */
static size_t count_threads(void)
{
	struct stat st;

	return stat("/proc/self/task", &st) == 0 && st.st_nlink > 2 ? st.st_nlink - 2 : 0;
}

/* Since Linux 6.2 it says so by its size. */
static size_t count_descriptors(void)
{
	struct stat st;

	return stat("/proc/self/fd", &st) == 0 && st.st_size > 0
		       ? (size_t)st.st_size
		       : count_entries("/proc/self/fd");
}

static char *copy_environment(void)
{
	size_t size = 1;

	for (char **at = environ; at && *at; at++)
		size += strlen(*at) + 1;
	char *text = malloc(size);
	char *end = text;
	for (char **at = environ; text && at && *at; at++) {
		end = stpcpy(end, *at);
		*end++ = '\n';
	}
	if (text)
		*end = '\0';
	return text;
}

static void take_handlers(struct hygiene *now)
{
	struct sigaction action;

	for (int i = 1; i < NSIG; i++)
		if (sigaction(i, NULL, &action) == 0)
			now->handlers[i] = action.sa_handler;
}

static int take(struct hygiene *now)
{
	const char *locale = setlocale(LC_ALL, NULL);

	memset(now, 0, sizeof(*now));
	now->floats = kp_floats_now();
	(void)snprintf(now->locale, sizeof(now->locale), "%s", locale ? locale : "");
	if (!getcwd(now->directory, sizeof(now->directory)))
		(void)snprintf(now->directory, sizeof(now->directory), "?");
	take_handlers(now);
	(void)sigprocmask(SIG_BLOCK, NULL, &now->blocked);
	now->threads = count_threads();
	now->descriptors = count_descriptors();
	now->mask = umask(0);
	(void)umask(now->mask);
	(void)sched_getaffinity(0, sizeof(now->processors), &now->processors);
	for (int i = 0; i < (int)RLIM_NLIMITS; i++)
		(void)getrlimit((__rlimit_resource_t)i, &now->limits[i]);
	exits_count(now->exits);
	now->environment = copy_environment();
	return now->environment ? 0 : -1;
}

struct hygiene *hygiene_take(void)
{
	struct hygiene *now = malloc(sizeof(*now));

	if (now && take(now) == 0)
		return now;
	hygiene_free(now);
	return NULL;
}

void hygiene_free(struct hygiene *hygiene)
{
	if (hygiene)
		free(hygiene->environment);
	free(hygiene);
}

/* ---- comparing ------------------------------------------------------------------- */

struct comparison {
	const struct hygiene *before, *now;
	const char *when;
	json_t *warnings;
};

static void differ(const struct comparison *c, const char *code, const char *object,
	const char *format, ...) __attribute__((format(printf, 4, 5)));

static void differ(const struct comparison *c, const char *code, const char *object,
	const char *format, ...)
{
	char what[TEXT], text[TEXT * 2], clean[TEXT * 2];
	va_list arguments;

	va_start(arguments, format);
	(void)vsnprintf(what, sizeof(what), format, arguments);
	va_end(arguments);
	(void)snprintf(text, sizeof(text), "%s %s", c->when, what);
	(void)kp_text_clean(text, clean, sizeof(clean));
	(void)json_array_append_new(
		c->warnings, json_pack("{s:s, s:s, s:s}", "code", code, "object", object,
				     "message", clean));
}

static void compare_floats(const struct comparison *c)
{
	if (!kp_floats_equal(&c->before->floats, &c->now->floats))
		differ(c, "changes_fp_state", "fp",
			"changes how the thread rounds numbers, flushes small ones, or "
			"traps");
}

static void compare_texts(const struct comparison *c)
{
	if (strcmp(c->before->locale, c->now->locale) != 0)
		differ(c, "changes_locale", "locale",
			"changes the locale from %.80s to %.80s", c->before->locale,
			c->now->locale);
	if (strcmp(c->before->directory, c->now->directory) != 0)
		differ(c, "changes_directory", "cwd",
			"changes the working directory from %.80s to %.80s",
			c->before->directory, c->now->directory);
	if (c->before->mask != c->now->mask)
		differ(c, "changes_umask", "umask", "changes the umask from %03o to %03o",
			(unsigned)c->before->mask, (unsigned)c->now->mask);
	if (strcmp(c->before->environment, c->now->environment) != 0)
		differ(c, "changes_environment", "environment",
			"changes the variables of the environment");
}

static void compare_signals(const struct comparison *c)
{
	for (int i = 1; i < NSIG; i++) {
		const char *name = sigabbrev_np(i);
		char object[OBJECT];
		if (c->before->handlers[i] == c->now->handlers[i])
			continue;
		if (name)
			(void)snprintf(object, sizeof(object), "SIG%s", name);
		else
			(void)snprintf(object, sizeof(object), "signal %d", i);
		differ(c, "changes_signal_handler", object,
			"changes what happens at the signal %s", object);
	}
	for (int i = 1; i < NSIG; i++)
		if (sigismember(&c->before->blocked, i) !=
			sigismember(&c->now->blocked, i)) {
			differ(c, "changes_signal_mask", "signals",
				"changes which signals the thread blocks");
			return;
		}
}

static void compare_counts(const struct comparison *c)
{
	if (c->now->threads > c->before->threads)
		differ(c, "leaves_threads", "threads", "leaves threads running: %zu",
			c->now->threads - c->before->threads);
	if (c->now->descriptors > c->before->descriptors)
		differ(c, "leaves_descriptors", "descriptors",
			"leaves descriptors open: %zu",
			c->now->descriptors - c->before->descriptors);
	if (c->now->descriptors < c->before->descriptors)
		differ(c, "closes_descriptors", "descriptors",
			"closes descriptors that are not its own: %zu",
			c->before->descriptors - c->now->descriptors);
}

static void compare_bounds(const struct comparison *c)
{
	if (!CPU_EQUAL(&c->before->processors, &c->now->processors))
		differ(c, "changes_affinity", "affinity",
			"changes the processors that the thread may run on from %d to %d",
			CPU_COUNT(&c->before->processors),
			CPU_COUNT(&c->now->processors));
	for (int i = 0; i < (int)RLIM_NLIMITS; i++)
		if (memcmp(&c->before->limits[i], &c->now->limits[i],
			    sizeof(c->now->limits[i])) != 0) {
			differ(c, "changes_limits", "limits",
				"changes a limit of the process (number %d)", i);
			return;
		}
}

static void compare_exits(const struct comparison *c)
{
	for (int i = 0; i < EXITS_KINDS; i++) {
		const char *name = exits_name((enum exits_kind)i);
		char library[OBJECT];
		if (c->now->exits[i] == c->before->exits[i])
			continue;
		exits_last((enum exits_kind)i, library, sizeof(library));
		differ(c, "leaves_exit_handlers", name,
			"leaves functions to be called when the process ends: %zu by %s, "
			"the last one of %s",
			c->now->exits[i] - c->before->exits[i], name,
			*library ? library : "no file");
	}
}

void hygiene_compare(struct hygiene *before, const char *when, json_t *warnings)
{
	struct hygiene *now = hygiene_take();
	const struct comparison c = {before, now, when, warnings};

	if (!now)
		return;
	compare_floats(&c);
	compare_texts(&c);
	compare_signals(&c);
	compare_counts(&c);
	compare_bounds(&c);
	compare_exits(&c);
	free(before->environment);
	*before = *now;
	free(now);
}
