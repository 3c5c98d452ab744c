/* SPDX-License-Identifier: MIT */
/*
 * A strict reader of the one object that this plugin accepts. It stops at the first
 * thing that is not expected, so it never needs the rest of JSON.
 */
#include "config.h"

#include <string.h>

#include "failure.h"

enum { KEY_SHOWN = 64 };

static const char blanks[] = " \t\r\n";

static const char *skip(const char *text)
{
	return text + strspn(text, blanks);
}

static int failed(struct kp_error *error, const char *what)
{
	return failure(error, KP_INVALID, 0, "config: %s", what);
}

/* The bytes between quotes; a text with an escape is none that is known here. */
static int read_string(const char **text, const char **string, size_t *length,
	const char *wanted, struct kp_error *error)
{
	const char *start = *text + 1;

	if (**text != '"')
		return failed(error, wanted);
	*length = strcspn(start, "\"\\");
	if (start[*length] != '"')
		return failed(
			error, "a text without escapes and with both quotes is expected");
	*string = start;
	*text = skip(start + *length + 1);
	return KP_OK;
}

static int read_path(const char **text, struct config *config, struct kp_error *error)
{
	const char *path = "";
	size_t length = 0;
	int status =
		read_string(text, &path, &length, "cublaslt: a text is expected", error);

	if (status != KP_OK)
		return status;
	if (*config->cublaslt)
		return failed(error, "cublaslt: given twice");
	if (*path != '/' || length >= sizeof(config->cublaslt))
		return failed(error, "cublaslt: an absolute path is expected");
	memcpy(config->cublaslt, path, length);
	config->cublaslt[length] = '\0';
	return KP_OK;
}

static int read_member(const char **text, struct config *config, struct kp_error *error)
{
	static const char known[] = "cublaslt";
	const char *key = "";
	size_t length = 0;
	int status =
		read_string(text, &key, &length, "a key in quotes is expected", error);

	if (status != KP_OK)
		return status;
	if (**text != ':')
		return failed(error, "a colon is expected after a key");
	*text = skip(*text + 1);
	if (length != strlen(known) || memcmp(key, known, length) != 0)
		return failure(error, KP_INVALID, 0,
			"config: unknown key \"%.*s\"; the key is \"%s\"",
			(int)(length < KEY_SHOWN ? length : KEY_SHOWN), key, known);
	return read_path(text, config, error);
}

int config_parse(const char *text, struct config *config, struct kp_error *error)
{
	struct config read = {""};

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
