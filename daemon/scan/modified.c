/* SPDX-License-Identifier: MIT */
/* From "its times are others" to "its bytes are others". */
#include "daemon/scan/modified.h"

#include <stdio.h>
#include <string.h>

#include "daemon/daemon.h"
#include "daemon/event.h"
#include "lib/base/json.h"

static const char KIND[] = "modified_in_place";

int modified_init(struct modified *modified)
{
	modified->plugins = json_object();
	return modified->plugins ? 0 : -1;
}

void modified_finish(struct modified *modified)
{
	json_decref(modified->plugins);
	modified->plugins = NULL;
}

/* A signature or a key. */
static bool is_seal(const char *path)
{
	const char *dot = strrchr(path, '.');

	return dot && (strcmp(dot, ".minisig") == 0 || strcmp(dot, ".pub") == 0);
}

void modified_note(struct modified *modified, const struct daemon *daemon,
	const char *plugin, const char *path)
{
	struct kp_library library;
	bool is_known = kp_registry_library(daemon->registry, plugin, &library);

	/* No application has a copy of these. */
	if (is_seal(path))
		return;
	/* Of one that waits for its verdict it is known already what it was. */
	if (json_object_get(modified->plugins, plugin))
		return;
	(void)json_object_set_new(modified->plugins, plugin,
		json_pack("{s:o, s:s?}", "path", kp_json_clean_string(path), "was",
			is_known ? library.closure : NULL));
}

/* One that was only touched, or copied over itself, is what it was. */
static bool is_other(const json_t *noted, const struct kp_verdict *verdict)
{
	const char *was = kp_json_text(noted, "was");

	return !was || strcmp(was, verdict->closure) != 0;
}

void modified_tell(struct modified *modified, struct daemon *daemon, const char *plugin,
	const struct kp_verdict *verdict)
{
	const json_t *noted = json_object_get(modified->plugins, plugin);
	char message[1024];

	if (noted && is_other(noted, verdict)) {
		(void)snprintf(message, sizeof(message),
			"%.700s was written to in place: applications keep the copy that "
			"was checked; replace a library by rename instead",
			kp_json_text(noted, "path"));
		log_line(
			&daemon->log, LOG_WARNING, "%s: [%s]: %s", plugin, KIND, message);
		event_note(daemon, KIND, plugin, NULL, message);
	}
	modified_forget(modified, plugin);
}

void modified_forget(struct modified *modified, const char *plugin)
{
	(void)json_object_del(modified->plugins, plugin);
}
