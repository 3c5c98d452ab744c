/* SPDX-License-Identifier: MIT */
/* Lines on stderr for people and for the journal. */
#include "daemon/log.h"

#include <poll.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/text.h"

/* A pipe that polls writable takes this much at once, whole (PIPE_BUF). */
enum { LINE_BYTES = 4096, DIAG_BYTES = 1400 };

static const char own_name[] = "plugind: ";

static bool is_journal(int fd)
{
	const char *stream = getenv("JOURNAL_STREAM");
	char own[48];
	struct stat st;

	if (!stream || fstat(fd, &st) < 0)
		return false;
	(void)snprintf(
		own, sizeof(own), "%ju:%ju", (uintmax_t)st.st_dev, (uintmax_t)st.st_ino);
	return strcmp(stream, own) == 0;
}

void log_init(struct log *log, enum log_level level, int fd)
{
	*log = (struct log){.level = level, .priority = is_journal(fd), .fd = fd};
}

bool log_level_parse(const char *text, enum log_level *level)
{
	static const struct {
		const char *name;
		enum log_level level;
	} names[] = {{"error", LOG_ERROR}, {"warning", LOG_WARNING}, {"info", LOG_INFO},
		{"debug", LOG_DEBUG}};
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (strcmp(names[i].name, text) != 0)
			continue;
		*level = names[i].level;
		return true;
	}
	return false;
}

/* A reader that has stopped must not stop us: such lines are counted and lost. */
static bool has_room(int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLOUT};
	return poll(&p, 1, 0) == 1 && p.revents & POLLOUT;
}

static void write_line(struct log *log, const char *line, size_t size)
{
	if (!has_room(log->fd) || write(log->fd, line, size) != (ssize_t)size)
		log->lost++;
}

static void tell_lost(struct log *log)
{
	char line[96];
	if (!log->lost || !has_room(log->fd))
		return;
	int n = snprintf(line, sizeof(line), "%s%zu lines of log were lost\n",
		log->priority ? "<4>" : own_name, log->lost);
	log->lost = 0;
	write_line(log, line, (size_t)n);
}

static void make_one_line(char *text)
{
	for (; *text; text++)
		if (*text == '\n' || *text == '\r')
			*text = ' ';
}

void log_line(struct log *log, enum log_level level, const char *format, ...)
{
	char message[LINE_BYTES];
	char line[LINE_BYTES];
	va_list arguments;

	if (level > log->level && level != LOG_AUDIT)
		return;
	va_start(arguments, format);
	int n = vsnprintf(message, sizeof(message), format, arguments);
	va_end(arguments);
	if (n < 0)
		return;
	tell_lost(log);
	make_one_line(message);
	/* The journal knows by itself who we are. */
	int head = log->priority ? snprintf(line, sizeof(line), "<%d>", level)
				 : snprintf(line, sizeof(line), "%s", own_name);
	size_t used = (size_t)head;
	/* What a plugin, a file or a client says must not act on the terminal. */
	used += kp_text_clean(message, line + used, sizeof(line) - used - 1);
	line[used++] = '\n';
	write_line(log, line, used);
}

void log_diag(struct log *log, enum log_level level, const struct kp_diag *diag)
{
	char text[DIAG_BYTES];
	kp_diag_text(diag, text, sizeof(text));
	log_line(log, level, "%s [%s]", text, diag->code);
}
