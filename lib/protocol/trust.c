/* SPDX-License-Identifier: MIT */
/* The uid of a peer against those that are believed. */
#include "lib/protocol/trust.h"

#include <pwd.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/owned.h"
#include "lib/base/place.h"
#include "lib/protocol/client.h"

enum { PASSWD_BYTES = 4096 };

/* The user that plugind runs as where it is the machine's. */
static bool find_kplug(uid_t *uid)
{
	char buffer[PASSWD_BYTES];
	struct passwd entry, *found = NULL;

	if (getpwnam_r("kplug", &entry, buffer, sizeof(buffer), &found) != 0 || !found)
		return false;
	*uid = found->pw_uid;
	return true;
}

int kp_client_trust(const struct kp_client *client, uid_t *owner, struct kp_diag *diag)
{
	const char *path = kp_client_path(client);
	owned_text system = kp_place_socket(true);
	uid_t kplug;

	if (kp_client_peer(client, owner, diag) < 0)
		return -1;
	if (!system)
		return kp_diag_no_memory(diag);
	bool is_system = strcmp(path, system) == 0 && find_kplug(&kplug);
	/* A service manager listens for it, as root: what it keeps is still its own. */
	if (*owner == 0 && is_system)
		*owner = kplug;
	if (*owner == 0 || *owner == geteuid() || (is_system && *owner == kplug))
		return 0;
	return kp_diag_set(diag, "untrusted_daemon", path,
		"uid %u listens at %s: only root is believed, this user (uid %u) and, at "
		"%s, the user kplug",
		(unsigned)*owner, path, (unsigned)geteuid(), system);
}
