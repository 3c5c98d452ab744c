/* SPDX-License-Identifier: MIT */
/* Incidents and Report: what went wrong in applications, asked and told. */
#include "daemon/method/method.h"

#include <string.h>
#include <sys/socket.h>

#include "daemon/application/attached.h"
#include "daemon/daemon.h"
#include "daemon/incident/incidents.h"
#include "lib/base/json.h"

/* ---- Incidents ------------------------------------------------------------------- */

static int64_t number(const json_t *parameters, const char *key)
{
	return json_integer_value(json_object_get(parameters, key));
}

static void incidents(struct daemon *daemon, struct call *call)
{
	const json_t *parameters = call_parameters(call);
	const struct incidents_question question = {
		.is_operator = call_role(call) >= ROLE_OPERATOR,
		.uid = call_uid(call),
		.name = kp_json_text(parameters, "name"),
		.kind = kp_json_text(parameters, "kind"),
		.since = number(parameters, "since"),
		.limit = number(parameters, "limit"),
		.id = number(parameters, "id"),
	};
	struct kp_diag diag;
	int64_t total;

	if (question.limit < 0 || question.since < 0 || question.id < 0) {
		kp_diag_set(&diag, "bad_count", "limit",
			"limit, since and id are numbers from 0 on");
		call_fail(call, &diag, NULL);
		return;
	}
	json_t *list = incidents_json(daemon->incidents, &question, &total);
	call_reply(call, list ? json_pack("{s:o, s:I}", "incidents", list, "total",
					(json_int_t)total)
			      : NULL);
}

/* ---- Report ---------------------------------------------------------------------- */

static pid_t pid_of(const struct call *call)
{
	struct ucred peer = {.pid = 0};
	socklen_t size = sizeof(peer);

	(void)getsockopt(call_socket(call), SOL_SOCKET, SO_PEERCRED, &peer, &size);
	return peer.pid;
}

static int check(struct daemon *daemon, struct call *call, const char *application,
	struct kp_diag *diag)
{
	const json_t *parameters = call_parameters(call);
	const char *kind = kp_json_text(parameters, "kind");
	const char *kernel = kp_json_text(parameters, "kernel");
	const json_t *evidence = json_object_get(parameters, "evidence");

	if (strcmp(kind, "error") != 0 && strcmp(kind, "numeric") != 0)
		return kp_diag_set(diag, "bad_report", "kind",
			"kind: applications report error or numeric, not \"%s\"", kind);
	if (!strchr(kernel, '/'))
		return kp_diag_set(diag, "no_such_kernel", kernel,
			"%s: a kernel is reported as plugin/kernel", kernel);
	if (!application)
		return kp_diag_set(diag, "bad_report", "Report",
			"only an application that is attached reports");
	if (json_is_object(evidence) &&
		json_dumpb(evidence, NULL, 0, JSON_COMPACT) > INCIDENT_EVIDENCE)
		return kp_diag_set(diag, "bad_report", "evidence",
			"evidence: at most %d bytes are kept", INCIDENT_EVIDENCE);
	daemon_table(daemon);
	if (kp_registry_resolve(daemon->registry, kernel, diag) < 0)
		return -1;
	return attached_may_report(daemon->attached, pid_of(call), call_uid(call), diag);
}

static void report(struct daemon *daemon, struct call *call)
{
	const json_t *parameters = call_parameters(call);
	pid_t pid = pid_of(call);
	const char *application = attached_name(daemon->attached, pid, call_uid(call));
	struct kp_diag diag;

	if (check(daemon, call, application, &diag) < 0) {
		call_fail(call, &diag, NULL);
		return;
	}
	const struct incident incident = {
		.kind = kp_json_text(parameters, "kind"),
		.kernel = kp_json_text(parameters, "kernel"),
		.application = application,
		.label = kp_json_text(parameters, "label"),
		.text = kp_json_text(parameters, "text"),
		.evidence = json_object_get(parameters, "evidence"),
		.pid = pid,
		.uid = call_uid(call),
		.is_operator = call_role(call) >= ROLE_OPERATOR,
	};
	int64_t id = incidents_add(daemon->incidents, &incident);
	call_reply(call, id ? json_pack("{s:I}", "id", (json_int_t)id) : NULL);
}

const struct method method_incidents[] = {
	{"Incidents", ROLE_OBSERVER, incidents},
	{"Report", ROLE_OBSERVER, report},
	{NULL, ROLE_ADMIN, NULL},
};
