/* SPDX-License-Identifier: MIT */
/* Errors without a call. */
#include "daemon/socket/refusal.h"

#include <jansson.h>

#include "lib/protocol/message.h"

/* Takes the parameters. */
static char *print(const char *error, json_t *parameters, size_t *size)
{
	char *text = parameters ? kp_error_print(error, parameters, size) : NULL;

	json_decref(parameters);
	return text;
}

char *refusal_print(const struct kp_diag *diag, size_t *size)
{
	json_t *parameters = kp_diag_json(diag);

	if (json_object_set_new(parameters, "nearest", json_null()) < 0) {
		json_decref(parameters);
		parameters = NULL;
	}
	return print(KP_INTERFACE ".InvalidArgument", parameters, size);
}

char *refusal_of_files(const struct role_held *held, size_t *size)
{
	struct kp_diag diag;

	(void)role_refuse(NULL, "sending a file descriptor", held, ROLE_ADMIN, &diag);
	return print(kp_error_name(diag.code), kp_diag_json(&diag), size);
}
