/* SPDX-License-Identifier: MIT */
/*
 * One thing that plugind can be told, by its command line or its file: what it is called
 * there, and where its value goes. The table of all is here; who told is not known.
 */
#ifndef KP_DAEMON_SETTING_H
#define KP_DAEMON_SETTING_H

#include <stdbool.h>
#include <stddef.h>

#include "daemon/options.h"

/* SETTING_NAME bytes hold every name. */
enum { SETTINGS_MOST = 32, SETTING_NAME = 32 };

enum setting_kind {
	SETTING_PATH,
	SETTING_PATHS,
	SETTING_LEVEL,
	SETTING_SIGNING,
	SETTING_MS,
	SETTING_COUNT,
	SETTING_S,
	SETTING_MIB,
	SETTING_SWITCH,
	SETTING_ACTION
};

struct setting {
	const char *name; /* of the command line; the file has _ for - */
	enum setting_kind kind;
	size_t offset; /* in struct options */
	int action;    /* of SETTING_ACTION */
	bool not_in_file;
	const char *argument; /* NULL: it takes none */
	const char *help;
};

/* settings_count of them, SETTINGS_MOST at most. */
extern const struct setting settings[];
extern const size_t settings_count;

/* Its member of `options`. */
void *setting_member(struct options *options, const struct setting *setting);

/* A number from 1 on. */
bool setting_is_number(const struct setting *setting);

/* Has it been given a value? */
bool setting_is_set(struct options *options, const struct setting *setting);

/*
 * Takes this value; of paths it is one more. A relative path is one below `base`
 * (NULL: the working directory). `name` is what it is called where it was said.
 * Codes usage, bad_log_level, no_memory.
 */
int setting_set(struct options *options, const struct setting *setting, const char *name,
	const char *base, const char *value, struct kp_diag *diag)
	__attribute__((warn_unused_result));

/* Code usage: "object: message". Returns -1. */
int setting_usage(struct kp_diag *diag, const char *object, const char *message);

#endif
