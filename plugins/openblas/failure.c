/* SPDX-License-Identifier: MIT */
/* Writes a sentence into the caller's error. */
#include "failure.h"

#include <stdarg.h>
#include <stdio.h>

int failure(struct kp_error *error, int status, const char *format, ...)
{
	va_list arguments;

	if (!error || !KP_COVERS(error, text))
		return status;
	error->status = status;
	va_start(arguments, format);
	vsnprintf(error->text, sizeof(error->text), format, arguments);
	va_end(arguments);
	return status;
}
