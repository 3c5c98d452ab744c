/* SPDX-License-Identifier: MIT */
/* Text and JSON to stdout, errors and remarks to stderr. */
#include "cmd/output.h"

#include <errno.h>
#include <float.h>
#include <math.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "cmd/wrap.h"
#include "lib/base/owned.h"
#include "lib/base/json.h"
#include "lib/base/text.h"

enum { DEFAULT_WIDTH = 80, LEAST_WIDTH = 16 };

static size_t terminal_width(int fd)
{
	struct winsize size;
	if (ioctl(fd, TIOCGWINSZ, &size) < 0 || size.ws_col == 0)
		return DEFAULT_WIDTH;
	return size.ws_col < LEAST_WIDTH ? LEAST_WIDTH : size.ws_col;
}

void output_init(struct output *output)
{
	const char *no_colour = getenv("NO_COLOR");
	const char *term = getenv("TERM");
	bool terminal = isatty(STDOUT_FILENO);
	*output = (struct output){
		.colour = terminal && !(no_colour && *no_colour) && term &&
			  strcmp(term, "dumb") != 0,
		.progress = isatty(STDERR_FILENO),
		.width = terminal ? terminal_width(STDOUT_FILENO) : 0,
	};
}

char *output_clean(const char *text)
{
	size_t size;
	if (__builtin_mul_overflow(strlen(text) + 1, (size_t)4, &size))
		return NULL;
	char *clean = malloc(size);
	if (!clean)
		return NULL;
	kp_text_clean(text, clean, size);
	for (char *at = clean; *at; at++)
		if (*at == '\n' || *at == '\t')
			*at = ' ';
	return clean;
}

static char *clean_format(const char *format, va_list arguments)
{
	owned_text raw = NULL;
	if (vasprintf(&raw, format, arguments) < 0) {
		raw = NULL;
		return NULL;
	}
	return output_clean(raw);
}

/* ---- text -------------------------------------------------------------------- */

void output_put(
	const struct output *output, enum tone tone, const char *text, size_t size)
{
	static const char *const codes[] = {
		[TONE_PLAIN] = NULL,
		[TONE_TITLE] = "1",
		[TONE_GOOD] = "32",
		[TONE_WARN] = "33",
		[TONE_BAD] = "31",
		[TONE_FAINT] = "2",
	};
	bool coloured = output->colour && codes[tone] && size > 0;
	if (coloured)
		(void)printf("\x1b[%sm", codes[tone]);
	(void)fwrite(text, 1, size, stdout);
	if (coloured)
		(void)fputs("\x1b[0m", stdout);
}

void output_spaces(size_t count)
{
	(void)printf("%*s", (int)count, "");
}

void output_end_line(void)
{
	(void)putchar('\n');
}

void output_fields(const struct output *output, const char *const *texts, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (i > 0)
			(void)putchar('\t');
		output_put(output, TONE_PLAIN, texts[i], strlen(texts[i]));
	}
	output_end_line();
}

void output_line(const struct output *output, enum tone tone, const char *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	owned_text text = clean_format(format, arguments);
	va_end(arguments);
	if (text)
		output_put(output, tone, text, strlen(text));
	output_end_line();
}

void output_words(const struct output *output, size_t indent, const char *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	owned_text text = clean_format(format, arguments);
	va_end(arguments);
	size_t width = output->width ? output->width : DEFAULT_WIDTH;
	const char *rest = text;
	while (rest && *rest) {
		const char *line = rest;
		size_t size = wrap_line(line, width - indent, &rest);
		output_spaces(indent);
		output_put(output, TONE_PLAIN, line, size);
		output_end_line();
	}
}

void output_remark(const struct output *output, const char *format, ...)
{
	va_list arguments;
	if (output->quiet || output->json)
		return;
	va_start(arguments, format);
	owned_text text = clean_format(format, arguments);
	va_end(arguments);
	(void)fflush(stdout);
	(void)fprintf(stderr, "%s\n", text ? text : "");
}

void output_warn(const struct output *output, const char *format, ...)
{
	va_list arguments;
	if (output->quiet)
		return;
	va_start(arguments, format);
	owned_text text = clean_format(format, arguments);
	va_end(arguments);
	(void)fflush(stdout);
	(void)fprintf(stderr, "pluginctl: warning: %s\n", text ? text : "");
}

void output_progress(const struct output *output, const char *format, ...)
{
	va_list arguments;
	if (!output->progress || output->quiet || output->json)
		return;
	va_start(arguments, format);
	owned_text text = clean_format(format, arguments);
	va_end(arguments);
	if (!text)
		return;
	const char *rest;
	size_t size = wrap_line(text, terminal_width(STDERR_FILENO) - 1, &rest);
	(void)fprintf(stderr, "\r\x1b[K%.*s", (int)size, text);
	(void)fflush(stderr);
}

/* ---- JSON -------------------------------------------------------------------- */

static void put_point(uint32_t point)
{
	if (point > 0xffff)
		(void)printf("\\u%04x\\u%04x", 0xd7c0 + (point >> 10),
			0xdc00 + (point & 0x3ff));
	else
		(void)printf("\\u%04x", point);
}

/*
 * jansson escapes C0. DEL and C1 are control bytes too, and what is not to be shown can
 * stand inside strings only: each raw one in the text becomes \uNNNN.
 */
static void put_escaped(const char *text)
{
	const char *end = text + strlen(text), *from = text;
	uint32_t point = 0;

	for (size_t n; text < end; text += n) {
		n = kp_text_character(text, (size_t)(end - text), &point);
		if (n > 0 && !kp_text_is_shown(point)) {
			(void)fwrite(from, 1, (size_t)(text - from), stdout);
			put_point(point);
			from = text + n;
		}
		n = n ? n : 1;
	}
	(void)fwrite(from, 1, (size_t)(end - from), stdout);
	(void)putchar('\n');
}

/*
 * 15 digits print what was meant: 0.1, not 0.10000000000000001. Next to the largest
 * number they round up to what a reader takes for infinity: there all 17 are needed.
 */
static bool is_extreme(const json_t *value)
{
	static const double largest = 1.79769313486231e308;
	const char *key;
	json_t *item;
	size_t i;
	if (json_is_real(value))
		return fabs(json_real_value(value)) > largest;
	json_object_foreach ((json_t *)(uintptr_t)value, key, item)
		if (is_extreme(item))
			return true;
	json_array_foreach ((json_t *)(uintptr_t)value, i, item)
		if (is_extreme(item))
			return true;
	return false;
}

static int put_json(const json_t *value, size_t flags)
{
	int digits = is_extreme(value) ? DBL_DECIMAL_DIG : DBL_DIG;
	owned_text text =
		kp_json_dumps(value, flags | JSON_REAL_PRECISION((size_t)digits));
	if (!text) {
		(void)fputs("{\"error\": {\"code\": \"no_memory\", "
			    "\"message\": \"memory is exhausted\", \"object\": \"\"}}\n",
			stdout);
		return KP_EXIT_FAILED;
	}
	put_escaped(text);
	return KP_EXIT_OK;
}

int output_json(const json_t *value)
{
	return put_json(value, JSON_INDENT(2));
}

int output_json_line(const json_t *value)
{
	int status = put_json(value, JSON_COMPACT);
	return output_flush() ? status : KP_EXIT_FAILED;
}

bool output_flush(void)
{
	return fflush(stdout) == 0 && !ferror(stdout);
}

/* ---- failures ---------------------------------------------------------------- */

static void fail_text(const struct output *output, const char *message)
{
	owned_text text = output_clean(message);
	(void)fflush(stdout);
	(void)fprintf(stderr, "pluginctl: %s%s%s\n", output->what ? output->what : "",
		output->what ? ": " : "", text ? text : "memory is exhausted");
}

static int fail_json(
	const struct output *output, enum kp_exit status, const json_t *parameters)
{
	json_t *error = json_copy((json_t *)(uintptr_t)parameters);
	if (json_array_size(output->changes) > 0)
		(void)json_object_set(error, "changes", output->changes);
	json_t *document = json_pack("{s:o}", "error", error);
	int result = output_json(document);
	json_decref(document);
	return result == KP_EXIT_OK ? (int)status : result;
}

int output_fail_reply(
	const struct output *output, enum kp_exit status, const json_t *parameters)
{
	const char *message = json_string_value(json_object_get(parameters, "message"));
	const char *nearest = json_string_value(json_object_get(parameters, "nearest"));
	if (output->json)
		return fail_json(output, status, parameters);
	if (!message)
		message = "no reason was given";
	owned_text with_nearest = NULL;
	if (nearest && !strstr(message, nearest) &&
		asprintf(&with_nearest, "%s; did you mean %s?", message, nearest) < 0)
		with_nearest = NULL;
	fail_text(output, with_nearest ? with_nearest : message);
	return status;
}

int output_fail(
	const struct output *output, enum kp_exit status, const struct kp_diag *diag)
{
	json_t *parameters = kp_diag_json(diag);
	int result = output_fail_reply(output, status, parameters);
	json_decref(parameters);
	return result;
}

/* What goes wrong on this side of the socket has statuses of its own. */
static enum kp_exit status_of(const char *code)
{
	return strcmp(code, "no_daemon") == 0 ? KP_EXIT_NO_DAEMON
					      : kp_error_exit(kp_error_name(code));
}

int output_fail_diag(const struct output *output, const struct kp_diag *diag)
{
	return output_fail(output, status_of(diag->code), diag);
}

int output_refuse(const struct output *output, const char *code, const char *object,
	const char *format, ...)
{
	char message[512];
	struct kp_diag diag;
	va_list arguments;
	va_start(arguments, format);
	(void)vsnprintf(message, sizeof(message), format, arguments);
	va_end(arguments);
	kp_diag_set(&diag, code, object, "%s", message);
	return output_fail_diag(output, &diag);
}

int output_no_memory(const struct output *output)
{
	return output_refuse(output, "no_memory", "", "memory is exhausted");
}

int output_finish(int status)
{
	if (fflush(stdout) == 0 && !ferror(stdout))
		return status;
	(void)fprintf(stderr, "pluginctl: cannot write to standard output: %s\n",
		strerror(errno));
	return KP_EXIT_FAILED;
}
