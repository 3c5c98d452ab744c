/* SPDX-License-Identifier: MIT */
/* From a call's method to its handler, by way of role and interface. */
#include "daemon/method/method.h"

#include <stdlib.h>
#include <string.h>

#include "daemon/daemon.h"
#include "daemon/socket/call.h"
#include "daemon/socket/idl.h"
#include "daemon/socket/role.h"
#include "lib/base/build.h"
#include "lib/base/json.h"
#include "lib/protocol/interface.h"
#include "lib/protocol/message.h"

#define SERVICE "org.varlink.service"

static const struct method *const tables[] = {method_list, method_kernels, method_select,
	method_decide, method_reload, method_status, method_bench, method_devices,
	method_verify, method_pin, method_monitor, method_load, method_logs,
	method_attach, method_fingerprint, method_incidents, method_metrics, method_guard,
	method_history};

const struct method *method_find(const char *name)
{
	for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++)
		for (const struct method *m = tables[i]; m->name; m++)
			if (strcmp(m->name, name) == 0)
				return m;
	return NULL;
}

bool method_takes_files(const char *method)
{
	return strcmp(method, KP_INTERFACE ".Load") == 0;
}

/* ---- org.varlink.service ---- */

static void get_info(struct call *call)
{
	call_reply(call, json_pack("{s:s, s:s, s:s, s:s, s:[s, s]}", "vendor", "kplug",
				 "product", "plugind", "version", kp_build_version, "url",
				 "", "interfaces", SERVICE, KP_INTERFACE));
}

static const char service_text[] =
	"# What every Varlink service answers.\n"
	"interface org.varlink.service\n\n"
	"method GetInfo() -> (vendor: string, product: string, version: string,\n"
	"  url: string, interfaces: []string)\n"
	"method GetInterfaceDescription(interface: string) -> (description: string)\n\n"
	"error InterfaceNotFound (interface: string)\n"
	"error MethodNotFound (method: string)\n"
	"error MethodNotImplemented (method: string)\n"
	"error InvalidParameter (parameter: string)\n"
	"error PermissionDenied ()\n"
	"error ExpectedMore ()\n";

static void get_description(struct call *call)
{
	const json_t *parameters = call_parameters(call);
	const char *name = kp_json_text(parameters, "interface");

	if (!name || json_object_size(parameters) != 1)
		call_fail_with(call, SERVICE ".InvalidParameter",
			json_pack("{s:s}", "parameter", "interface"));
	else if (strcmp(name, KP_INTERFACE) == 0)
		call_reply(call, json_pack("{s:s}", "description", kp_interface_text));
	else if (strcmp(name, SERVICE) == 0)
		call_reply(call, json_pack("{s:s}", "description", service_text));
	else
		call_fail_with(call, SERVICE ".InterfaceNotFound",
			json_pack("{s:s}", "interface", name));
}

/* ---- ours ---- */

static int check_role(
	const struct method *method, struct call *call, struct kp_diag *diag)
{
	if (call_role(call) >= method->role)
		return 0;
	return role_refuse(method->name, method->name,
		&(struct role_held){call_role(call), call_uid(call)}, method->role, diag);
}

/* What cannot be accounted for is not done. */
static int audit(struct daemon *daemon, struct call *call, const struct method *method,
	struct kp_diag *diag)
{
	const struct audit_who who = {call_uid(call), call_pid(call)};

	if (!audit_is_of(method->name))
		return 0;
	struct audit *made = audit_new(daemon, method->name, call_parameters(call), &who);
	call_audit(call, made);
	return made ? 0 : kp_diag_no_memory(diag);
}

static void run_ours(
	struct daemon *daemon, struct call *call, const struct method *method)
{
	struct tally_row *row = tally_row(&daemon->tallies.calls, method->name);
	struct kp_diag diag;

	if (row)
		call_count(call, &row->count);
	if (audit(daemon, call, method, &diag) < 0 ||
		check_role(method, call, &diag) < 0 ||
		idl_check_call(daemon->idl, method->name, call_parameters(call), &diag) <
			0)
		call_fail(call, &diag, NULL);
	else {
		call_changes(call);
		method->run(daemon, call);
	}
}

void method_run(struct daemon *daemon, struct call *call, const char *method)
{
	const char *dot = strrchr(method, '.');
	size_t length = dot ? (size_t)(dot - method) : 0;
	bool is_ours = length == strlen(KP_INTERFACE) &&
		       strncmp(method, KP_INTERFACE, length) == 0;
	bool is_service =
		length == strlen(SERVICE) && strncmp(method, SERVICE, length) == 0;
	const struct method *row = is_ours && idl_has_method(daemon->idl, dot + 1)
					   ? method_find(dot + 1)
					   : NULL;

	if (row)
		run_ours(daemon, call, row);
	else if (is_service && strcmp(dot, ".GetInfo") == 0)
		get_info(call);
	else if (is_service && strcmp(dot, ".GetInterfaceDescription") == 0)
		get_description(call);
	else if (is_ours || is_service)
		call_fail_with(call, SERVICE ".MethodNotFound",
			json_pack("{s:s}", "method", method));
	else
		call_fail_with(call, SERVICE ".InterfaceNotFound",
			json_pack("{s:s%}", "interface", method, length));
}
