/* SPDX-License-Identifier: MIT */
/* What functions of plugins return, made into what kplug knows. */
#include <stdio.h>
#include <string.h>

#include "lib/base/text.h"
#include "lib/plugin/abi.h"

static const char *const names[] = {
	[KP_OK] = "KP_OK",
	[KP_INVALID] = "KP_INVALID",
	[KP_UNSUPPORTED] = "KP_UNSUPPORTED",
	[KP_UNAVAILABLE] = "KP_UNAVAILABLE",
	[KP_NO_MEMORY] = "KP_NO_MEMORY",
	[KP_RUNTIME] = "KP_RUNTIME",
	[KP_DEVICE_LOST] = "KP_DEVICE_LOST",
	[KP_STALE] = "KP_STALE",
	[KP_CANCELLED] = "KP_CANCELLED",
};

static int is_known(int status)
{
	return status >= 0 && (size_t)status < sizeof(names) / sizeof(names[0]);
}

const char *kp_status_text(int status, char *text, size_t size)
{
	if (is_known(status))
		(void)snprintf(text, size, "%s", names[status]);
	else
		(void)snprintf(text, size, "KP_RUNTIME (%d)", status);
	return text;
}

int kp_status_known(int status)
{
	return is_known(status) ? status : KP_RUNTIME;
}

void kp_error_reset(struct kp_error *error)
{
	memset(error, 0, sizeof(*error));
	error->size = (uint32_t)sizeof(*error);
}

int kp_error_settle(struct kp_error *error, int status)
{
	char text[sizeof(error->text)];
	int known = kp_status_known(status);

	kp_text_clean_bytes(error->text, strnlen(error->text, sizeof(error->text)), text,
		sizeof(text));
	memcpy(error->text, text, sizeof(text));
	/* A plugin may have written over the head as well. */
	error->size = (uint32_t)sizeof(*error);
	error->flags = 0;
	error->reserved = 0;
	error->status = known;
	if (known != status)
		error->native_code = status;
	return known;
}
