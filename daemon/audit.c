/* SPDX-License-Identifier: MIT */
/* What a call is about, before and after it, and the telling of it. */
#include "daemon/audit.h"

#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/daemon.h"
#include "daemon/event.h"
#include "daemon/state/holding.h"
#include "lib/base/json.h"
#include "lib/table/table.h"

enum { TEXT_BYTES = 192, USER_BYTES = 64, PASSWD_BYTES = 1024, PASSWD_MOST = 100000 };

typedef void describe_fn(struct daemon *daemon, const json_t *parameters, char *text);

struct subject {
	const char *method;
	const char *name, *object; /* parameters that say what it is about */
	describe_fn *describe;
};

struct audit {
	struct daemon *daemon;
	const struct subject *subject;
	const json_t *parameters;
	struct audit_who who;
	bool is_known; /* `before` is set: it was not refused for its form or the role */
	char before[TEXT_BYTES];
};

/* ---- what holds ---- */

static void put(char *text, const char *value)
{
	(void)snprintf(text, TEXT_BYTES, "%s", value ? value : "none");
}

static void describe_solution(
	struct daemon *daemon, const char *operation, const char *solution, char *text)
{
	put(text, kp_decisions_find_rule(&daemon->decisions, operation, solution)
			  ? "disabled"
			  : "enabled");
}

static void describe_state(struct daemon *daemon, const char *plugin, char *text)
{
	enum kp_state state;

	put(text, kp_registry_state(daemon->registry, plugin, &state)
			  ? kp_state_name(state)
			  : NULL);
}

static void describe_kernel(struct daemon *daemon, const char *name, char *text)
{
	char *plugin = strndup(name, strcspn(name, "/"));
	struct kp_diag diag;

	if (!plugin || kp_registry_resolve(daemon->registry, name, &diag) < 0) {
		put(text, NULL);
	} else {
		struct holding holding = holding_of(daemon, name, plugin);
		put(text, holding.word);
		json_decref(holding.reason);
	}
	free(plugin);
}

static void describe_plugin(struct daemon *daemon, const json_t *parameters, char *text)
{
	const char *name = kp_json_text(parameters, "name");
	const char *solution = kp_json_text(parameters, "solution");

	/* Where a call of Load gives no name it is the file's. */
	if (name && solution)
		describe_solution(daemon, name, solution, text);
	else if (name && strchr(name, '/'))
		describe_kernel(daemon, name, text);
	else if (name)
		describe_state(daemon, name, text);
}

static void describe_all(struct daemon *daemon, const json_t *parameters, char *text)
{
	const struct kp_table *table = daemon_table(daemon);

	if (kp_json_text(parameters, "name"))
		describe_plugin(daemon, parameters, text);
	else
		(void)snprintf(text, TEXT_BYTES, "%zu plugins, %zu kernels",
			kp_table_plugins(table), kp_table_kernels(table));
}

static void describe_pin(struct daemon *daemon, const json_t *parameters, char *text)
{
	const char *operation = kp_json_text(parameters, "operation");
	const struct kp_pin *pin = kp_decisions_find_pin(&daemon->decisions, operation);

	if (pin && pin->force)
		(void)snprintf(text, TEXT_BYTES, "%s by force", pin->choice);
	else
		put(text, pin ? pin->choice : NULL);
}

static void describe_guard(struct daemon *daemon, const json_t *parameters, char *text)
{
	const char *operation = kp_json_text(parameters, "operation");
	const struct kp_guarding *guard =
		kp_decisions_find_guard(&daemon->decisions, operation);

	if (guard)
		(void)snprintf(text, TEXT_BYTES, "1 in %u", guard->every);
	else
		put(text, NULL);
}

static void describe_rollback(struct daemon *daemon, const json_t *parameters, char *text)
{
	const struct kp_rollback *back = kp_decisions_find_rollback(
		&daemon->decisions, kp_json_text(parameters, "name"));

	if (back)
		(void)snprintf(
			text, TEXT_BYTES, "generation %lld", (long long)back->number);
	else
		put(text, NULL);
}

static const struct subject subjects[] = {
	{"Disable", "name", "solution", describe_plugin},
	{"Enable", "name", "solution", describe_plugin},
	{"Pin", "operation", "choice", describe_pin},
	{"Unpin", "operation", NULL, describe_pin},
	{"Guard", "operation", NULL, describe_guard},
	{"Rollback", "name", NULL, describe_rollback},
	{"Load", "name", NULL, describe_plugin},
	{"Unload", "name", NULL, describe_plugin},
	{"Reload", "name", NULL, describe_all},
	{"Retry", "name", NULL, describe_plugin},
};

static const struct subject *find(const char *method)
{
	for (size_t i = 0; i < sizeof(subjects) / sizeof(subjects[0]); i++)
		if (strcmp(subjects[i].method, method) == 0)
			return &subjects[i];
	return NULL;
}

bool audit_is_of(const char *method)
{
	return find(method) != NULL;
}

/* ---- who ---- */

const char *audit_user(unsigned uid, char *name, size_t size)
{
	FILE *file = fopen("/etc/passwd", "re");
	char text[PASSWD_BYTES];
	struct passwd entry, *found;

	name[0] = '\0';
	for (int i = 0; file && i < PASSWD_MOST; i++) {
		int result = fgetpwent_r(file, &entry, text, sizeof(text), &found);
		if (result == ERANGE)
			continue;
		if (result != 0)
			break;
		if (entry.pw_uid != uid)
			continue;
		(void)snprintf(name, size, "%s", entry.pw_name);
		break;
	}
	if (file)
		(void)fclose(file);
	return name;
}

/* ---- telling ---- */

/* In quotes, so that nobody's name reads like the rest of the line; "-" is none. */
static char *quoted(const char *text)
{
	char most[TEXT_BYTES];

	if (!text || !text[0])
		return strdup("-");
	(void)snprintf(most, sizeof(most), "%s", text);
	json_t *clean = kp_json_clean_string(most);
	char *line = clean ? kp_json_dumps(clean, JSON_ENCODE_ANY | JSON_COMPACT) : NULL;
	json_decref(clean);
	return line;
}

static const char *asked(const struct audit *audit, const char *key)
{
	return key ? kp_json_text(audit->parameters, key) : NULL;
}

static void write_line(const struct audit *audit, const struct audit_event *event)
{
	const char *texts[] = {
		event->user, event->name, event->object, event->before, event->after};
	enum { TEXTS = sizeof(texts) / sizeof(texts[0]) };
	char *safe[TEXTS];

	for (size_t i = 0; i < TEXTS; i++)
		safe[i] = quoted(texts[i]);
	/* What memory is short for is missing in the line, not the line. */
	for (size_t i = 0; i < TEXTS; i++)
		texts[i] = safe[i] ? safe[i] : "?";
	log_line(&audit->daemon->log, LOG_AUDIT,
		"audit: uid=%u user=%s pid=%d method=%s name=%s object=%s before=%s "
		"after=%s generation=%llu result=%s",
		event->uid, texts[0], (int)event->pid, event->method, texts[1], texts[2],
		texts[3], texts[4], (unsigned long long)audit->daemon->generation.number,
		event->code ? event->code : "ok");
	for (size_t i = 0; i < TEXTS; i++)
		free(safe[i]);
}

static struct audit_bound *bound_of(struct audit_bounds *bounds, unsigned uid)
{
	struct audit_bound *oldest = &bounds->users[0];

	for (size_t i = 0; i < AUDIT_USERS; i++) {
		struct audit_bound *user = &bounds->users[i];
		if (user->used && user->uid == uid)
			return user;
		if (oldest->used && (!user->used || user->since_ms < oldest->since_ms))
			oldest = user;
	}
	*oldest = (struct audit_bound){.uid = uid};
	return oldest;
}

bool audit_may_tell(
	struct audit_bounds *bounds, unsigned uid, uint64_t now_ms, size_t *untold)
{
	struct audit_bound *user = bound_of(bounds, uid);

	*untold = 0;
	if (!user->used || now_ms - user->since_ms >= AUDIT_WINDOW_MS) {
		*untold = user->untold;
		*user = (struct audit_bound){
			.used = true, .uid = uid, .since_ms = now_ms};
	}
	if (user->told < AUDIT_REFUSED) {
		user->told++;
		return true;
	}
	user->untold++;
	return false;
}

/* One who asks for what is not his to change floods neither log nor events. */
static bool is_to_be_told(struct audit *audit)
{
	struct daemon *daemon = audit->daemon;
	size_t untold;

	if (audit->who.uid == 0)
		return true;
	bool told = audit_may_tell(
		&daemon->audit, audit->who.uid, uv_now(&daemon->loop), &untold);
	if (untold > 0)
		log_line(&daemon->log, LOG_AUDIT,
			"audit: uid=%u: %zu refused calls before were not told",
			audit->who.uid, untold);
	return told;
}

/* ---- its life ---- */

struct audit *audit_new(struct daemon *daemon, const char *method,
	const json_t *parameters, const struct audit_who *who)
{
	struct audit *audit = calloc(1, sizeof(*audit));

	if (audit)
		*audit =
			(struct audit){daemon, find(method), parameters, *who, false, ""};
	return audit;
}

void audit_before(struct audit *audit)
{
	audit->is_known = true;
	audit->subject->describe(audit->daemon, audit->parameters, audit->before);
}

static void tell(const struct audit *audit, const struct kp_diag *refusal)
{
	char after[TEXT_BYTES] = "", user[USER_BYTES];
	const struct audit_event event = {
		.method = audit->subject->method,
		.name = asked(audit, audit->subject->name),
		.object = asked(audit, audit->subject->object),
		.before = audit->before,
		.after = after,
		.code = refusal ? refusal->code : NULL,
		.message = refusal ? refusal->message : NULL,
		.user = audit_user(audit->who.uid, user, sizeof(user)),
		.uid = audit->who.uid,
		.pid = audit->who.pid,
	};

	/* While it ends nobody knows any more what holds. */
	if (audit->is_known && !audit->daemon->closing)
		audit->subject->describe(audit->daemon, audit->parameters, after);
	write_line(audit, &event);
	event_audit(audit->daemon, &event);
}

void audit_end(struct audit *audit, const struct kp_diag *refusal)
{
	if (!audit)
		return;
	if (!refusal || is_to_be_told(audit))
		tell(audit, refusal);
	free(audit);
}
