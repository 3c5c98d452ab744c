/* SPDX-License-Identifier: MIT */
/* The flat table: what goes in comes out, and no bytes lead a reader astray. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/table/table_layout.h"
#include "tests/support/suite.h"
#include "tests/support/world.h"

enum { MUTATIONS = 3000, MUTATIONS_LONG = 100000 };

/* The sample set of the selection cases, and a plugin that uses everything else. */
static const char rich_text[] =
	"{\"plugin\": \"rich\", \"manifest\": {\"config\": {\"x\": 1}}, \"unavailable\":"
	" {\"off\": \"libfast.so is missing\"}, \"note\": {\"kernels\": ["
	"{\"name\": \"all\", \"operation\": \"attention/decode\", \"priority\": 7,"
	" \"revision\": 1, \"solution\": \"s\", \"signatures\": "
	"[\"kv=f32,out=f32,q=f32\","
	" \"kv=f16,out=f16,q=f16\"], \"capability\": {\"device\": \"gpu\", \"vendors\":"
	" [\"amd\", \"nvidia\"], \"min_arch\": \"8.6\", \"max_arch\": \"12.1\","
	" \"features\": [\"tma\"]}, \"traits\": {\"head_dim\": [64, 128], \"page_size\":"
	" {\"multiple_of\": 16, \"min\": 16, \"max\": 64, \"required\": true}, "
	"\"causal\":"
	" [true, false], \"bias\": [\"none\", \"alibi\"]}, \"tags\": [\"latency\"],"
	" \"features\": [\"paged\"], \"flags\": [\"reentrant\", \"deterministic\"],"
	" \"needs\": [\"libx.so.1\"], \"layouts\": [\"kn\"]},"
	"{\"name\": \"off\", \"operation\": \"gemm/mm\", \"priority\": 0, \"signatures\":"
	" [\"a=bf16,b=bf16,c=bf16\"]},"
	"{\"name\": \"other\", \"operation\": \"x/y\", \"priority\": 19, \"signatures\":"
	" [\"x=f32\"]}]}}";

static json_t *data;

static void setup(void)
{
	json_error_t error;
	data = json_load_file("tests/cases/selection.json", 0, &error);
	ck_assert_msg(data != NULL, "%s", error.text);
}

static void teardown(void)
{
	json_decref(data);
}

static struct world *rich_world(void)
{
	json_t *platforms = json_object_get(data, "platforms");
	struct world *world = world_new(json_object_get(data, "families"),
		json_object_get(platforms, "host-h100"));
	json_t *rich = json_loads(rich_text, 0, NULL);
	json_t *plugin;
	bool changed;
	size_t i;

	ck_assert_msg(world->registry != NULL, "%s", world->error);
	ck_assert_ptr_nonnull(rich);
	json_array_foreach (
		json_object_get(json_object_get(data, "sets"), "sample"), i, plugin)
		ck_assert(world_put(world, plugin));
	ck_assert(world_put(world, rich));
	json_decref(rich);
	ck_assert_int_eq(kp_decisions_pin(&world->decisions, "gemm/mm", "off", false, 1,
				 0, &changed),
		0);
	ck_assert_int_eq(kp_decisions_disable(&world->decisions, "triton", "slow", 1, 0,
				 false, &changed),
		0);
	ck_assert_int_eq(
		kp_decisions_guard(&world->decisions, "gemm/mm", 50, 1, 0, &changed), 0);
	ck_assert_msg(
		world_decide(world) && world_scan(world, NULL) && world_build(world, 42),
		"%s", world->error);
	return world;
}

static int open_copy(const void *bytes, size_t size, struct kp_diag *diag)
{
	/* Exactly as large, so that a sanitizer sees a read behind the end. */
	unsigned char *copy = malloc(size ? size : 1);
	struct kp_table table;

	ck_assert_ptr_nonnull(copy);
	memcpy(copy, bytes, size);
	int result = kp_table_open(copy, size, &table, diag);
	free(copy);
	return result;
}

START_TEST(a_table_says_its_generation_and_counts)
{
	struct world *world = rich_world();

	ck_assert_uint_eq(kp_table_generation(&world->table), 42);
	ck_assert_uint_eq(kp_table_plugins(&world->table), 5);
	ck_assert_uint_eq(kp_table_kernels(&world->table), 7);
	world_free(world);
}
END_TEST

START_TEST(operations_of_kernels_and_families_are_sorted)
{
	struct world *world = rich_world();
	const char **names = kp_table_operations(&world->table);
	const char *expected[] = {
		"activation/gelu", "attention/decode", "gemm/mm", "norm/rms", "x/y"};

	for (size_t i = 0; i < 5; i++)
		ck_assert_str_eq(names[i], expected[i]);
	ck_assert_ptr_null(names[5]);
	free(names);
	world_free(world);
}
END_TEST

/* The kernel as the note has it, and as the table gives it back. */
static void ck_round_trip(
	const struct kp_table *table, const json_t *note, const char *name)
{
	struct kp_entry_state state;
	struct kp_spec spec;
	struct kp_note read;
	struct kp_diag diag;
	void *memory;
	size_t i;

	ck_assert_int_eq(kp_table_find(table, NULL, name, &i, &diag), 0);
	ck_assert_int_eq(kp_table_spec(table, i, &spec, &state, &memory), 0);
	ck_assert_int_eq(
		kp_note_from_json((json_t *)(uintptr_t)note, &read, NULL, &diag), 0);
	json_t *out = kp_spec_json(&spec, "p", NULL, NULL, NULL);
	json_t *in = kp_spec_json(kp_note_find(&read, name), "p", NULL, NULL, NULL);
	char *a = json_dumps(in, JSON_SORT_KEYS);
	char *b = json_dumps(out, JSON_SORT_KEYS);
	ck_assert_str_eq(a, b);
	free(a);
	free(b);
	json_decref(in);
	json_decref(out);
	free(memory);
	kp_note_finish(&read);
}

START_TEST(what_a_note_says_of_a_kernel_comes_back)
{
	struct world *world = rich_world();
	json_t *rich = json_loads(rich_text, 0, NULL);
	json_t *note = json_object_get(rich, "note");

	json_object_set_new(note, "name", json_string("rich"));
	json_object_set_new(note, "version", json_string("1.0.0"));
	ck_round_trip(&world->table, note, "all");
	ck_round_trip(&world->table, note, "off");
	ck_round_trip(&world->table, note, "other");
	json_decref(rich);
	world_free(world);
}
END_TEST

START_TEST(a_kernels_state_comes_with_code_message_and_source)
{
	struct world *world = rich_world();
	struct kp_entry_state state;
	struct kp_spec spec;
	struct kp_diag diag;
	void *memory;
	size_t i;

	ck_assert_int_eq(kp_table_find(&world->table, NULL, "rich/off", &i, &diag), 0);
	ck_assert_int_eq(kp_table_spec(&world->table, i, &spec, &state, &memory), 0);
	ck_assert_int_eq(state.state, KP_STATE_ACTIVE);
	ck_assert(!state.available);
	ck_assert_str_eq(state.code, "unavailable");
	ck_assert_str_eq(state.message, "libfast.so is missing");
	ck_assert_str_eq(state.source, "machine");
	free(memory);
	ck_assert_int_eq(
		kp_table_find(&world->table, NULL, "triton_decode", &i, &diag), 0);
	ck_assert_int_eq(kp_table_spec(&world->table, i, &spec, &state, &memory), 0);
	ck_assert_int_eq(state.state, KP_STATE_DISABLED);
	ck_assert_str_eq(state.code, "disabled_by_operator");
	ck_assert_str_eq(state.source, "operator");
	ck_assert_int_eq(state.policy, 10);
	free(memory);
	world_free(world);
}
END_TEST

START_TEST(a_kernel_is_found_only_where_it_is)
{
	struct world *world = rich_world();
	struct kp_diag diag;
	size_t i;

	ck_assert_int_eq(kp_table_find(&world->table, "x/y", "other", &i, &diag), 0);
	ck_assert_int_eq(kp_table_find(&world->table, "x/y", "rich/other", &i, &diag), 0);
	ck_assert_int_eq(kp_table_find(&world->table, "gemm/mm", "other", &i, &diag), -1);
	ck_assert_str_eq(diag.code, "no_such_kernel");
	ck_assert_int_eq(
		kp_table_find(&world->table, "gemm/mm", "rich/other", &i, &diag), -1);
	ck_assert_int_eq(kp_table_find(&world->table, "no/op", "other", &i, &diag), -1);
	ck_assert_int_eq(kp_table_find(&world->table, NULL, "/", &i, &diag), -1);
	ck_assert_int_eq(kp_table_find(&world->table, NULL, "", &i, &diag), -1);
	world_free(world);
}
END_TEST

START_TEST(a_table_that_is_cut_anywhere_is_refused)
{
	struct world *world = rich_world();
	struct kp_diag diag;

	for (size_t size = 0; size < world->size; size++) {
		ck_assert_int_eq(open_copy(world->bytes, size, &diag), -1);
		ck_assert_str_eq(diag.code, "bad_table");
	}
	world_free(world);
}
END_TEST

START_TEST(a_byte_that_changed_anywhere_is_noticed)
{
	struct world *world = rich_world();
	unsigned char *bytes = world->bytes;
	struct kp_diag diag;

	for (size_t i = 0; i < world->size; i++) {
		bytes[i] ^= 0x10;
		ck_assert_int_eq(open_copy(bytes, world->size, &diag), -1);
		bytes[i] ^= 0x10;
	}
	ck_assert_int_eq(open_copy(bytes, world->size, &diag), 0);
	world_free(world);
}
END_TEST

START_TEST(a_newer_format_is_named_with_both_numbers)
{
	struct world *world = rich_world();
	unsigned char *bytes = world->bytes;
	struct kp_diag diag;

	bytes[KP_HEADER_MAJOR] = 2;
	ck_assert_int_eq(open_copy(bytes, world->size, &diag), -1);
	ck_assert_str_eq(diag.code, "newer_format");
	ck_assert_ptr_nonnull(strstr(diag.message, "2.1"));
	ck_assert_ptr_nonnull(strstr(diag.message, "1.x"));
	world_free(world);
}
END_TEST

/* A request of each kind for an operation. */
static void ask(const struct kp_table *table, const char *operation, const char *override)
{
	struct kp_request requests[4] = {{.operation = operation},
		{.operation = operation, .any_signature = true},
		{.operation = operation,
			.signature = "kv=f32,out=f32,q=f32",
			.objective = KP_OBJECTIVE_DEBUG,
			.n_features = 1,
			.features = {"paged"}},
		{.operation = operation,
			.solution = "s",
			.n_without = 1,
			.without = {"rich/all"}}};

	requests[0].overrides[KP_OVERRIDE_ARGUMENT] = override;
	requests[2].n_traits = 1;
	requests[2].traits[0] =
		(struct kp_asked_trait){"head_dim", 1, {{KP_SCALAR_NUMBER, 64, NULL}}};
	kp_shape_set(&requests[2].shape, "h", 8);
	kp_shape_set(&requests[2].shape, "hkv", 2);
	for (size_t i = 0; i < 4; i++) {
		struct kp_decision decision;
		struct kp_diag diag;
		if (kp_select(table, &requests[i], &decision, &diag) < 0)
			continue;
		json_decref(kp_decision_json(table, &requests[i], &decision));
		json_decref(kp_explain_json(table, &requests[i]));
		kp_decision_finish(&decision);
	}
}

/* Reads all that can be read. */
static void use(const struct kp_table *table)
{
	const char **operations = kp_table_operations(table);

	for (size_t i = 0; i < kp_table_kernels(table); i++) {
		struct kp_entry_state state;
		struct kp_spec spec;
		void *memory;
		size_t found;
		if (kp_table_spec(table, i, &spec, &state, &memory) < 0)
			continue;
		json_decref(kp_spec_json(
			&spec, state.plugin, "x", state.code, state.message));
		(void)!kp_table_find(table, NULL, spec.name, &found, NULL);
		free(memory);
	}
	for (size_t i = 0; operations[i]; i++)
		ask(table, operations[i], i % 2 ? "s" : NULL);
	free(operations);
}

static void reseal(unsigned char *bytes, size_t size)
{
	kp_store64(bytes + KP_HEADER_CHECKSUM, kp_table_checksum(bytes, size));
}

/* Values that sit at the edges of what an offset, an index or a count may be. */
static uint32_t edge(const struct kp_table *table, unsigned *seed)
{
	enum kp_section section = (unsigned)rand_r(seed) % KP_SECTIONS;
	uint32_t count = (uint32_t)kp_table_count(table, section);
	const uint32_t edges[] = {0, 1, count, count - 1, count + 1, UINT32_MAX,
		UINT32_MAX / 4, (uint32_t)rand_r(seed), (uint32_t)rand_r(seed) % 64};
	return edges[(unsigned)rand_r(seed) % (sizeof(edges) / sizeof(edges[0]))];
}

static size_t mutate(const struct world *world, int mutations, unsigned seed)
{
	unsigned char *copy = malloc(world->size);
	size_t opened = 0;

	ck_assert_ptr_nonnull(copy);
	for (int i = 0; i < mutations; i++) {
		struct kp_table table;
		struct kp_diag diag;
		memcpy(copy, world->bytes, world->size);
		for (int k = rand_r(&seed) % 3; k >= 0; k--) {
			size_t at = (size_t)rand_r(&seed) %
				    (world->size - KP_TABLE_HEADER - 4);
			kp_store32(copy + KP_TABLE_HEADER + (at & ~(size_t)3),
				edge(&world->table, &seed));
		}
		reseal(copy, world->size);
		if (kp_table_open(copy, world->size, &table, &diag) < 0) {
			ck_assert_str_eq(diag.code, "bad_table");
			continue;
		}
		opened++;
		use(&table);
	}
	free(copy);
	return opened;
}

START_TEST(no_bytes_lead_a_reader_outside_the_table)
{
	struct world *world = rich_world();
	int mutations = getenv("KPLUG_LONG") ? MUTATIONS_LONG : MUTATIONS;
	size_t opened = mutate(world, mutations, 7);

	/* Some are refused and some are tables with another meaning: both happened. */
	ck_assert_uint_gt(opened, (size_t)mutations / 20);
	ck_assert_uint_lt(opened, (size_t)mutations);
	world_free(world);
}
END_TEST

/* Every record 12 bytes longer, as a later minor may have them. */
static unsigned char *widen(const struct kp_table *table, size_t *size)
{
	unsigned char *wide = calloc(4, table->size);
	size_t at = KP_TABLE_HEADER + KP_TABLE_DIRECTORY * (size_t)KP_SECTIONS;

	ck_assert_ptr_nonnull(wide);
	memcpy(wide, table->bytes, at);
	for (unsigned s = 0; s < KP_SECTIONS; s++) {
		unsigned char *directory =
			wide + KP_TABLE_HEADER + KP_TABLE_DIRECTORY * s;
		size_t count = kp_table_count(table, s);
		size_t more = s == KP_SECTION_WORDS || s == KP_SECTION_STRINGS ? 0 : 12;
		size_t record = kp_record_sizes[s] + more;
		kp_store32(directory, (uint32_t)at);
		kp_store32(directory + 8, (uint32_t)record);
		for (size_t i = 0; i < count; i++, at += record) {
			memcpy(wide + at, kp_table_record(table, s, i),
				kp_record_sizes[s]);
			memset(wide + at + kp_record_sizes[s], 0xa5, more);
		}
	}
	kp_store32(wide + KP_HEADER_MAJOR, KP_TABLE_MAJOR | 9u << 16);
	kp_store64(wide + KP_HEADER_SIZE, at);
	reseal(wide, at);
	*size = at;
	return wide;
}

START_TEST(a_later_minor_with_longer_records_is_read)
{
	struct world *world = rich_world();
	struct kp_request request = {.operation = "attention/decode"};
	struct kp_table table;
	struct kp_diag diag;
	size_t size;
	unsigned char *wide = widen(&world->table, &size);

	ck_assert_msg(kp_table_open(wide, size, &table, &diag) == 0, "%s", diag.message);
	json_t *a = kp_explain_json(&world->table, &request);
	json_t *b = kp_explain_json(&table, &request);
	ck_assert(json_array_size(a) == 5 && json_equal(a, b));
	json_decref(a);
	json_decref(b);
	use(&table);
	free(wide);
	world_free(world);
}
END_TEST

START_TEST(a_table_without_plugins_answers)
{
	json_t *platform = json_string("x86-64");
	struct world *world = world_new(NULL, platform);
	struct kp_diag diag;
	size_t i;

	json_decref(platform);
	ck_assert(world_scan(world, NULL) && world_build(world, 1));
	ck_assert_uint_eq(kp_table_kernels(&world->table), 0);
	ck_assert_int_eq(kp_table_find(&world->table, NULL, "x", &i, &diag), -1);
	use(&world->table);
	world_free(world);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("table");
	TCase *tcase = tcase_create("table");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, a_table_says_its_generation_and_counts);
	tcase_add_test(tcase, operations_of_kernels_and_families_are_sorted);
	tcase_add_test(tcase, what_a_note_says_of_a_kernel_comes_back);
	tcase_add_test(tcase, a_kernels_state_comes_with_code_message_and_source);
	tcase_add_test(tcase, a_kernel_is_found_only_where_it_is);
	tcase_add_test(tcase, a_table_that_is_cut_anywhere_is_refused);
	tcase_add_test(tcase, a_byte_that_changed_anywhere_is_noticed);
	tcase_add_test(tcase, a_newer_format_is_named_with_both_numbers);
	tcase_add_test(tcase, no_bytes_lead_a_reader_outside_the_table);
	tcase_add_test(tcase, a_later_minor_with_longer_records_is_read);
	tcase_add_test(tcase, a_table_without_plugins_answers);
	suite_add_tcase(suite, tcase);
	return suite_run(suite);
}
