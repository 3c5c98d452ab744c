/* SPDX-License-Identifier: MIT */
/*
 * Every allocation of what reads, decides and keeps is refused once, and then all behind
 * it, too: the answer is no_memory or the right one, and nothing is left behind or lost.
 */
#include <check.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/incident/incidents_file.h"
#include "daemon/incident/strikes.h"
#include "daemon/options.h"
#include "daemon/scan/index.h"
#include "daemon/socket/idl.h"
#include "daemon/socket/outbox.h"
#include "daemon/store/cache.h"
#include "daemon/worker/elf_facts.h"
#include "daemon/worker/fatbin.h"
#include "lib/base/file.h"
#include "lib/base/json.h"
#include "lib/family/family.h"
#include "lib/plugin/finding.h"
#include "lib/plugin/manifest.h"
#include "lib/plugin/note.h"
#include "lib/protocol/frame.h"
#include "lib/protocol/interface.h"
#include "lib/protocol/message.h"
#include "lib/registry/decisions.h"
#include "tests/scarce/scarce.h"
#include "tests/support/notes.h"
#include "tests/support/suite.h"
#include "tests/support/world.h"

enum { BYTES_MOST = 1 << 20, ALLOCATIONS_MOST = 100000 };

/* What is read, made before memory is short. */
static struct {
	char *family, *decisions, *incidents, *place;
	size_t family_size;
	json_t *note;
	struct world *world;
} given;

/* 0 and, malloc'ed, all that came out; or -1 and why. */
typedef int scenario_fn(char **told, struct kp_diag *diag);

static int told_text(char *text, char **told, struct kp_diag *diag)
{
	*told = text;
	return text ? 0 : kp_diag_no_memory(diag);
}

/* Takes the value. */
static int told_json(json_t *value, char **told, struct kp_diag *diag)
{
	char *text = value ? kp_json_dumps(value,
				     JSON_COMPACT | JSON_SORT_KEYS | JSON_ENCODE_ANY)
			   : NULL;

	json_decref(value);
	return told_text(text, told, diag);
}

/* ---- files and texts ---- */

static const char manifest_text[] =
	"{\"library\": \"x.so\", \"config\": {\"a\": [1, 2]}, \"timeout_ms\": 7}";

static int read_manifest(char **told, struct kp_diag *diag)
{
	struct kp_manifest manifest, copy;
	char *path = NULL;

	if (kp_manifest_parse(manifest_text, strlen(manifest_text), "/x/some.json",
		    &manifest, diag) < 0)
		return -1;
	int result = kp_manifest_library(&manifest, "/plugins", &path, diag);
	if (result == 0 && kp_manifest_copy(&manifest, &copy) < 0)
		result = kp_diag_no_memory(diag);
	else if (result == 0)
		kp_manifest_finish(&copy);
	kp_manifest_finish(&manifest);
	if (result == 0)
		return told_text(path, told, diag);
	free(path);
	return -1;
}

static int read_note(char **told, struct kp_diag *diag)
{
	struct kp_note note;

	if (kp_note_parse(note_full, strlen(note_full), &note, NULL, diag) < 0)
		return -1;
	json_t *shown = kp_spec_json(&note.kernels[0], "some", "active", NULL, NULL);
	kp_note_finish(&note);
	return told_json(shown, told, diag);
}

static int read_family(char **told, struct kp_diag *diag)
{
	struct kp_family family;

	if (kp_family_parse(given.family, given.family_size, "some.json", &family, diag) <
		0)
		return -1;
	char *text = strdup(family.digest);
	kp_family_finish(&family);
	return told_text(text, told, diag);
}

static int read_options(char **told, struct kp_diag *diag)
{
	char program[] = "plugind", system[] = "--system", state[] = "--state-dir",
	     place[] = "/some/state";
	char *arguments[] = {program, system, state, place, NULL};
	struct options options;

	if (options_read(4, arguments, &options, diag) < 0)
		return -1;
	char *text = strdup(options.state_dir);
	options_finish(&options);
	return told_text(text, told, diag);
}

static const char report_text[] =
	"m {\"stage\":\"load\"}\nm {\"stage\":\"probe kernel one\"}\n"
	"m {\"kernel\":\"one\",\"available\":false,\"code\":\"unavailable\","
	"\"message\":\"not here\"}\n";

struct reader {
	struct kp_report report;
	struct kp_finding finding;
	struct kp_verdict verdict;
};

static const char *take_line(void *context, json_t *line)
{
	kp_finding_probe(&((struct reader *)context)->finding, line);
	return NULL;
}

static int read_report(char **told, struct kp_diag *diag)
{
	struct kp_worker_result result = {.end = KP_WORKER_DONE};
	struct reader reader = {.report = {.terms = {.mark = "m", .kernels = 1}},
		.verdict = {.state = KP_STATE_ACTIVE}};

	reader.finding.verdict = &reader.verdict;
	reader.verdict.note = json_incref(given.note);
	(void)!kp_report_take(
		&reader.report, report_text, strlen(report_text), take_line, &reader);
	/* As a supervisor does it: what could not be read is nobody's blame. */
	if (reader.report.no_memory)
		result.end = KP_WORKER_LOST;
	bool is_lost =
		kp_finding_probed(&reader.finding, &result, 1000) == KP_FINDING_LOST;
	json_t *kept = is_lost ? NULL : kp_verdict_json(&reader.verdict);
	kp_report_finish(&reader.report);
	kp_finding_finish(&reader.finding);
	kp_verdict_finish(&reader.verdict);
	return told_json(kept, told, diag);
}

static int read_library(char **told, struct kp_diag *diag)
{
	char path[512];
	struct elf_image image;
	struct fatbins fatbins = {0};
	json_t *facts = NULL;

	(void)snprintf(path, sizeof(path), "%s/plugins/reference.so", given.place);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	int result = elf_image_open(fd, "x.so", &image, diag);
	if (result == 0 && fatbins_of_image(&image, &fatbins) < 0)
		result = kp_diag_no_memory(diag);
	if (result == 0)
		facts = elf_facts(&image);
	elf_image_finish(&image);
	(void)close(fd);
	return result < 0 ? -1 : told_json(facts, told, diag);
}

/* ---- the protocol ---- */

static const char call_text[] =
	"{\"method\":\"org.kplug.Manager.Select\",\"parameters\":{\"request\":"
	"{\"operation\":\"gemm/mm\",\"shape\":{\"m\":4}}}}";

static int read_call(char **told, struct kp_diag *diag)
{
	struct kp_frame frame = {.limit = BYTES_MOST};
	struct kp_call_message call;
	char *space, *text;
	size_t size;

	if (kp_frame_space(&frame, &space, &size, diag) < 0)
		return -1;
	memcpy(space, call_text, sizeof(call_text));
	kp_frame_filled(&frame, sizeof(call_text));
	const char *message = kp_frame_next(&frame, &size);
	int result = kp_call_parse(message, size, &call, diag);
	kp_frame_finish(&frame);
	if (result < 0)
		return -1;
	text = kp_call_print(call.method, call.parameters, false, &size);
	kp_call_message_finish(&call);
	return told_text(text, told, diag);
}

static int read_interface(char **told, struct kp_diag *diag)
{
	struct idl *idl = idl_new(kp_interface_text, diag);
	json_t *parameters = idl ? json_pack("{s:s}", "name", "x") : NULL;
	int result = idl ? 0 : -1;

	if (idl && !parameters)
		result = kp_diag_no_memory(diag);
	else if (idl)
		result = idl_check_call(idl, "Info", parameters, diag);
	json_decref(parameters);
	idl_free(idl);
	return result < 0 ? -1 : told_text(strdup("good"), told, diag);
}

static int send_reply(char **told, struct kp_diag *diag)
{
	struct outbox outbox = {0};
	json_t *parameters = json_pack("{s:s}", "name", "x");
	size_t size = 0;
	char *reply = parameters ? kp_reply_print(parameters, false, &size) : NULL;
	bool is_sent = outbox_add(&outbox, reply, size, NULL, 0);

	json_decref(parameters);
	outbox_finish(&outbox);
	return is_sent ? told_text(strdup("sent"), told, diag) : kp_diag_no_memory(diag);
}

/* ---- what is kept ---- */

static int read_decisions(char **told, struct kp_diag *diag)
{
	struct kp_decisions decisions;

	if (kp_decisions_parse(
		    given.decisions, strlen(given.decisions), "x", &decisions, diag) < 0)
		return -1;
	char *text = kp_decisions_print(&decisions);
	kp_decisions_finish(&decisions);
	return told_text(text, told, diag);
}

/* As a call does it: on a copy, so that one that fails has changed nothing. */
static int change_decisions(char **told, struct kp_diag *diag)
{
	struct kp_decisions next;
	bool changed;
	char *text = NULL;

	if (kp_decisions_copy(&given.world->decisions, &next) < 0)
		return kp_diag_no_memory(diag);
	if (kp_decisions_disable(&next, "new", "why", 7, 0, false, &changed) == 0 &&
		kp_decisions_pin(&next, "gemm/mm", "s", false, 7, 0, &changed) == 0 &&
		kp_decisions_guard(&next, "norm/rms", 9, 7, 0, &changed) == 0 &&
		kp_decisions_rule(&next, "a/b", "s", "", 7, 0, false, &changed) == 0 &&
		kp_decisions_fit(&next, NULL, diag) == 0)
		text = kp_decisions_print(&next);
	kp_decisions_finish(&next);
	return told_text(text, told, diag);
}

static int read_incidents(char **told, struct kp_diag *diag)
{
	struct incidents_kept kept = {0};
	struct strikes strikes = {0};
	char *text = NULL;

	if (incidents_parse(given.incidents, strlen(given.incidents), "x", &kept,
		    &strikes, diag) < 0)
		return -1;
	text = incidents_print(&kept, &strikes);
	json_decref(kept.list);
	strikes_finish(&strikes);
	return told_text(text, told, diag);
}

static int read_index(char **told, struct kp_diag *diag)
{
	struct index_text text = {0};
	size_t size;

	index_begin(&text, "key", "decisions", 7);
	void *bytes = index_end(&text, &size);
	if (!bytes)
		return kp_diag_no_memory(diag);
	struct index *index = index_read(bytes, size, diag);
	if (!index)
		return -1;
	char *key = strdup(index->key);
	index_free(index);
	return told_text(key, told, diag);
}

static int keep_verdict(char **told, struct kp_diag *diag)
{
	struct cache cache;
	json_t *verdict = json_pack("{s:s}", "state", "active");

	if (cache_init(&cache) < 0) {
		json_decref(verdict);
		return kp_diag_no_memory(diag);
	}
	cache_put_verdict(&cache, "key", 100, 1000, verdict);
	const json_t *found = cache_verdict(&cache, "key", 100);
	/* One that does not fit is forgotten: the plugin is probed again. */
	int result = found ? told_json(json_deep_copy(found), told, diag)
			   : kp_diag_no_memory(diag);
	cache_finish(&cache);
	return result;
}

/* ---- selection ---- */

static int select_kernel(char **told, struct kp_diag *diag)
{
	const struct kp_request request = {.operation = "gemm/mm", .any_signature = true};
	struct kp_decision decision;

	if (kp_select(&given.world->table, &request, &decision, diag) < 0)
		return -1;
	json_t *shown = kp_decision_json(&given.world->table, &request, &decision);
	kp_decision_finish(&decision);
	return told_json(shown, told, diag);
}

static int explain_kernels(char **told, struct kp_diag *diag)
{
	const struct kp_request request = {.operation = "gemm/mm", .any_signature = true};

	return told_json(kp_explain_json(&given.world->table, &request), told, diag);
}

/* ---- running them ---- */

static const struct {
	const char *name;
	scenario_fn *run;
} scenarios[] = {
	{"a manifest", read_manifest},
	{"a note", read_note},
	{"a family", read_family},
	{"options", read_options},
	{"a report", read_report},
	{"a library", read_library},
	{"a call", read_call},
	{"the interface", read_interface},
	{"a reply", send_reply},
	{"decisions", read_decisions},
	{"a change of decisions", change_decisions},
	{"incidents", read_incidents},
	{"an index", read_index},
	{"a verdict in the cache", keep_verdict},
	{"a selection", select_kernel},
	{"an explanation", explain_kernels},
};
enum { SCENARIOS = sizeof(scenarios) / sizeof(scenarios[0]) };

/* What is told; NULL: refused for want of memory. Nothing may be left behind. */
static char *run(int which, size_t at, bool for_good, size_t *seen)
{
	struct kp_diag diag = {.code = ""};
	char *told = NULL;
	long left;

	scarce_begin(at, for_good);
	int result = scenarios[which].run(&told, &diag);
	*seen = scarce_end(&left);
	const char *name = scenarios[which].name;
	ck_assert_msg(left == (result == 0 ? 1 : 0), "%s, allocation %zu: %ld are left",
		name, at, left);
	if (result == 0)
		return told;
	ck_assert_msg(strcmp(diag.code, "no_memory") == 0, "%s, allocation %zu: %s: %s",
		name, at, diag.code, diag.message);
	return NULL;
}

static void refuse_each(int which, bool for_good)
{
	size_t all, seen;

	/* What libc and libraries keep for good, they have after the first time. */
	free(run(which, 0, false, &seen));
	char *right = run(which, 0, false, &all);
	ck_assert_ptr_nonnull(right);
	ck_assert_uint_gt(all, 0);
	ck_assert_uint_lt(all, ALLOCATIONS_MOST);
	for (size_t at = 1; at <= all; at++) {
		char *told = run(which, at, for_good, &seen);
		ck_assert_uint_ge(seen, at);
		if (told)
			ck_assert_str_eq(told, right);
		free(told);
	}
	char *again = run(which, 0, false, &seen);
	ck_assert_str_eq(again, right);
	free(again);
	free(right);
}

static bool is_possible(const char *test)
{
	if (!scarce_works())
		suite_skip(test, "a sanitizer has a heap of its own");
	return scarce_works();
}

START_TEST(one_allocation_that_fails_costs_the_answer_and_nothing_else)
{
	if (is_possible("one_allocation_that_fails_costs_the_answer_and_nothing_else"))
		refuse_each(_i, false);
}
END_TEST

START_TEST(a_heap_that_is_exhausted_costs_the_answer_and_nothing_else)
{
	if (is_possible("a_heap_that_is_exhausted_costs_the_answer_and_nothing_else"))
		refuse_each(_i, true);
}
END_TEST

/* ---- the registry keeps what holds ---- */

static char *table_text(void)
{
	const struct kp_request request = {.operation = "gemm/mm", .any_signature = true};

	ck_assert(world_build(given.world, 9));
	json_t *shown = kp_explain_json(&given.world->table, &request);
	char *text = json_dumps(shown, JSON_COMPACT);
	json_decref(shown);
	return text;
}

START_TEST(a_decision_that_memory_is_too_short_for_leaves_the_registry_as_it_was)
{
	size_t seen = 1;
	long left;

	if (!is_possible("a_decision_that_memory_is_too_short_for_leaves_the_registry_as_"
			 "it_was"))
		return;
	char *before = table_text();
	for (size_t at = 1; at <= seen; at++) {
		struct kp_decisions next;
		struct kp_diag diag;
		bool changed;
		ck_assert_int_eq(kp_decisions_copy(&given.world->decisions, &next), 0);
		ck_assert_int_eq(
			kp_decisions_disable(&next, "one", "why", 7, 0, false, &changed),
			0);
		scarce_begin(at, false);
		int result = kp_registry_decide(given.world->registry, &next, 8, &diag);
		seen = scarce_end(&left);
		if (result < 0)
			ck_assert_str_eq(diag.code, "no_memory");
		ck_assert_int_eq(kp_registry_decide(given.world->registry,
					 &given.world->decisions, 8, &diag),
			0);
		char *after = table_text();
		ck_assert_str_eq(after, before);
		free(after);
		kp_decisions_finish(&next);
	}
	free(before);
}
END_TEST

static const char plugin_text[] =
	"{\"plugin\": \"one\", \"note\": {\"kernels\": [{\"name\": \"mm\", "
	"\"operation\": "
	"\"gemm/mm\", \"priority\": 7, \"solution\": \"s\", \"signatures\": "
	"[\"a=f32,b=f32,c=f32\"], \"traits\": {\"x\": [1, 2]}}, {\"name\": \"other\", "
	"\"operation\": \"gemm/mm\", \"priority\": 8, \"signatures\": "
	"[\"a=f16,b=f16,c=f16\"]}]}}";

static void make_given(void)
{
	const char *build = getenv("KPLUG_BUILD");
	const struct incidents_kept kept = {3, json_array()};
	const struct strikes none = {0};
	json_t *plugin = json_loads(plugin_text, 0, NULL);
	json_t *platform = json_string("x86-64");
	bool changed;

	given.place = strdup(build ? build : "build");
	given.note = json_pack("{s:[{s:s}]}", "kernels", "name", "one");
	given.world = world_new(NULL, platform);
	ck_assert(world_put(given.world, plugin));
	ck_assert_int_eq(kp_decisions_disable(&given.world->decisions, "off", "slow", 1,
				 0, false, &changed),
		0);
	ck_assert(world_decide(given.world) && world_scan(given.world, NULL) &&
		  world_build(given.world, 1));
	given.decisions = kp_decisions_print(&given.world->decisions);
	given.incidents = incidents_print(&kept, &none);
	ck_assert_int_eq(kp_file_read(AT_FDCWD, "lib/families/gemm.mm.json", BYTES_MOST,
				 &given.family, &given.family_size, NULL),
		0);
	json_decref(kept.list);
	json_decref(plugin);
	json_decref(platform);
}

static void drop_given(void)
{
	world_free(given.world);
	json_decref(given.note);
	free(given.place);
	free(given.decisions);
	free(given.incidents);
	free(given.family);
}

int main(void)
{
	kp_json_watch_heap();
	Suite *suite = suite_create("no_memory");
	TCase *tcase = tcase_create("no_memory");

	tcase_add_checked_fixture(tcase, make_given, drop_given);
	tcase_add_loop_test(tcase,
		one_allocation_that_fails_costs_the_answer_and_nothing_else, 0,
		SCENARIOS);
	tcase_add_loop_test(tcase,
		a_heap_that_is_exhausted_costs_the_answer_and_nothing_else, 0, SCENARIOS);
	tcase_add_test(tcase,
		a_decision_that_memory_is_too_short_for_leaves_the_registry_as_it_was);
	suite_add_tcase(suite, tcase);
	return suite_run(suite);
}
