/* SPDX-License-Identifier: MIT */
/* Lists that many ask for, made once a generation. */
#include "daemon/method/listing.h"

#include <string.h>

#include "daemon/daemon.h"
#include "daemon/method/method.h"

bool listing_is_of(const char *operation, const char *asked)
{
	size_t n = asked ? strlen(asked) : 0;
	return !asked || (strncmp(operation, asked, n) == 0 &&
				 (operation[n] == '\0' || operation[n] == '/'));
}

void listing_reply(struct daemon *daemon, struct call *call,
	enum generation_message which, listing_fn *make)
{
	size_t size = 0;

	daemon_table(daemon);
	if (!daemon->generation.messages[which].bytes) {
		char *message = make(daemon, NULL, &size);
		generation_keep(&daemon->generation, which, message, size);
	}
	call_reply_message(call, daemon->generation.messages[which].bytes,
		daemon->generation.messages[which].size);
}
