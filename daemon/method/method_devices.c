/* SPDX-License-Identifier: MIT */
/* Devices: what there is to run kernels on, once the driver has been asked. */
#include "daemon/method/method.h"

#include <stdint.h>
#include <stdlib.h>

#include "daemon/daemon.h"
#include "daemon/devices.h"
#include "daemon/socket/wait.h"
#include "lib/base/json.h"
#include "lib/base/owned.h"
#include "lib/base/text.h"

struct look {
	uint64_t number;
};

static bool has_looked(struct daemon *daemon, void *context)
{
	const struct look *look = context;

	return devices_has_done(daemon->devices, look->number);
}

static void fail_no_device(struct daemon *daemon, struct call *call, const char *name)
{
	const char *names[KP_PLATFORM_DEVICES];
	char offer[KP_TEXT_OFFER];
	struct kp_diag diag;
	size_t count = daemon->platform.n_devices;

	for (size_t i = 0; i < count; i++)
		names[i] = daemon->platform.devices[i].id;
	kp_text_offer(name, names, count, "there is", offer);
	kp_diag_set(
		&diag, "no_such_device", name, "there is no device %s%s", name, offer);
	call_fail(call, &diag, kp_text_nearest(name, names, count));
}

static void answer(struct daemon *daemon, struct call *call, void *context)
{
	const char *only = kp_json_text(call_parameters(call), "device");
	json_t *reply = devices_json(daemon, only);

	(void)context;
	daemon_table(daemon);
	if (reply && only && json_array_size(json_object_get(reply, "devices")) == 0) {
		json_decref(reply);
		fail_no_device(daemon, call, only);
		return;
	}
	call_reply(call, reply);
}

/* A question costs a worker, and may hang: not for everybody to repeat. */
static bool may_refresh(struct call *call)
{
	struct kp_diag diag;

	if (call_role(call) >= ROLE_OPERATOR)
		return true;
	(void)role_refuse("Devices", "to ask the driver again",
		&(struct role_held){call_role(call), call_uid(call)}, ROLE_OPERATOR,
		&diag);
	call_fail(call, &diag, NULL);
	return false;
}

static void devices(struct daemon *daemon, struct call *call)
{
	bool refresh = json_is_true(json_object_get(call_parameters(call), "refresh"));
	struct look *look;

	if (refresh && !may_refresh(call))
		return;
	look = malloc(sizeof(*look));
	if (!look) {
		call_reply(call, NULL);
		return;
	}
	look->number = devices_look(daemon->devices, refresh);
	wait_for(daemon, call,
		&(struct wait_request){.timeout_ms = -1,
			.is_over = has_looked,
			.run = answer,
			.context = look});
}

const struct method method_devices[] = {
	{"Devices", ROLE_OBSERVER, devices},
	{NULL, ROLE_ADMIN, NULL},
};
