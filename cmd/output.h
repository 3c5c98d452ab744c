/* SPDX-License-Identifier: MIT */
/*
 * The only place of pluginctl that prints. Knows whether it is for a terminal
 * and how wide that is, whether to be text or JSON; knows no command.
 */
#ifndef CMD_OUTPUT_H
#define CMD_OUTPUT_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "lib/base/diag.h"
#include "lib/protocol/message.h"

enum tone { TONE_PLAIN, TONE_TITLE, TONE_GOOD, TONE_WARN, TONE_BAD, TONE_FAINT };

struct output {
	bool json;
	bool quiet;
	bool colour;	  /* stdout is a terminal that may have it */
	bool progress;	  /* stderr is a terminal */
	size_t width;	  /* columns of stdout; 0: as long as it takes */
	const char *what; /* the command, for errors; NULL before it is known */
	json_t *changes;  /* an array: what a failure that follows does not undo; or NULL
			   */
};

void output_init(struct output *output);

/*
 * A copy that is safe to show on one line: kp_text_clean, line ends and tabs as
 * blanks. malloc'ed; NULL when memory is exhausted.
 */
char *output_clean(const char *text);

/* Bytes that output_clean made safe, to stdout. */
void output_put(
	const struct output *output, enum tone tone, const char *text, size_t size);
void output_spaces(size_t count);
void output_end_line(void);
/* One line of texts that output_clean made safe, with tabs between them. */
void output_fields(const struct output *output, const char *const *texts, size_t count);

/* One line to stdout, cleaned, as it is. */
void output_line(const struct output *output, enum tone tone, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* Words to stdout, cleaned, wrapped to the terminal with an indent. */
void output_words(const struct output *output, size_t indent, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* One line to stderr: a remark beside the answer; nothing when quiet or JSON. */
void output_remark(const struct output *output, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* `pluginctl: warning: ...` on stderr, beside JSON, too: the answer lacks something. */
void output_warn(const struct output *output, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* Replaces the line on the terminal at stderr; "" clears it. */
void output_progress(const struct output *output, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/*
 * The one JSON document of a command. Strings are escaped so that no control
 * byte, of C0, DEL or C1, is raw. Returns KP_EXIT_OK or, for memory, KP_EXIT_FAILED.
 */
int output_json(const json_t *value);

/* The same as one line of many, for commands that tell as they go; flushed. */
int output_json_line(const json_t *value);
/* Nobody waits for what was printed so far; false: it cannot be written. */
bool output_flush(void);

/*
 * Says why nothing, or no more, was done: `pluginctl: what: why` on stderr or
 * {"error": {...}} on stdout, with "changes" in it where there were some. Returns
 * `status`.
 */
int output_fail(
	const struct output *output, enum kp_exit status, const struct kp_diag *diag);
/* The same; the status is that of the code. */
int output_fail_diag(const struct output *output, const struct kp_diag *diag);
/* The same with the parameters of an error reply: code, message, object, more. */
int output_fail_reply(
	const struct output *output, enum kp_exit status, const json_t *parameters);
/* The same from its parts; the status is that of the code. */
int output_refuse(const struct output *output, const char *code, const char *object,
	const char *format, ...) __attribute__((format(printf, 4, 5)));
int output_no_memory(const struct output *output);

/* Flushes; KP_EXIT_FAILED, said on stderr, when stdout could not take it all. */
int output_finish(int status);

#endif
