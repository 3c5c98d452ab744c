/* SPDX-License-Identifier: MIT */
/* plugind as its clients see it: reachable, permitted, alone, and what it says. */
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmd/doctor.h"
#include "cmd/field.h"
#include "lib/base/owned.h"
#include "lib/base/place.h"
#include "lib/protocol/client.h"

enum { PATIENCE_MS = 5000, GROUPS_MOST = 1024 };

static const char group_name[] = "kplug";

/* ---- the socket ------------------------------------------------------------------ */

static const struct {
	const char *why, *code;
} unreachable[] = {
	{"no_daemon", "no_daemon"},
	{"not_permitted", "socket_not_permitted"},
	{"path_too_long", "path_too_long"},
	{"timed_out", "daemon_silent"},
};

static int patience(const struct doctor *doctor)
{
	return doctor->session->timeout_given ? doctor->session->timeout_ms : PATIENCE_MS;
}

static void tell_unreachable(struct doctor *doctor, const struct kp_diag *why)
{
	const char *code = "daemon_silent";
	for (size_t i = 0; i < KP_COUNT(unreachable); i++)
		if (strcmp(unreachable[i].why, why->code) == 0)
			code = unreachable[i].code;
	doctor_tell(doctor, code, NULL, "%s", why->message);
}

/* A new reference to what it answers, NULL with the reason told. */
static json_t *ask(struct doctor *doctor, struct kp_client *client, const char *method)
{
	struct kp_reply_message message;
	struct kp_diag diag;
	json_t *reply = NULL;
	if (kp_client_call(client, method, NULL, &message, &diag) < 0) {
		tell_unreachable(doctor, &diag);
		return NULL;
	}
	if (message.error)
		doctor_tell(doctor, "daemon_silent", NULL,
			"plugind answers %s with %s: %s", method, message.error,
			field_text(message.parameters, "message", "no word why"));
	else
		reply = json_incref(message.parameters);
	kp_reply_message_finish(&message);
	return reply;
}

/* An array of the reply; a new reference. */
static json_t *rows_of(struct doctor *doctor, struct kp_client *client,
	const char *method, const char *key)
{
	owned_json *reply = ask(doctor, client, method);
	json_t *rows = json_object_get(reply, key);
	return json_is_array(rows) ? json_incref(rows) : NULL;
}

static void tell_warnings(struct doctor *doctor, const json_t *reply)
{
	size_t i;
	json_t *warning;
	json_array_foreach (json_object_get(reply, "warnings"), i, warning) {
		struct kp_diag diag;
		const char *code = field_text(warning, "code", "failed");
		/* Codes outlive the diagnostic: those of the table do. */
		const struct kp_code *known = kp_code_find(code);
		bool same = strcmp(known->code, code) == 0;
		kp_diag_set(&diag, same ? known->code : "daemon_warns", NULL, "%s%s%s",
			same ? "" : code, same ? "" : ": ",
			field_text(warning, "message", "?"));
		kp_lint_add(&doctor->lint, NULL, &diag);
	}
}

/* ---- devices --------------------------------------------------------------------- */

static void tell_devices(struct doctor *doctor)
{
	size_t i;
	json_t *device;
	json_array_foreach (json_object_get(doctor->devices, "devices"), i, device) {
		const json_t *reason = json_object_get(device, "reason");
		const char *code = field_text(reason, "code", NULL);
		if (!code)
			continue;
		const struct kp_code *known = kp_code_find(code);
		doctor_tell(doctor,
			strcmp(known->code, code) == 0 ? known->code : "driver_error",
			NULL, "%s: %s", field_text(device, "id", "?"),
			field_text(reason, "message", code));
	}
	tell_warnings(doctor, doctor->devices);
}

/* ---- who we are ------------------------------------------------------------------ */

static bool is_member(gid_t gid)
{
	gid_t groups[GROUPS_MOST];
	int count = getgroups(GROUPS_MOST, groups);
	for (int i = 0; i < count; i++)
		if (groups[i] == gid)
			return true;
	return getegid() == gid;
}

static void check_group(struct doctor *doctor)
{
	const struct group *group = getgrnam(group_name);
	if (!field_is(doctor->status, "mode", "system") || geteuid() == 0)
		return;
	if (!group)
		doctor_tell(doctor, "group_missing", NULL,
			"there is no group %s: only root may change anything",
			group_name);
	else if (!is_member(group->gr_gid))
		doctor_tell(doctor, "group_missing", NULL,
			"you are no member of the group %s: you may look, not change",
			group_name);
}

/* ---- several of them ------------------------------------------------------------- */

static bool listens(const char *path)
{
	struct kp_client *client;
	if (!path || kp_client_open(path, PATIENCE_MS, &client, NULL) < 0)
		return false;
	kp_client_close(client);
	return true;
}

static void check_others(struct doctor *doctor)
{
	char system[DOCTOR_PATH];
	owned_text usual = kp_place_socket(true);
	owned_text own = kp_place_socket(false);
	if (!usual || !own || strcmp(usual, own) == 0)
		return;
	if (listens(doctor_path(doctor, usual, system)) && listens(own))
		doctor_tell(doctor, "two_daemons", NULL,
			"one plugind listens at %s and another at %s: applications and "
			"pluginctl ask the first",
			system, own);
}

/* ---- which program ------------------------------------------------------------- */

/* An upgrade puts another file in its place; only root sees that of another user's. */
static void check_program(struct doctor *doctor)
{
	static const char gone[] = " (deleted)";
	char link[64], program[DOCTOR_PATH];
	long long pid = (long long)field_int(doctor->status, "pid");

	(void)snprintf(link, sizeof(link), "/proc/%lld/exe", pid);
	ssize_t n = readlink(link, program, sizeof(program) - 1);
	if (n < (ssize_t)sizeof(gone))
		return;
	program[n] = '\0';
	char *end = program + n - (sizeof(gone) - 1);
	if (strcmp(end, gone) != 0)
		return;
	*end = '\0';
	doctor_tell(doctor, "daemon_replaced", program,
		"the plugind that runs (pid %lld) is not the one that is installed: "
		"its file has been replaced or removed",
		pid);
}

void doctor_daemon(struct doctor *doctor)
{
	const char *path = arguments_value(&doctor->session->arguments, "socket");
	struct kp_client *client;
	struct kp_diag diag;
	if (kp_client_open(path, patience(doctor), &client, &diag) < 0) {
		tell_unreachable(doctor, &diag);
		return;
	}
	doctor->status = ask(doctor, client, "Status");
	if (doctor->status) {
		doctor->devices = ask(doctor, client, "Devices");
		doctor->plugins = rows_of(doctor, client, "List", "plugins");
		doctor->kernels = rows_of(doctor, client, "Kernels", "kernels");
	}
	kp_client_close(client);
	if (!doctor->status)
		return;
	doctor->system = field_is(doctor->status, "mode", "system");
	tell_warnings(doctor, doctor->status);
	tell_devices(doctor);
	check_group(doctor);
	check_others(doctor);
	check_program(doctor);
}
