/* SPDX-License-Identifier: MIT */
/* Writes a status, the driver's number and a sentence into the caller's error. */
#include "failure.h"

#include <stdarg.h>
#include <stdio.h>

int failure(
	struct kp_error *error, int status, int64_t native_code, const char *format, ...)
{
	va_list arguments;

	if (!error || !KP_COVERS(error, text))
		return status;
	error->status = status;
	error->native_code = native_code;
	va_start(arguments, format);
	vsnprintf(error->text, sizeof(error->text), format, arguments);
	va_end(arguments);
	return status;
}
