/* SPDX-License-Identifier: MIT */
/* Right kernels are never reported: every family, kernel, dtype and shape of a CPU. */
#include "tests/support/families.h"
#include "tests/support/guarding.h"
#include "tests/support/suite.h"

#include <pthread.h>

#include "lib/family/family.h"
#include "lib/family/fill.h"
#include "lib/family/tensor.h"

enum { THREADS = 8, CALLS = 210, EVERY = 7 };

static struct kp_families families;
static struct heard heard;

static void setup(void)
{
	families_read(&families);
	plugind_begin(&plugind);
}

static void teardown(void)
{
	plugind_end(&plugind);
	kp_families_finish(&families);
}

static const struct {
	const char *operation, *signature;
} rows[] = {
	{"gemm/mm", "a=f32,b=f32,c=f32"},
	{"gemm/mm", "a=bf16,b=bf16,c=bf16"},
	{"gemm/mm", "a=bf16,b=bf16,c=f32"},
	{"norm/rms", "weight=f32,x=f32,y=f32"},
	{"norm/rms", "weight=bf16,x=bf16,y=bf16"},
	{"norm/softmax", "x=f32,y=f32"},
	{"norm/softmax", "x=bf16,y=bf16"},
	{"activation/silu_mul", "gate=f32,out=f32,up=f32"},
	{"activation/silu_mul", "gate=bf16,out=bf16,up=bf16"},
	{"attention/decode", "k_pages=f32,out=f32,q=f32,v_pages=f32"},
	{"attention/decode", "k_pages=bf16,out=bf16,q=bf16,v_pages=bf16"},
	{"elementwise/square", "x=f32,y=f32"},
	{"elementwise/square", "x=bf16,y=bf16"},
};
enum { ROWS = sizeof(rows) / sizeof(rows[0]) };

enum { ATTENTION = 9 }; /* the row of its f32 */

/* A call with a family's inputs. */
struct filled {
	const struct kp_family *family;
	struct kp_layout layouts[KP_FAMILY_ROLES];
	struct kp_tensor tensors[KP_FAMILY_ROLES];
	const struct kp_tensor *list[KP_FAMILY_ROLES];
	struct kp_error error;
	struct kp_call call;
};

/* in_place: outputs are what they may be the same memory as. */
static void filled_init(struct filled *filled, size_t row, const json_t *json,
	uint64_t seed, bool in_place)
{
	struct kp_signature signature;
	struct kp_shape shape;
	struct kp_diag diag = {.code = "ok"};

	memset(filled, 0, sizeof(*filled));
	filled->family = kp_families_find(&families, rows[row].operation);
	ck_assert_int_eq(kp_signature_parse(rows[row].signature, &signature, &diag), 0);
	ck_assert_int_eq(kp_shape_from_json(json, filled->family, &shape, &diag), 0);
	for (size_t i = 0; i < filled->family->n_roles; i++) {
		const struct kp_role *role = &filled->family->roles[i];
		struct kp_format format;
		ck_assert(kp_family_format(role, &signature, &format));
		ck_assert_int_eq(kp_layout_of_role(role, &shape, &format,
					 &filled->layouts[i], &diag),
			0);
		void *data = calloc(1, filled->layouts[i].bytes + 64);
		filled->tensors[i] = kp_layout_tensor(&filled->layouts[i], data);
		filled->list[i] = &filled->tensors[i];
		ck_assert_ptr_nonnull(data);
		if (role->direction == KP_IN)
			ck_assert_msg(kp_fill(filled->family, role, &shape, seed,
					      &filled->tensors[i], &diag) == 0,
				"%s", diag.message);
		for (size_t k = 0; in_place && role->alias && k < i; k++)
			if (strcmp(filled->family->roles[k].name, role->alias) == 0) {
				free(data);
				filled->tensors[i].data = filled->tensors[k].data;
			}
	}
	filled->error = fresh();
	filled->call = (struct kp_call){.n_tensors = (uint32_t)filled->family->n_roles,
		.tensors = filled->list,
		.error = &filled->error};
}

static void filled_finish(struct filled *filled)
{
	for (size_t i = 0; i < filled->family->n_roles; i++) {
		bool is_shared = false;
		for (size_t k = 0; k < i; k++)
			is_shared |= filled->tensors[k].data == filled->tensors[i].data;
		if (!is_shared)
			free(filled->tensors[i].data);
	}
}

/* Kernels of the operation, but the reference, that run for the signature: an array. */
static json_t *kernels_for(size_t row)
{
	json_t *reply = plugind_ask(&plugind, "Explain",
		json_pack("{s:{s:s, s:s, s:s}}", "request", "operation",
			rows[row].operation, "signature", rows[row].signature, "device",
			"cpu"));
	json_t *names = json_array(), *candidate;
	size_t i;

	json_array_foreach (json_object_get(reply, "candidates"), i, candidate) {
		const char *name =
			json_string_value(json_object_get(candidate, "kernel"));
		if (json_is_true(json_object_get(candidate, "eligible")) &&
			strncmp(name, "reference/", strlen("reference/")) != 0)
			json_array_append_new(names, json_string(name));
	}
	json_decref(reply);
	return names;
}

/* Returns how many calls were compared. */
static int call_shapes(struct kp_site *site, size_t row, const char *kind, bool in_place)
{
	const struct kp_family *family = kp_families_find(&families, rows[row].operation);
	json_t *shape;
	size_t i;

	json_array_foreach (json_object_get(family->shapes, kind), i, shape) {
		struct filled filled;
		filled_init(&filled, row, shape, 40 + i, in_place);
		int status = kp_run(site, &filled.call);
		/* Not every kernel takes every shape. */
		ck_assert_msg(status == KP_OK || status == KP_UNSUPPORTED, "%s %s: %s",
			rows[row].operation, rows[row].signature, filled.error.text);
		filled_finish(&filled);
	}
	return compared_at(site);
}

static struct kp_site *guarded_site(
	struct kp_handle *handle, size_t row, const char *kernel, uint32_t every)
{
	return site_of(handle, (struct kp_site_options){.operation = rows[row].operation,
				       .signature = rows[row].signature,
				       .label = rows[row].signature,
				       .override_with = kernel,
				       .guard_every = every});
}

START_TEST(a_right_kernel_is_never_reported)
{
	struct kp_handle *handle = open_heard(&heard);
	json_t *names = kernels_for((size_t)_i), *name;
	size_t k;

	ck_assert_uint_gt(json_array_size(names), 0);
	json_array_foreach (names, k, name) {
		struct kp_site *site =
			guarded_site(handle, (size_t)_i, json_string_value(name), 1);
		ck_assert_int_gt(call_shapes(site, (size_t)_i, "edge", false), 2);
		ck_assert_int_gt(call_shapes(site, (size_t)_i, "default", false), 4);
		ck_assert_msg(heard.errors == 0, "%s", heard.last);
	}
	ck_assert_msg(heard.warnings == 0, "%s", heard.last);
	json_decref(names);
	kp_close(handle);
}
END_TEST

START_TEST(nor_one_whose_output_is_its_input)
{
	static const char *const in_place[] = {
		"norm/rms", "norm/softmax", "activation/silu_mul", "elementwise/square"};
	struct kp_handle *handle = open_heard(&heard);

	for (size_t row = 0; row < ROWS; row++) {
		bool may = false;
		for (size_t i = 0; i < 4; i++)
			may |= strcmp(in_place[i], rows[row].operation) == 0;
		if (!may)
			continue;
		json_t *names = kernels_for(row), *name;
		size_t k;
		json_array_foreach (names, k, name) {
			struct kp_site *site =
				guarded_site(handle, row, json_string_value(name), 1);
			ck_assert_int_gt(call_shapes(site, row, "edge", true), 2);
			ck_assert_int_gt(call_shapes(site, row, "default", true), 3);
		}
		json_decref(names);
	}
	ck_assert_msg(heard.errors == 0 && heard.warnings == 0, "%s", heard.last);
	kp_close(handle);
}
END_TEST

/* ---- many threads ---------------------------------------------------------------- */

struct caller {
	struct kp_site *site;
	size_t row;
	pthread_t thread;
	int failed;
};

static void *call_on(void *context)
{
	struct caller *caller = context;
	const struct kp_family *family =
		kp_families_find(&families, rows[caller->row].operation);
	const json_t *shape = json_array_get(json_object_get(family->shapes, "edge"), 3);
	struct filled filled;

	filled_init(&filled, caller->row, shape, 3, false);
	for (int i = 0; i < CALLS; i++)
		caller->failed += kp_run(caller->site, &filled.call) != KP_OK;
	filled_finish(&filled);
	return NULL;
}

START_TEST(threads_share_a_guarded_site)
{
	struct kp_handle *handle = open_heard(&heard);
	struct caller callers[THREADS];
	/* gemm, and attention, which has workspace. */
	struct kp_site *sites[] = {guarded_site(handle, 0, NULL, EVERY),
		guarded_site(handle, ATTENTION, NULL, EVERY)};

	for (size_t i = 0; i < THREADS; i++) {
		callers[i] = (struct caller){sites[i % 2], i % 2 ? ATTENTION : 0, 0, 0};
		ck_assert_int_eq(
			pthread_create(&callers[i].thread, NULL, call_on, &callers[i]),
			0);
	}
	for (size_t i = 0; i < THREADS; i++) {
		ck_assert_int_eq(pthread_join(callers[i].thread, NULL), 0);
		ck_assert_int_eq(callers[i].failed, 0);
	}
	for (size_t i = 0; i < 2; i++)
		ck_assert_int_eq(compared_at(sites[i]), THREADS / 2 * CALLS / EVERY);
	ck_assert_msg(heard.errors == 0 && heard.warnings == 0, "%s", heard.last);
	kp_close(handle);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("host_guard_right");
	TCase *tcase = tcase_create("right");
	tcase_set_timeout(tcase, 200);
	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_loop_test(tcase, a_right_kernel_is_never_reported, 0, ROWS);
	tcase_add_test(tcase, nor_one_whose_output_is_its_input);
	tcase_add_test(tcase, threads_share_a_guarded_site);
	suite_add_tcase(suite, tcase);
	return suite_run(suite);
}
