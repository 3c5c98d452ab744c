/* SPDX-License-Identifier: MIT */
/* Fingerprint: do two machines decide alike? */
#include "daemon/method/method.h"

#include <stdlib.h>
#include <string.h>

#include "daemon/application/fingerprint.h"
#include "daemon/daemon.h"
#include "daemon/scan/settle.h"
#include "daemon/store/digest.h"
#include "lib/base/json.h"
#include "lib/registry/registry.h"

/* The lines, each with its end, as one text; malloc'ed. */
static char *text_of(const json_t *lines, size_t *size)
{
	const json_t *line;
	size_t i, room = 1, used = 0;

	json_array_foreach ((json_t *)(uintptr_t)lines, i, line)
		room += json_string_length(line) + 1;
	char *text = malloc(room);
	if (!text)
		return NULL;
	json_array_foreach ((json_t *)(uintptr_t)lines, i, line) {
		size_t length = json_string_length(line);
		memcpy(text + used, json_string_value(line), length);
		text[used + length] = '\n';
		used += length + 1;
	}
	*size = used;
	return text;
}

static json_t *reply_json(struct daemon *daemon, const json_t *parameters, json_t *lines)
{
	const char *device = kp_json_text(parameters, "device");
	char digest[DIGEST_TEXT];
	size_t size;
	char *text = text_of(lines, &size);

	if (!text)
		return NULL;
	digest_bytes(text, size, digest);
	free(text);
	return json_pack("{s:s, s:s?, s:I, s:o, s:o*}", "digest", digest, "device",
		device, "generation", (json_int_t)daemon->generation.number, "pending",
		kp_registry_pending(daemon->registry), "lines",
		json_is_true(json_object_get(parameters, "lines")) ? json_incref(lines)
								   : NULL);
}

static void answer(struct daemon *daemon, struct call *call)
{
	const json_t *parameters = call_parameters(call);
	const struct kp_table *table = daemon_table(daemon);
	json_t *lines;
	struct kp_diag diag;

	if (fingerprint_lines(table, &daemon->families, &daemon->decisions,
		    kp_json_text(parameters, "device"), &lines, &diag) < 0) {
		call_fail(call, &diag, NULL);
		return;
	}
	call_reply(call, reply_json(daemon, parameters, lines));
	json_decref(lines);
}

static void fingerprint(struct daemon *daemon, struct call *call)
{
	settle(daemon, call, json_object_get(call_parameters(call), "settle_ms"), answer);
}

const struct method method_fingerprint[] = {
	{"Fingerprint", ROLE_OBSERVER, fingerprint},
	{NULL, ROLE_ADMIN, NULL},
};
