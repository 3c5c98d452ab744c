/* SPDX-License-Identifier: MIT */
/*
 * Runs tests/cases/selection.json: each row is a world of plugins on an injected
 * platform, and what must be decided there. tests/cases/selection.README says how
 * rows are written. Prints TAP; arguments choose rows by a part of their name.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/json.h"
#include "lib/family/format.h"
#include "tests/support/world.h"

/* The row that is running. */
struct row {
	const json_t *data; /* the whole file */
	const json_t *row, *test;
	struct world *world;
	char error[2048];
};

static bool fail(
	struct row *row, const char *where, const json_t *expected, const json_t *actual)
{
	char *want = json_dumps(expected, JSON_ENCODE_ANY | JSON_COMPACT);
	char *is = actual ? json_dumps(actual, JSON_ENCODE_ANY | JSON_COMPACT) : NULL;

	if (!row->error[0])
		(void)snprintf(row->error, sizeof(row->error), "%s: expected %s, is %s",
			where, want ? want : "nothing", is ? is : "nothing");
	free(want);
	free(is);
	return false;
}

static bool broken(struct row *row, const char *what, const char *why)
{
	if (!row->error[0])
		(void)snprintf(row->error, sizeof(row->error), "%s: %s", what, why);
	return false;
}

/* "~x": contains x. Objects: at least these members. Arrays: all, in order. */
static bool matches(const json_t *expected, const json_t *actual)
{
	const char *text = json_string_value(expected);
	const char *key;
	json_t *member;
	size_t i;

	if (text && text[0] == '~')
		return json_is_string(actual) &&
		       strstr(json_string_value(actual), text + 1);
	if (json_is_object(expected)) {
		json_object_foreach ((json_t *)(uintptr_t)expected, key, member)
			if (!matches(member, json_object_get(actual, key)))
				return false;
		return json_is_object(actual);
	}
	if (json_is_array(expected)) {
		if (json_array_size(expected) != json_array_size(actual))
			return false;
		json_array_foreach (expected, i, member)
			if (!matches(member, json_array_get(actual, i)))
				return false;
		return json_is_array(actual);
	}
	if (json_is_number(expected) && json_is_number(actual))
		return json_number_value(expected) == json_number_value(actual);
	return json_equal(expected, actual);
}

static bool expect(
	struct row *row, const char *where, const json_t *expected, json_t *actual)
{
	bool right = matches(expected, actual);
	if (!right)
		fail(row, where, expected, actual);
	json_decref(actual);
	return right;
}

/* A member of the case, else of its row. */
static const json_t *setting(const struct row *row, const char *key)
{
	const json_t *value = json_object_get(row->test, key);
	return value ? value : json_object_get(row->row, key);
}

/* ---- the world ---- */

static bool put_all(struct row *row, const json_t *plugins)
{
	const json_t *plugin;
	size_t i;
	json_array_foreach (plugins, i, plugin)
		if (!world_put(row->world, plugin))
			return broken(row, "plugins", row->world->error);
	return true;
}

static bool decide_all(struct row *row)
{
	struct kp_decisions *decisions = &row->world->decisions;
	const char *name;
	json_t *value;
	bool changed;
	size_t i;

	json_array_foreach (setting(row, "disabled"), i, value)
		if (kp_decisions_disable(decisions, json_string_value(value), "a test", 1,
			    0, false, &changed) < 0)
			return broken(row, "disabled", "memory");
	json_array_foreach (setting(row, "enabled"), i, value)
		if (kp_decisions_prove(
			    decisions, json_string_value(value), true, &changed) < 0)
			return broken(row, "enabled", "memory");
	json_object_foreach ((json_t *)(uintptr_t)setting(row, "pins"), name, value)
		if (kp_decisions_pin(decisions, name, json_string_value(value), false, 1,
			    0, &changed) < 0)
			return broken(row, "pins", "memory");
	if (!world_decide(row->world))
		return broken(row, "decide", row->world->error);
	json_object_foreach ((json_t *)(uintptr_t)setting(row, "policy"), name, value) {
		struct kp_diag diag;
		if (kp_registry_set_policy(row->world->registry, name,
			    (int)json_integer_value(value), &diag) < 0)
			return broken(row, "policy", diag.message);
	}
	return true;
}

static bool run_step(struct row *row, const json_t *step)
{
	struct world *world = row->world;
	const char *take = kp_json_text(step, "take");
	const char *disable = kp_json_text(step, "disable");
	const char *enable = kp_json_text(step, "enable");
	const char *apply = kp_json_text(step, "apply");
	const json_t *put = json_object_get(step, "put");
	bool changed;

	if (put && !world_put(world, put))
		return broken(row, "put", world->error);
	if (take)
		world_take(world, take);
	if (disable && kp_decisions_disable(&world->decisions, disable, "a step", 2, 0,
			       false, &changed) < 0)
		return broken(row, "disable", "memory");
	if (enable)
		kp_decisions_enable(&world->decisions, enable);
	if ((enable || disable) && !world_decide(world))
		return broken(row, "decide", world->error);
	if (json_object_get(step, "scan") &&
		!world_scan(world, kp_json_text(step, "scan")))
		return broken(row, "scan", world->error);
	if (apply && !world_apply(world, apply))
		return broken(row, "apply", world->error);
	if (json_is_true(json_object_get(step, "build")) && !world_build(world, 1))
		return broken(row, "build", world->error);
	return true;
}

static bool build_world(struct row *row)
{
	const json_t *families = setting(row, "families");
	const json_t *platform = setting(row, "platform");
	const char *set = json_string_value(setting(row, "set"));
	const char *named = json_string_value(platform);
	const json_t *step;
	size_t i;

	if (named && json_object_get(json_object_get(row->data, "platforms"), named))
		platform =
			json_object_get(json_object_get(row->data, "platforms"), named);
	if (!platform)
		platform =
			json_object_get(json_object_get(row->data, "platforms"), "h100");
	row->world = world_new(
		families ? families : json_object_get(row->data, "families"), platform);
	if (!row->world->registry)
		return broken(row, "world", row->world->error);
	if (set && !json_object_get(json_object_get(row->data, "sets"), set))
		return broken(row, "set", set);
	if (set &&
		!put_all(row, json_object_get(json_object_get(row->data, "sets"), set)))
		return false;
	if (!put_all(row, json_object_get(row->row, "plugins")) ||
		!put_all(row, json_object_get(row->test, "plugins")) || !decide_all(row))
		return false;
	if (!world_scan(row->world, NULL))
		return broken(row, "scan", row->world->error);
	json_array_foreach (setting(row, "steps"), i, step)
		if (!run_step(row, step))
			return false;
	if (!world_build(row->world, 1))
		return broken(row, "build", row->world->error);
	return true;
}

/* ---- tables ---- */

/* A table that is built from the one before says the same, byte for byte. */
static bool check_rebuilt(struct row *row)
{
	struct world *world = row->world;
	void *bytes = world->bytes;
	size_t size = world->size;

	world->bytes = NULL;
	bool same = world_build(world, 1) && world->size == size &&
		    memcmp(world->bytes, bytes, size) == 0;
	free(bytes);
	return same || broken(row, "table", "building it again gives other bytes");
}

/* ---- requests ---- */

static bool read_request(
	struct row *row, struct kp_request *request, struct kp_diag *diag)
{
	const json_t *given = setting(row, "request");
	json_t *plain = json_copy((json_t *)(uintptr_t)given);
	const char *on = json_string_value(json_object_get(given, "on"));
	json_t *known =
		on ? json_object_get(json_object_get(row->data, "platforms"), on) : NULL;
	bool any = json_is_true(json_object_get(given, "any_signature"));

	if (known)
		json_object_set(plain, "on", known);
	json_object_del(plain, "any_signature");
	json_object_del(plain, "layout");
	json_object_del(plain, "overrides");
	int result = kp_request_from_json(&row->world->table, plain, request, diag);
	json_decref(plain);
	if (result < 0)
		return false;
	const json_t *overrides = json_object_get(given, "overrides");
	request->any_signature = any;
	request->layout = kp_json_text(given, "layout");
	request->overrides[KP_OVERRIDE_SCOPE] = kp_json_text(overrides, "scope");
	request->overrides[KP_OVERRIDE_ENVIRONMENT] =
		kp_json_text(overrides, "environment");
	return true;
}

static json_t *eligible_of(const json_t *candidates)
{
	json_t *ids = json_array();
	const json_t *candidate;
	size_t i;

	json_array_foreach (candidates, i, candidate)
		if (json_is_true(json_object_get(candidate, "eligible")))
			json_array_append(ids, json_object_get(candidate, "kernel"));
	return ids;
}

static const json_t *candidate_of(const json_t *candidates, const char *id)
{
	const json_t *candidate;
	size_t i;

	json_array_foreach (candidates, i, candidate)
		if (strcmp(kp_json_text(candidate, "kernel"), id) == 0)
			return candidate;
	return NULL;
}

static int value_of(const json_t *rank, const char *key)
{
	return (int)json_integer_value(json_object_get(rank, key));
}

/* Positions count up, ranks never rise, eligible ones come first. */
static bool check_order(struct row *row, const json_t *candidates)
{
	const json_t *last = NULL;
	const json_t *candidate;
	json_int_t position = 0;
	size_t i;

	json_array_foreach (candidates, i, candidate) {
		const json_t *rank = json_object_get(candidate, "rank");
		if (!json_is_true(json_object_get(candidate, "eligible"))) {
			if (json_array_size(json_object_get(candidate, "reasons")) == 0)
				return broken(
					row, "explain", "excluded without a reason");
			last = NULL;
			position = -1000000;
			continue;
		}
		if (json_integer_value(json_object_get(candidate, "position")) !=
			++position)
			return broken(row, "explain", "positions do not count up");
		int fall = last ? value_of(last, "policy") - value_of(rank, "policy") : 1;
		fall = fall ? fall
			    : value_of(last, "objective") - value_of(rank, "objective");
		fall = fall ? fall
			    : value_of(last, "priority") - value_of(rank, "priority");
		if (fall < 0)
			return broken(row, "explain", "a rank rises");
		last = rank;
	}
	return true;
}

/* Select and explain are two answers to one question. */
static bool check_agreement(struct row *row, const struct kp_decision *decision,
	const json_t *reply, json_t *candidates)
{
	json_t *eligible = eligible_of(candidates);
	const json_t *first = json_array_get(eligible, 0);
	const json_t *selected = json_object_get(reply, "selected");
	bool agree = decision->overridden ||
		     (first ? json_equal(first, selected) : json_is_null(selected));
	json_decref(eligible);
	if (!agree)
		return broken(row, "explain", "its first is not the selected one");
	return check_order(row, candidates);
}

static bool check_excluded(
	struct row *row, const json_t *expected, const json_t *candidates)
{
	const char *id;
	json_t *reasons;

	json_object_foreach ((json_t *)(uintptr_t)expected, id, reasons) {
		const json_t *candidate = candidate_of(candidates, id);
		const json_t *actual = json_object_get(candidate, "reasons");
		json_t *reason;
		size_t i;
		if (json_array_size(reasons) != json_array_size(actual))
			return fail(row, id, reasons, actual);
		json_array_foreach (reasons, i, reason) {
			const json_t *one = json_array_get(actual, i);
			if (!matches(reason, json_is_string(reason)
						     ? json_object_get(one, "code")
						     : one))
				return fail(row, id, reasons, actual);
		}
	}
	return true;
}

static bool check_reply(struct row *row, const struct kp_request *request,
	const struct kp_decision *decision, const json_t *expected)
{
	const struct kp_table *table = &row->world->table;
	json_t *reply = kp_decision_json(table, request, decision);
	json_t *candidates = kp_explain_json(table, request);
	const json_t *part;
	bool right = check_agreement(row, decision, reply, candidates);

	if (right && (part = json_object_get(expected, "selected")))
		right = expect(row, "selected", part,
			json_incref(json_object_get(reply, "selected")));
	if (right && (part = json_object_get(expected, "reply")))
		right = expect(row, "reply", part, json_incref(reply));
	if (right && (part = json_object_get(expected, "order")))
		right = expect(row, "order", part, eligible_of(candidates));
	if (right && (part = json_object_get(expected, "excluded")))
		right = check_excluded(row, part, candidates);
	json_decref(reply);
	json_decref(candidates);
	return right;
}

static bool check_error(
	struct row *row, const json_t *expected, const struct kp_diag *diag)
{
	const json_t *wanted = json_object_get(expected, "error");
	json_t *error = json_pack("{s:s, s:s, s:s}", "code", diag->code, "message",
		diag->message, "object", diag->object);

	if (!wanted) {
		json_decref(error);
		return broken(row, diag->code, diag->message);
	}
	return expect(row, "error", wanted, error);
}

static bool check_request(struct row *row, const json_t *expected)
{
	struct kp_request request;
	struct kp_decision decision;
	struct kp_diag diag;
	bool right;

	if (!setting(row, "request"))
		return true;
	if (!read_request(row, &request, &diag))
		return check_error(row, expected, &diag);
	if (kp_select(&row->world->table, &request, &decision, &diag) < 0) {
		const json_t *reasons = json_object_get(expected, "override_reasons");
		right = check_error(row, expected, &diag) &&
			(!reasons || expect(row, "override_reasons", reasons,
					     kp_override_reasons_json(
						     &row->world->table, &request)));
	} else {
		if (json_object_get(expected, "error"))
			right = fail(
				row, "error", json_object_get(expected, "error"), NULL);
		else
			right = check_reply(row, &request, &decision, expected);
		kp_decision_finish(&decision);
	}
	kp_request_finish(&request);
	return right;
}

/* ---- the registry ---- */

static bool check_plugins(struct row *row, const json_t *expected)
{
	const struct kp_registry *registry = row->world->registry;
	const char *name;
	json_t *want;

	json_object_foreach (json_object_get(expected, "plugins"), name, want)
		if (!expect(row, name, want, kp_registry_plugin_json(registry, name)))
			return false;
	json_object_foreach (json_object_get(expected, "info"), name, want)
		if (!expect(row, name, want, kp_registry_info_json(registry, name)))
			return false;
	json_object_foreach (json_object_get(expected, "resolve"), name, want) {
		struct kp_diag diag = {.code = "found"};
		int result = kp_registry_resolve(registry, name, &diag);
		json_t *is =
			json_pack("{s:s, s:s}", "code", result < 0 ? diag.code : "found",
				"message", result < 0 ? diag.message : "");
		if (!expect(row, name, want, is))
			return false;
	}
	return true;
}

static json_t *names_of(const struct kp_registry *registry)
{
	json_t *names = json_array();
	for (size_t i = 0; i < kp_registry_count(registry); i++)
		json_array_append_new(names, json_string(kp_registry_name(registry, i)));
	return names;
}

static json_t *kernels_of(const struct row *row, const char *operation)
{
	struct kp_request request = {.operation = operation, .any_signature = true};
	json_t *candidates = kp_explain_json(&row->world->table, &request);
	json_t *ids = json_array();
	const json_t *candidate;
	size_t i;

	json_array_foreach (candidates, i, candidate)
		json_array_append(ids, json_object_get(candidate, "kernel"));
	json_decref(candidates);
	return ids;
}

/* Operations that have a kernel. */
static json_t *operations_of(const struct row *row)
{
	const char **names = kp_table_operations(&row->world->table);
	json_t *list = json_array();

	for (size_t i = 0; names[i]; i++) {
		json_t *kernels = kernels_of(row, names[i]);
		if (json_array_size(kernels) > 0)
			json_array_append_new(list, json_string(names[i]));
		json_decref(kernels);
	}
	free(names);
	return list;
}

/* The solutions of an operation's kernels, sorted. */
static json_t *solutions_of(const struct row *row, const char *operation)
{
	const struct kp_table *table = &row->world->table;
	json_t *set = json_object();
	json_t *list = json_array();

	for (size_t i = 0; i < kp_table_kernels(table); i++) {
		struct kp_entry_state state;
		struct kp_spec spec;
		void *memory;
		if (kp_table_spec(table, i, &spec, &state, &memory) < 0)
			break;
		if (strcmp(spec.operation, operation) == 0 && spec.solution)
			json_object_set_new(set, spec.solution, json_true());
		free(memory);
	}
	char *sorted = json_dumps(set, JSON_SORT_KEYS);
	json_t *ordered = json_loads(sorted, 0, NULL);
	const char *name;
	json_t *value;
	json_object_foreach (ordered, name, value)
		json_array_append_new(list, json_string(name));
	json_decref(ordered);
	json_decref(set);
	free(sorted);
	return list;
}

static bool check_lists(struct row *row, const json_t *expected)
{
	const json_t *part;
	const char *name;
	json_t *want;
	bool right = true;

	if ((part = json_object_get(expected, "names")))
		right = expect(row, "names", part, names_of(row->world->registry));
	if (right && (part = json_object_get(expected, "pending")))
		right = expect(
			row, "pending", part, kp_registry_pending(row->world->registry));
	if (right && (part = json_object_get(expected, "probed")))
		right = expect(row, "probed", part, json_incref(row->world->probed));
	if (right && (part = json_object_get(expected, "changes")))
		right = expect(row, "changes", part, json_incref(row->world->changes));
	if (right && (part = json_object_get(expected, "operations")))
		right = expect(row, "operations", part, operations_of(row));
	if (right && (part = json_object_get(expected, "total")))
		right = expect(row, "total", part,
			json_integer((json_int_t)kp_table_kernels(&row->world->table)));
	json_object_foreach (json_object_get(expected, "kernels"), name, want)
		right = right && expect(row, name, want, kernels_of(row, name));
	json_object_foreach (json_object_get(expected, "solutions"), name, want)
		right = right && expect(row, name, want, solutions_of(row, name));
	return right;
}

/* ---- formats ---- */

/* The formats of a role over all signatures of a kernel, each once. */
static json_t *formats_of(const struct row *row, const char *id, const char *role)
{
	const struct kp_table *table = &row->world->table;
	struct kp_entry_state state;
	struct kp_spec spec;
	void *memory;
	size_t kernel;
	json_t *list = json_array();

	if (kp_table_find(table, NULL, id, &kernel, NULL) < 0 ||
		kp_table_spec(table, kernel, &spec, &state, &memory) < 0)
		return list;
	for (size_t i = 0; i < spec.signatures.count; i++) {
		struct kp_signature signature;
		const struct kp_operand *operand;
		char text[128];
		bool again = false;
		if (kp_signature_parse(spec.signatures.items[i], &signature, NULL) < 0 ||
			!(operand = kp_signature_find(&signature, role)))
			continue;
		kp_format_print(&operand->format, text, sizeof(text));
		for (size_t k = 0; k < json_array_size(list); k++)
			again |=
				!strcmp(json_string_value(json_array_get(list, k)), text);
		if (!again)
			json_array_append_new(list, json_string(text));
	}
	free(memory);
	return list;
}

static bool check_formats(struct row *row, const json_t *expected)
{
	const char *id, *role, *text;
	json_t *roles, *want;

	json_object_foreach (json_object_get(expected, "formats"), id, roles)
		json_object_foreach (roles, role, want)
			if (!expect(row, role, want, formats_of(row, id, role)))
				return false;
	json_object_foreach (json_object_get(expected, "parsed"), text, want) {
		struct kp_signature signature;
		struct kp_diag diag;
		char printed[KP_SIGNATURE_BYTES];
		json_t *is = kp_signature_parse(text, &signature, &diag) < 0
				     ? json_pack("{s:s, s:s}", "code", diag.code,
					       "message", diag.message)
				     : json_string(kp_signature_print(
					       &signature, printed, sizeof(printed)));
		if (!expect(row, text, want, is))
			return false;
	}
	return true;
}

/* ---- rows ---- */

static bool run_case(struct row *row)
{
	const json_t *expected = setting(row, "expect");
	bool right = false;

	if (!json_is_object(expected) || json_object_size(expected) == 0)
		return broken(row, "expect", "the row expects nothing");
	if (build_world(row))
		right = check_request(row, expected) && check_plugins(row, expected) &&
			check_lists(row, expected) && check_formats(row, expected) &&
			check_rebuilt(row) && check_request(row, expected);
	world_free(row->world);
	row->world = NULL;
	return right;
}

static bool report(
	const json_t *data, const json_t *row, const json_t *test, unsigned number)
{
	struct row running = {.data = data, .row = row, .test = test};
	const char *variant = kp_json_text(test, "variant");
	bool right = run_case(&running);

	printf("%s %u - %s%s%s\n", right ? "ok" : "not ok", number,
		kp_json_text(row, "name"), variant ? ", " : "", variant ? variant : "");
	if (!right)
		printf("# %s\n", running.error[0] ? running.error : "no reason was kept");
	return right;
}

static bool is_chosen(const json_t *row, int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		if (strstr(kp_json_text(row, "name"), argv[i]))
			return true;
	return argc < 2;
}

/* The cases of a row, or the row itself where it is one. */
static unsigned run_row(const json_t *data, const json_t *row, unsigned *number)
{
	const json_t *cases = json_object_get(row, "cases");
	unsigned failed = 0;
	const json_t *test;
	size_t i;

	if (!cases)
		return !report(data, row, json_object_get(row, "nothing"), ++*number);
	json_array_foreach (cases, i, test)
		failed += !report(data, row, test, ++*number);
	return failed;
}

int main(int argc, char **argv)
{
	const char *path = getenv("KPLUG_SELECTION_CASES");
	unsigned number = 0;
	unsigned failed = 0;
	json_error_t error;
	const json_t *row;
	size_t i;

	json_t *data = json_load_file(path ? path : "tests/cases/selection.json",
		JSON_REJECT_DUPLICATES, &error);
	if (!data) {
		printf("Bail out! %s:%d: %s\n", error.source, error.line, error.text);
		return 1;
	}
	json_array_foreach (json_object_get(data, "rows"), i, row)
		if (is_chosen(row, argc, argv))
			failed += run_row(data, row, &number);
	printf("1..%u\n", number);
	json_decref(data);
	return failed || !number;
}
