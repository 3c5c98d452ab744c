/* SPDX-License-Identifier: MIT */
/*
 * Where remarks go: to the application's function, else to stderr as far as $KPLUG_LOG
 * asks for them. The only place of lib that writes anywhere.
 */
#ifndef KP_LIB_HOST_LOG_H
#define KP_LIB_HOST_LOG_H

#include <stdbool.h>

/* Levels of kp_host.log; KP_LOG_NONE: nothing is asked for. */
enum kp_log_level {
	KP_LOG_NONE = -1,
	KP_LOG_ERROR,
	KP_LOG_WARNING,
	KP_LOG_INFO,
	KP_LOG_DEBUG
};

/* Borrowed: what kp_options said. */
struct kp_log {
	void (*write)(void *context, int level, const char *text);
	void *context;
	enum kp_log_level most; /* of $KPLUG_LOG */
};

/* "error", "warning", "info", "debug"; false for what is none of them. */
bool kp_log_parse(const char *text, enum kp_log_level *level);

void kp_log(const struct kp_log *log, enum kp_log_level level, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* For those that have no handle: as the last handle's $KPLUG_LOG said. */
void kp_log_process(int level, const char *text);
void kp_log_set_process(enum kp_log_level most);

#endif
