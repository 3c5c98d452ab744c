/* SPDX-License-Identifier: MIT */
/* The versions of both ends of the socket. */
#include "cmd/versions.h"

#include <stdio.h>

#include "cmd/field.h"
#include "lib/base/build.h"

enum { PATIENCE_MS = 1000 };

char *versions_say(const struct session *session)
{
	owned_json *other = session_aside(session, "Version", PATIENCE_MS);
	char *text = NULL;
	int n = other ? asprintf(&text,
				"; pluginctl is %s (protocol %d), plugind is %s "
				"(protocol %lld)",
				kp_build_version, kp_build_protocol,
				field_text(other, "version", "?"),
				(long long)field_int(other, "protocol"))
		      : asprintf(&text,
				"; pluginctl is %s (protocol %d), plugind does not tell "
				"its version",
				kp_build_version, kp_build_protocol);
	return n < 0 ? NULL : text;
}
