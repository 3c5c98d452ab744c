/* SPDX-License-Identifier: MIT */
/* Which application reports, and how often its user may. */
#include <string.h>

#include "daemon/application/attached_client.h"
#include "daemon/daemon.h"

enum { REPORTS_MS = 60000, REPORTS_MOST = 60 };

static struct application *find(const struct attached *attached, pid_t pid, unsigned uid)
{
	struct application *at = attached->first;

	while (at && (!at->call || at->pid != pid || at->uid != uid))
		at = at->next;
	return at;
}

const char *attached_name(const struct attached *attached, pid_t pid, unsigned uid)
{
	const struct application *application = find(attached, pid, uid);

	return application ? application->name : NULL;
}

int attached_may_report(
	struct attached *attached, pid_t pid, unsigned uid, struct kp_diag *diag)
{
	struct application *own = find(attached, pid, uid);
	uint64_t now = uv_now(&attached->daemon->loop);
	unsigned count = 0;

	for (struct application *at = attached->first; at; at = at->next) {
		if (at->reports_ms + REPORTS_MS <= now)
			at->reports = 0;
		count += at->uid == uid ? at->reports : 0;
	}
	if (own && own->reports++ == 0)
		own->reports_ms = now;
	if (count < REPORTS_MOST)
		return 0;
	return kp_diag_set(diag, "busy", "Report",
		"applications of uid %u have reported %u times within a minute, which is "
		"as much as is kept",
		uid, count);
}
