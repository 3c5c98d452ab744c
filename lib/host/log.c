/* SPDX-License-Identifier: MIT */
/* One line a remark, in one write: threads do not mix. */
#include "lib/host/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/file.h"
#include "lib/base/text.h"

static const char *const names[] = {"error", "warning", "info", "debug"};
enum { LEVELS = sizeof(names) / sizeof(names[0]), LINE = 1024 };

/* What plugins that were started once for the process may say. */
static int process_most = KP_LOG_NONE;

bool kp_log_parse(const char *text, enum kp_log_level *level)
{
	for (int i = 0; i < LEVELS; i++)
		if (strcmp(text, names[i]) == 0) {
			*level = (enum kp_log_level)i;
			return true;
		}
	return false;
}

static void write_line(int level, const char *text)
{
	char clean[LINE], line[LINE + 32];

	kp_text_clean(text, clean, sizeof(clean));
	int length = snprintf(line, sizeof(line), "kplug: %s: %s\n", names[level], clean);
	/* A remark that cannot be written has no other place to go. */
	if (length > 0 && kp_file_write(STDERR_FILENO, line, (size_t)length) < 0)
		return;
}

void kp_log(const struct kp_log *log, enum kp_log_level level, const char *format, ...)
{
	char text[LINE];
	va_list arguments;

	if (level < KP_LOG_ERROR || level > KP_LOG_DEBUG ||
		(!log->write && level > log->most))
		return;
	va_start(arguments, format);
	(void)vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	if (log->write)
		log->write(log->context, level, text);
	else
		write_line(level, text);
}

void kp_log_process(int level, const char *text)
{
	if (level >= 0 && level < LEVELS && text &&
		level <= __atomic_load_n(&process_most, __ATOMIC_RELAXED))
		write_line(level, text);
}

void kp_log_set_process(enum kp_log_level most)
{
	__atomic_store_n(&process_most, (int)most, __ATOMIC_RELAXED);
}
