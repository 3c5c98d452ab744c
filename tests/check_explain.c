/* SPDX-License-Identifier: MIT */
/*
 * Random tables and requests: select, explain and a plain reading of the rules,
 * written here a second time from the kernels' descriptions, must agree.
 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/text.h"
#include "tests/support/suite.h"
#include "tests/support/world.h"

enum { WORLDS = 60, WORLDS_LONG = 3000, REQUESTS = 25, KERNELS = 12 };

static const char families_text[] =
	"[{\"operation\": \"p/q\", \"revision\": 2, \"dims\": [\"d\", \"m\"],"
	"\"roles\": [{\"name\": \"x\", \"direction\": \"in\", \"dims\": [\"m\", \"d\"],"
	" \"key\": true, \"formats\": [\"f32\", \"f16\", \"bf16\"],"
	" \"fill\": {\"kind\": \"normal\"}},"
	"{\"name\": \"y\", \"direction\": \"out\", \"dims\": [\"m\"], \"key\": true,"
	" \"formats\": [\"f32\"]}], \"signature\": \"x=f32,y=f32\","
	"\"derived\": {\"r\": {\"times\": [\"m\"], \"over\": [\"d\"]}},"
	"\"traits\": {\"width\": {\"kind\": \"int\", \"dim\": \"d\"},"
	" \"causal\": {\"kind\": \"bool\", \"default\": false},"
	" \"late\": {\"kind\": \"bool\", \"default\": false, \"revision\": 2},"
	" \"free\": {\"kind\": \"int\"}},"
	"\"check\": {\"kind\": \"norm\", \"tolerance\": {\"f32\": 1e-5}}}]";

static const char *const signatures[] = {"x=f32,y=f32", "x=f16,y=f32", "x=bf16,y=f32"};
static const char *const platforms[] = {
	"nvidia-9.0", "nvidia-10.0", "amd-9.5", "x86-64-v3", "x86-64"};
static const char *const tags[] = {"latency", "throughput", "portability", "determinism"};
static const char *const objectives[] = {
	"default", "latency", "throughput", "portability", "determinism", "debug"};
static const char *const solutions[] = {"s", "t"};
static const char *const features[] = {"f", "g"};

static unsigned pick(unsigned *seed, unsigned below)
{
	return (unsigned)rand_r(seed) % below;
}

static bool maybe(unsigned *seed, unsigned percent)
{
	return pick(seed, 100) < percent;
}

static json_t *some(
	unsigned *seed, const char *const *from, unsigned count, unsigned percent)
{
	json_t *list = json_array();
	for (unsigned i = 0; i < count; i++)
		if (maybe(seed, percent))
			json_array_append_new(list, json_string(from[i]));
	return list;
}

static json_t *random_capability(unsigned *seed)
{
	static const char *const kinds[] = {"any", "gpu", "cpu"};
	static const char *const vendors[] = {"nvidia", "amd", "x86-64"};
	static const char *const arches[] = {"3.0", "9.0", "9.5", "10.0"};
	static const char *const needed[] = {"avx2", "fma"};
	json_t *capability = json_object();

	json_object_set_new(capability, "device", json_string(kinds[pick(seed, 3)]));
	json_object_set_new(capability, "vendors", some(seed, vendors, 3, 40));
	json_object_set_new(capability, "features", some(seed, needed, 2, 15));
	unsigned low = pick(seed, 4);
	if (maybe(seed, 30))
		json_object_set_new(capability, "min_arch", json_string(arches[low]));
	if (maybe(seed, 30))
		json_object_set_new(capability, "max_arch",
			json_string(arches[low + pick(seed, 4 - low)]));
	return capability;
}

static json_t *random_number_trait(unsigned *seed)
{
	switch (pick(seed, 4)) {
	case 0:
		return json_pack("[i, i]", 64, 128);
	case 1:
		return json_pack("{s:i}", "min", 65);
	case 2:
		return json_pack("{s:i, s:i}", "max", 128, "multiple_of", 32);
	default:
		return json_pack("{s:[i], s:b}", "in", 64, "required", 1);
	}
}

static json_t *random_traits(unsigned *seed)
{
	json_t *traits = json_object();

	if (maybe(seed, 40))
		json_object_set_new(traits, "width", random_number_trait(seed));
	if (maybe(seed, 15))
		json_object_set_new(traits, "m", random_number_trait(seed));
	if (maybe(seed, 15))
		json_object_set_new(traits, "r", json_pack("{s:f}", "max", 1.5));
	if (maybe(seed, 20))
		json_object_set_new(traits, "free", random_number_trait(seed));
	if (maybe(seed, 40))
		json_object_set_new(traits, "causal",
			maybe(seed, 50) ? json_pack("[b, b]", 0, 1) : json_true());
	if (maybe(seed, 20))
		json_object_set_new(traits, "late", json_pack("[b, b]", 0, 1));
	return traits;
}

static json_t *random_kernel(unsigned *seed, unsigned number)
{
	json_t *kernel = json_pack("{s:o, s:s, s:i, s:i, s:o, s:o, s:o, s:o}", "name",
		json_sprintf("k%u", number), "operation", "p/q", "priority",
		(int)pick(seed, 5), "revision", 1 + (int)pick(seed, 2), "capability",
		random_capability(seed), "traits", random_traits(seed), "tags",
		some(seed, tags, 4, 30), "features", some(seed, features, 2, 60));
	json_t *list = some(seed, signatures, 3, 60);

	if (json_array_size(list) == 0)
		json_array_append_new(list, json_string(signatures[0]));
	json_object_set_new(kernel, "signatures", list);
	if (maybe(seed, 70))
		json_object_set_new(
			kernel, "solution", json_string(solutions[pick(seed, 2)]));
	if (maybe(seed, 10))
		json_object_set_new(kernel, "flags", json_pack("[s]", "unproven"));
	return kernel;
}

static void put_random_plugin(struct world *world, unsigned *seed, const char *name)
{
	static const char *const states[] = {"failed", "quarantined", "rejected"};
	json_t *kernels = json_array();
	json_t *off = json_object();
	unsigned count = 1 + pick(seed, KERNELS / 3);

	for (unsigned i = 0; i < count; i++) {
		json_t *kernel = random_kernel(seed, i);
		if (maybe(seed, 10))
			json_object_set_new(off,
				json_string_value(json_object_get(kernel, "name")),
				json_string("not here"));
		json_array_append_new(kernels, kernel);
	}
	json_t *plugin = json_pack("{s:s, s:{s:o}, s:o}", "plugin", name, "note",
		"kernels", kernels, "unavailable", off);
	if (maybe(seed, 15)) {
		json_object_set_new(plugin, "state", json_string(states[pick(seed, 3)]));
		json_object_set_new(plugin, "code", json_string("x"));
	}
	ck_assert(world_put(world, plugin));
	json_decref(plugin);
}

static void decide_randomly(struct world *world, unsigned *seed)
{
	static const char *const names[] = {"a", "b", "a/k0", "b/k1", "c/k0"};
	struct kp_diag diag;
	bool changed;

	for (unsigned i = 0; i < 5; i++) {
		if (maybe(seed, 12))
			ck_assert_int_eq(kp_decisions_disable(&world->decisions, names[i],
						 "", 1, 0, false, &changed),
				0);
		if (maybe(seed, 30) && strchr(names[i], '/'))
			ck_assert_int_eq(kp_registry_set_policy(world->registry, names[i],
						 (int)pick(seed, 20), &diag),
				0);
	}
	ck_assert(world_decide(world));
}

static struct world *random_world(unsigned *seed)
{
	json_t *families = json_loads(families_text, 0, NULL);
	json_t *platform = json_string(platforms[pick(seed, 5)]);
	struct world *world = world_new(families, platform);

	ck_assert_msg(world->registry != NULL, "%s", world->error);
	json_decref(families);
	json_decref(platform);
	put_random_plugin(world, seed, "a");
	put_random_plugin(world, seed, "b");
	put_random_plugin(world, seed, "c");
	decide_randomly(world, seed);
	ck_assert_msg(
		world_scan(world, NULL) && world_build(world, 1), "%s", world->error);
	return world;
}

static json_t *random_request(unsigned *seed)
{
	json_t *traits = json_object();
	json_t *shape = json_object();
	json_t *request = json_pack("{s:s, s:o, s:o, s:o, s:s}", "operation", "p/q",
		"traits", traits, "shape", shape, "features", some(seed, features, 2, 15),
		"objective", objectives[pick(seed, 6)]);

	if (maybe(seed, 60))
		json_object_set_new(
			request, "signature", json_string(signatures[pick(seed, 3)]));
	if (maybe(seed, 15))
		json_object_set_new(
			request, "solution", json_string(solutions[pick(seed, 2)]));
	if (maybe(seed, 30))
		json_object_set_new(request, "on", json_string(platforms[pick(seed, 5)]));
	if (maybe(seed, 40))
		json_object_set_new(shape, "d", json_integer(32 << pick(seed, 4)));
	if (maybe(seed, 40))
		json_object_set_new(shape, "m", json_integer(32 << pick(seed, 4)));
	if (maybe(seed, 25))
		json_object_set_new(traits, "causal", json_boolean(maybe(seed, 70)));
	if (maybe(seed, 15))
		json_object_set_new(traits, "late", json_boolean(maybe(seed, 70)));
	if (maybe(seed, 15))
		json_object_set_new(traits, "free", json_pack("[i, i]", 64, 128));
	return request;
}

/* ---- the rules, read plainly ---- */

static bool has(const struct kp_strings *strings, const char *text)
{
	return kp_text_among(text, strings->items, strings->count);
}

static bool device_passes(
	const struct kp_capability *capability, const struct kp_device_facts *device)
{
	if (capability->device != KP_ANY_DEVICE && capability->device != device->kind)
		return false;
	if (capability->vendors.count > 0 && !has(&capability->vendors, device->vendor))
		return false;
	if ((capability->min_arch.known || capability->max_arch.known) &&
		!device->arch.known)
		return false;
	if (capability->min_arch.known &&
		kp_arch_compare(&device->arch, &capability->min_arch) < 0)
		return false;
	if (capability->max_arch.known &&
		kp_arch_compare(&device->arch, &capability->max_arch) > 0)
		return false;
	for (size_t i = 0; i < capability->features.count; i++) {
		bool found = false;
		for (size_t k = 0; k < device->n_features; k++)
			found |= !strcmp(
				device->features[k], capability->features.items[i]);
		if (!found)
			return false;
	}
	return true;
}

/* The values of a name in this request; the count. */
static size_t values_of(
	const struct kp_request *request, const char *name, struct kp_scalar *values)
{
	for (size_t i = 0; i < request->n_traits; i++) {
		if (strcmp(request->traits[i].name, name) != 0)
			continue;
		memcpy(values, request->traits[i].values,
			request->traits[i].count * sizeof(*values));
		return request->traits[i].count;
	}
	const char *dim = strcmp(name, "width") == 0 ? "d" : name;
	int64_t extent = kp_shape_get(&request->shape, dim);
	int64_t d = kp_shape_get(&request->shape, "d");
	int64_t m = kp_shape_get(&request->shape, "m");
	*values = (struct kp_scalar){KP_SCALAR_NUMBER, (double)extent, NULL};
	if (extent >= 0)
		return 1;
	if (strcmp(name, "r") == 0 && d > 0 && m >= 0) {
		values->number = (double)m / (double)d;
		return 1;
	}
	if (strcmp(name, "causal") == 0 || strcmp(name, "late") == 0) {
		*values = (struct kp_scalar){KP_SCALAR_BOOL, 0, NULL};
		return 1;
	}
	return 0;
}

static bool traits_pass(const struct kp_spec *spec, const struct kp_request *request)
{
	static const char *const preset[] = {"causal", "late"};
	struct kp_scalar values[16];

	for (size_t t = 0; t < spec->n_traits; t++) {
		size_t count = values_of(request, spec->traits[t].name, values);
		if (count == 0 && spec->traits[t].required)
			return false;
		for (size_t v = 0; v < count; v++)
			if (!kp_trait_accepts(&spec->traits[t], &values[v]))
				return false;
	}
	for (size_t i = 0; i < 2; i++) {
		bool declared = false;
		for (size_t t = 0; t < spec->n_traits; t++)
			declared |= strcmp(spec->traits[t].name, preset[i]) == 0;
		if (values_of(request, preset[i], values) != 1 || values[0].number == 0)
			continue;
		if (!declared || (i == 1 && spec->revision < 2))
			return false;
	}
	return true;
}

static bool fits(const struct world *world, const struct kp_spec *spec,
	const struct kp_request *request)
{
	const struct kp_platform *platform = request->on ? request->on : &world->platform;
	bool device = false;

	for (size_t i = 0; i < platform->n_devices; i++)
		device |= device_passes(&spec->capability, &platform->devices[i]);
	for (size_t i = 0; i < request->n_features; i++)
		if (!has(&spec->features, request->features[i]))
			return false;
	if (request->solution &&
		(!spec->solution || strcmp(spec->solution, request->solution) != 0))
		return false;
	return device && traits_pass(spec, request) &&
	       has(&spec->signatures,
		       request->signature ? request->signature : signatures[0]);
}

/* Higher is better; names are compared by the caller. */
static int score(const struct kp_spec *spec, const struct kp_entry_state *state,
	enum kp_objective objective)
{
	static const char *const wanted[KP_OBJECTIVES] = {NULL, "latency", "throughput",
		"portability", "determinism", "determinism"};
	int tagged = wanted[objective] && has(&spec->tags, wanted[objective]);
	return (state->policy * 2 + tagged) * 20 + spec->priority;
}

/* The winner, and what is off and would have come before it. */
struct verdict {
	size_t winner, fallback;
};

static struct verdict judge(const struct world *world, const struct kp_request *request)
{
	struct verdict best = {SIZE_MAX, SIZE_MAX};
	int best_score = -1;
	int off_score = -1;

	/* In order of plugin and kernel: of equals the first stays. */
	for (size_t i = 0; i < kp_table_kernels(&world->table); i++) {
		struct kp_entry_state state;
		struct kp_spec spec;
		void *memory;
		ck_assert_int_eq(
			kp_table_spec(&world->table, i, &spec, &state, &memory), 0);
		int own = score(&spec, &state, request->objective);
		bool active = state.state == KP_STATE_ACTIVE &&
			      (state.available || request->on);
		bool off = !active && strcmp(state.code, "duplicate_of") != 0 &&
			   strcmp(state.code, "unproven") != 0;
		if (fits(world, &spec, request) && active && own > best_score) {
			best_score = own;
			best.winner = i;
		}
		if (fits(world, &spec, request) && off && own > off_score) {
			off_score = own;
			best.fallback = i;
		}
		free(memory);
	}
	if (off_score < best_score ||
		(off_score == best_score && best.fallback > best.winner))
		best.fallback = SIZE_MAX;
	return best;
}

static void compare(const struct world *world, const json_t *asked)
{
	struct kp_request request;
	struct kp_decision decision;
	struct kp_diag diag;
	char *text = json_dumps(asked, 0);

	ck_assert_msg(kp_request_from_json(&world->table, asked, &request, &diag) == 0,
		"%s: %s", diag.message, text);
	ck_assert_msg(kp_select(&world->table, &request, &decision, &diag) == 0, "%s: %s",
		diag.message, text);
	struct verdict plain = judge(world, &request);
	ck_assert_msg(decision.selected == plain.winner, "selected %zd, not %zd: %s",
		(ssize_t)decision.selected, (ssize_t)plain.winner, text);
	ck_assert_msg(decision.fallback_from == plain.fallback,
		"fallback %zd, not %zd: %s", (ssize_t)decision.fallback_from,
		(ssize_t)plain.fallback, text);
	json_t *candidates = kp_explain_json(&world->table, &request);
	json_t *reply = kp_decision_json(&world->table, &request, &decision);
	const json_t *first = json_array_get(candidates, 0);
	ck_assert_uint_eq(json_array_size(candidates), kp_table_kernels(&world->table));
	if (decision.selected == SIZE_MAX)
		ck_assert(!json_is_true(json_object_get(first, "eligible")));
	else
		ck_assert(json_equal(json_object_get(first, "kernel"),
			json_object_get(reply, "selected")));
	json_decref(candidates);
	json_decref(reply);
	kp_decision_finish(&decision);
	kp_request_finish(&request);
	free(text);
}

START_TEST(select_explain_and_the_rules_agree_on_random_tables)
{
	int worlds = getenv("KPLUG_LONG") ? WORLDS_LONG : WORLDS;
	unsigned seed = 20;

	for (int w = 0; w < worlds; w++) {
		struct world *world = random_world(&seed);
		for (int r = 0; r < REQUESTS; r++) {
			json_t *request = random_request(&seed);
			compare(world, request);
			json_decref(request);
		}
		world_free(world);
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("explain");
	TCase *tcase = tcase_create("explain");

	tcase_add_test(tcase, select_explain_and_the_rules_agree_on_random_tables);
	suite_add_tcase(suite, tcase);
	return suite_run(suite);
}
