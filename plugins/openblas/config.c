/* SPDX-License-Identifier: MIT */
/*
 * A strict reader of the one object that this plugin accepts. It stops at the
 * first thing that is not expected, so it never needs the rest of JSON.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "failure.h"

enum { THREADS_MAX = 1024, KEY_SHOWN = 64 };

static const char blanks[] = " \t\r\n";

static const char *skip(const char *text)
{
	return text + strspn(text, blanks);
}

static int failed(struct kp_error *error, const char *what)
{
	return failure(error, KP_INVALID, "config: %s", what);
}

/* The bytes between the quotes, escapes as they stand: no known key has any. */
static int read_key(
	const char **text, const char **key, int *length, struct kp_error *error)
{
	const char *end = *text + 1;

	if (**text != '"')
		return failed(error, "a key in quotes is expected");
	while (*end && *end != '"')
		end += *end == '\\' && end[1] ? 2 : 1;
	if (!*end)
		return failed(error, "a key has no closing quote");
	*key = *text + 1;
	*length = end - *key < KEY_SHOWN ? (int)(end - *key) : KEY_SHOWN;
	*text = skip(end + 1);
	if (**text != ':')
		return failed(error, "a colon is expected after a key");
	*text = skip(*text + 1);
	return KP_OK;
}

static int read_threads(const char **text, struct config *config, struct kp_error *error)
{
	size_t digits = strspn(*text + (**text == '-'), "0123456789");
	char *end;
	long threads = strtol(*text, &end, 10);

	if (config->threads)
		return failed(error, "threads: given twice");
	if (!digits || (digits > 1 && **text == '0') || !*end ||
		!strchr(" \t\r\n,}", *end))
		return failed(error, "threads: an integer is expected");
	if (threads < 1 || threads > THREADS_MAX)
		return failed(error, "threads: 1 to 1024 is expected");
	config->threads = (int)threads;
	*text = skip(end);
	return KP_OK;
}

static int read_member(const char **text, struct config *config, struct kp_error *error)
{
	const char *key = "";
	int length = 0;
	int status = read_key(text, &key, &length, error);

	if (status != KP_OK)
		return status;
	if (length != (int)strlen("threads") ||
		memcmp(key, "threads", strlen("threads")) != 0)
		return failure(error, KP_INVALID,
			"config: unknown key \"%.*s\"; the key is \"threads\"", length,
			key);
	return read_threads(text, config, error);
}

int config_parse(const char *text, struct config *config, struct kp_error *error)
{
	struct config read = {0};

	text = skip(text);
	if (*text != '{')
		return failed(error, "object expected");
	text = skip(text + 1);
	while (*text != '}') {
		int status = read_member(&text, &read, error);

		if (status != KP_OK)
			return status;
		if (*text == ',' && *skip(text + 1) == '"')
			text = skip(text + 1);
		else if (*text != '}')
			return failed(
				error, "a comma and a key, or the end, is expected");
	}
	if (*skip(text + 1))
		return failed(error, "nothing is expected after the object");
	*config = read;
	return KP_OK;
}
