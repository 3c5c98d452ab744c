/* SPDX-License-Identifier: MIT */
/* The log: one line an event on stderr. Never waits for its reader. */
#ifndef KP_DAEMON_LOG_H
#define KP_DAEMON_LOG_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/base/diag.h"

/* The numbers are those of syslog(3), which the journal reads as "<3>". */
enum log_level {
	LOG_ERROR = 3,
	LOG_WARNING = 4,
	LOG_AUDIT = 5, /* daemon/audit.h; written whatever the level is */
	LOG_INFO = 6,
	LOG_DEBUG = 7,
};

struct log {
	enum log_level level; /* what is less urgent is left out */
	bool priority;	      /* lines begin with "<N>", not with our name */
	int fd;
	size_t lost; /* lines that the reader was too slow for */
};

/* Writes to fd; lines get a priority when $JOURNAL_STREAM names it. */
void log_init(struct log *log, enum log_level level, int fd);

/* "error", "warning", "info", "debug". */
bool log_level_parse(const char *text, enum log_level *level);

/*
 * One line "plugind: ..."; line breaks inside become blanks, other control bytes and
 * bad UTF-8 \xNN.
 */
void log_line(struct log *log, enum log_level level, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* The text of a diagnostic with its code: "message [code]". */
void log_diag(struct log *log, enum log_level level, const struct kp_diag *diag);

#endif
