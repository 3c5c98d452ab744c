/* SPDX-License-Identifier: MIT */
/* Codes to statuses. */
#include "lib/host/fault.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "lib/plugin/abi.h"

/* Every other code is about what was given: KP_INVALID. */
static const struct {
	const char *code;
	int status;
} statuses[] = {
	{"no_memory", KP_NO_MEMORY},
	{"no_daemon", KP_UNAVAILABLE},
	{"untrusted_daemon", KP_UNAVAILABLE},
	{"disconnected", KP_UNAVAILABLE},
	{"timed_out", KP_UNAVAILABLE},
	{"bad_view", KP_UNAVAILABLE},
	{"bad_reply", KP_UNAVAILABLE},
	{"no_table", KP_UNAVAILABLE},
	{"no_threads", KP_UNAVAILABLE},
	{"io_error", KP_UNAVAILABLE},
	{"interrupted", KP_UNAVAILABLE},
	{"not_permitted", KP_UNAVAILABLE},
	{"override_ineligible", KP_UNSUPPORTED},
	{"nothing_eligible", KP_UNSUPPORTED},
};

int kp_fault_status(const char *code)
{
	for (size_t i = 0; i < sizeof(statuses) / sizeof(statuses[0]); i++)
		if (strcmp(code, statuses[i].code) == 0)
			return statuses[i].status;
	return KP_INVALID;
}

int kp_fault_say(struct kp_error *error, int status, const char *format, ...)
{
	va_list arguments;

	if (!error || (error->size > 0 && !KP_COVERS(error, text)))
		return status;
	kp_error_reset(error);
	va_start(arguments, format);
	(void)vsnprintf(error->text, sizeof(error->text), format, arguments);
	va_end(arguments);
	return kp_error_settle(error, status);
}

int kp_fault(struct kp_error *error, const struct kp_diag *diag)
{
	return kp_fault_say(error, kp_fault_status(diag->code), "%.480s", diag->message);
}
