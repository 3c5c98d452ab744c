/* SPDX-License-Identifier: MIT */
/* What belongs to one kernel: workspace, plans, weights; and what threads have. */
#include "tests/support/sites.h"
#include "tests/support/suite.h"

#include <jansson.h>
#include <pthread.h>

#include "lib/host/thread.h"

enum { WORKSPACE = 4096, SCRATCH = 3000 };

static const struct kp_site_options mm = {.operation = "gemm/mm", .label = "ffn.up"};
static struct kp_handle *handle;
static struct kp_site *site;
static struct product product;

static void setup(void)
{
	plugind_begin(&plugind);
	handle = open_as("one", 0);
	site = site_of(handle, mm);
	product_init(&product, KP_CODE_FLOAT, EDGE);
	ck_assert(product_run(site, &product));
}

static void teardown(void)
{
	product_finish(&product);
	kp_close(handle);
	plugind_end(&plugind);
}

/* ---- a kernel that wants everything --------------------------------------------------
 */

static int need(const struct kp_call *call, struct kp_need *out)
{
	if (call->tensors[0]->data)
		return KP_INVALID;
	out->workspace_bytes = WORKSPACE * (uint64_t)call->tensors[0]->shape[0];
	out->workspace_align = 256;
	out->plan_bytes = 64;
	out->host_plan_bytes = 32;
	return KP_OK;
}

static int plan(const struct kp_call *call)
{
	memcpy(call->plan, &call->generation, sizeof(call->generation));
	memset(call->host_plan, 0x5a, 32);
	return KP_OK;
}

static int run(const struct kp_call *call)
{
	uint64_t generation;

	if (call->workspace_bytes < WORKSPACE * (uint64_t)call->tensors[0]->shape[0] ||
		(uintptr_t)call->workspace % 256 != 0)
		return KP_INVALID;
	memset(call->workspace, 0xff, call->workspace_bytes);
	if (!call->plan)
		return KP_OK;
	memcpy(&generation, call->plan, sizeof(generation));
	return generation == call->generation && ((char *)call->host_plan)[31] == 0x5a
		       ? KP_OK
		       : KP_STALE;
}

static int prepared(const struct kp_call *call, uint32_t role, struct kp_prepared *out)
{
	if (role != 1)
		return KP_UNSUPPORTED;
	out->bytes =
		(uint64_t)(call->tensors[1]->shape[0] * call->tensors[1]->shape[1] * 4);
	out->align = 64;
	return KP_OK;
}

static int prepare(const struct kp_call *call, uint32_t role, void *out)
{
	(void)role;
	memcpy(out, call->tensors[1]->data,
		(size_t)(call->tensors[1]->shape[0] * call->tensors[1]->shape[1] * 4));
	return KP_OK;
}

static const struct kp_kernel wanting = {KP_SIZED(struct kp_kernel), .run = run,
	.need = need, .plan = plan, .prepared = prepared, .prepare = prepare};

static void add(const char *name, const struct kp_kernel *kernel, int priority)
{
	struct kp_error error = fresh();
	char note[512];

	snprintf(note, sizeof(note),
		"{\"name\":\"%s\",\"operation\":\"gemm/mm\",\"priority\":%d,"
		"\"signatures\":[\"a=f32,b=f32,c=f32\"],\"flags\":[\"reentrant\"]}",
		name, priority);
	must(kp_local_add(handle, note, kernel, &error));
}

START_TEST(a_kernel_on_a_cpu_gets_the_workspace_that_it_needs)
{
	static char enough[WORKSPACE * EDGE + 256];

	add("wanting", &wanting, 19);
	runs(site, "local/wanting");
	for (int i = 0; i < 3; i++)
		ck_assert_int_eq(kp_run(site, &product.call), KP_OK);
	ck_assert_ptr_null(product.call.workspace);
	/* The caller's own, where it is enough. */
	product.call.workspace = (void *)(((uintptr_t)enough + 255) & ~(uintptr_t)255);
	product.call.workspace_bytes = WORKSPACE * EDGE;
	ck_assert_int_eq(kp_run(site, &product.call), KP_OK);
	ck_assert_int_eq(((unsigned char *)product.call.workspace)[0], 0xff);
}
END_TEST

START_TEST(warming_says_how_much_workspace_is_enough)
{
	const struct kp_range ranges[] = {{"m", 1, 10}, {"n", 8, 8}, {"k", 8, 8}};
	struct kp_site_options options = mm;
	struct kp_warmth warmth = {.size = sizeof(warmth)};
	struct kp_error error = fresh();

	add("wanting", &wanting, 19);
	options.ranges = ranges;
	options.n_ranges = 3;
	struct kp_site *bounded = site_of(handle, options);
	must(kp_warm(&bounded, 1, &warmth, &error));
	ck_assert_uint_eq(warmth.workspace_bytes, 10 * WORKSPACE);
	ck_assert_uint_eq(warmth.workspace_align, 256);
	ck_assert_uint_eq(warmth.n_rungs, 1);
	ck_assert_uint_eq(warmth.n_uncapturable, 1);
	/* What it was not made for is refused. */
	ck_assert_int_eq(kp_run(bounded, &product.call), KP_INVALID);
	ck_assert_msg(
		strstr(product.error.text, "[1, 10]") != NULL, "%s", product.error.text);
}
END_TEST

START_TEST(a_plan_belongs_to_its_kernel_and_is_held_meanwhile)
{
	struct kp_error error = fresh();
	struct kp_plan *made = NULL;

	add("wanting", &wanting, 18);
	must(kp_plan_new(site, &product.call, &made, &error));
	must(kp_plan_use(made, &product.call));
	ck_assert_int_eq(kp_run(site, &product.call), KP_OK);
	/* Whatever is decided about others does not make it stale. */
	plugind_decide(&plugind, "Disable", "openblas");
	ck_assert_int_eq(kp_run(site, &product.call), KP_OK);
	json_t *client = plugind_client(&plugind, "one");
	const json_t *hold = json_array_get(json_object_get(client, "holds"), 0);
	ck_assert_str_eq(json_string_value(json_object_get(hold, "what")), "plan");
	json_decref(client);
	/* Another kernel that plans does not take it. */
	add("other", &wanting, 19);
	runs(site, "local/other");
	ck_assert_int_eq(kp_run(site, &product.call), KP_STALE);
	ck_assert_msg(strstr(product.error.text, "local/wanting") != NULL, "%s",
		product.error.text);
	kp_plan_free(made);
	client = plugind_client(&plugind, "one");
	ck_assert_uint_eq(json_array_size(json_object_get(client, "holds")), 0);
	json_decref(client);
}
END_TEST

START_TEST(a_weight_is_laid_out_for_the_kernel_that_has_a_layout)
{
	struct kp_error error = fresh();
	struct kp_weight *weight = NULL;

	must(kp_weight_new(site, "b", &product.b.tensor, &weight, &error));
	kp_weight_free(weight);
	add("wanting", &wanting, 19);
	must(kp_weight_new(site, "b", &product.b.tensor, &weight, &error));
	const struct kp_tensor *tensor = kp_weight_tensor(weight);
	ck_assert_ptr_ne(tensor->data, product.b.tensor.data);
	ck_assert_int_eq(memcmp(tensor->data, product.b.tensor.data, EDGE * EDGE * 4), 0);
	kp_weight_free(weight);
	/* A role without one stays as it is. */
	must(kp_weight_new(site, "a", &product.a.tensor, &weight, &error));
	ck_assert_ptr_eq(kp_weight_tensor(weight)->data, product.a.tensor.data);
	kp_weight_free(weight);
	ck_assert_int_eq(
		kp_weight_new(site, "z", &product.a.tensor, &weight, &error), KP_INVALID);
}
END_TEST

/* ---- scratch memory ------------------------------------------------------------------
 */

static char *taken;

static int scratching(const struct kp_call *call)
{
	char *one = call->host->scratch(call->host->context, SCRATCH, 64);
	char *two = call->host->scratch(call->host->context, SCRATCH, 4096);

	if (!one || !two || (uintptr_t)two % 4096 != 0 || two < one + SCRATCH ||
		call->host->scratch(call->host->context, (size_t)1 << 40, 64))
		return KP_NO_MEMORY;
	memset(one, 1, SCRATCH);
	memset(two, 2, SCRATCH);
	taken = one;
	return KP_OK;
}

static struct kp_call *inner_call;
static struct kp_site *inner_site;

static int nesting(const struct kp_call *call)
{
	char *mine = call->host->scratch(call->host->context, SCRATCH, 64);

	memset(mine, 7, SCRATCH);
	for (int i = 0; i < 3; i++)
		if (kp_run(inner_site, inner_call) != KP_OK)
			return KP_RUNTIME;
	for (int i = 0; i < SCRATCH; i++)
		if (mine[i] != 7)
			return KP_RUNTIME;
	return kp_thread_mine()->kernel != 0 ? KP_OK : KP_RUNTIME;
}

START_TEST(scratch_memory_is_free_again_after_the_call)
{
	static const struct kp_kernel kernel = {
		KP_SIZED(struct kp_kernel), .run = scratching};
	struct kp_site_options options = mm;
	char *first = NULL;

	add("scratching", &kernel, 19);
	for (int flags = 0; flags < 2; flags++) {
		options.flags = flags ? KP_SITE_CHECKED : 0;
		struct kp_site *of = site_of(handle, options);
		product.call.host = NULL;
		for (int i = 0; i < 10; i++) {
			ck_assert_int_eq(kp_run(of, &product.call), KP_OK);
			first = first ? first : taken;
			ck_assert_ptr_eq(taken, first);
		}
	}
}
END_TEST

START_TEST(a_call_inside_a_call_leaves_its_scratch_memory_and_slot_alone)
{
	static const struct kp_kernel outer = {
		KP_SIZED(struct kp_kernel), .run = nesting};
	static const struct kp_kernel inner = {
		KP_SIZED(struct kp_kernel), .run = scratching};
	struct kp_site_options options = mm;
	struct product other;

	options.flags = KP_SITE_CHECKED;
	options.override_with = "local/inner";
	add("outer", &outer, 19);
	add("inner", &inner, 18);
	product_init(&other, KP_CODE_FLOAT, EDGE);
	inner_call = &other.call;
	inner_site = site_of(handle, options);
	options.override_with = NULL;
	struct kp_site *of = site_of(handle, options);
	for (int i = 0; i < 5; i++)
		ck_assert_int_eq(kp_run(of, &product.call), KP_OK);
	ck_assert_uint_eq(kp_thread_mine()->kernel, 0);
	product_finish(&other);
}
END_TEST

/* ---- threads -------------------------------------------------------------------------
 */

enum { MANY = 300 };
static pthread_barrier_t all_in;

static void *hold_a_slot(void *context)
{
	struct product mine;

	(void)context;
	product_init(&mine, KP_CODE_FLOAT, 4);
	bool right = product_run(site, &mine);
	(void)pthread_barrier_wait(&all_in);
	right &= product_run(site, &mine);
	product_finish(&mine);
	return right ? NULL : &all_in;
}

START_TEST(more_threads_than_slots_all_get_right_results)
{
	pthread_t threads[MANY];
	pthread_attr_t small;
	void *wrong;

	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 256 << 10);
	for (int times = 0; times < 2; times++) {
		pthread_barrier_init(&all_in, NULL, MANY);
		for (int i = 0; i < MANY; i++)
			ck_assert_int_eq(
				pthread_create(&threads[i], &small, hold_a_slot, NULL),
				0);
		for (int i = 0; i < MANY; i++) {
			pthread_join(threads[i], &wrong);
			ck_assert_ptr_null(wrong);
		}
		pthread_barrier_destroy(&all_in);
	}
	pthread_attr_destroy(&small);
}
END_TEST

static pthread_barrier_t closed;
static struct kp_site *other_site;

static void *outlive(void *context)
{
	struct product mine;

	(void)context;
	product_init(&mine, KP_CODE_FLOAT, 4);
	bool right = product_run(other_site, &mine);
	mine.call.host = NULL;
	mine.call.attrs = NULL;
	right &= product_run(site, &mine);
	(void)pthread_barrier_wait(&closed);
	(void)pthread_barrier_wait(&closed);
	for (int i = 0; i < 100; i++)
		right &= product_run(site, &mine);
	product_finish(&mine);
	return right ? NULL : &closed;
}

START_TEST(a_thread_goes_on_when_the_handle_that_it_called_first_is_closed)
{
	struct kp_site_options options = mm;
	struct kp_handle *other = open_as("two", 0);
	pthread_t thread;
	void *wrong;

	options.flags = KP_SITE_CHECKED;
	site = site_of(handle, options);
	other_site = site_of(other, options);
	pthread_barrier_init(&closed, NULL, 2);
	ck_assert_int_eq(pthread_create(&thread, NULL, outlive, NULL), 0);
	(void)pthread_barrier_wait(&closed);
	kp_close(other);
	(void)pthread_barrier_wait(&closed);
	pthread_join(thread, &wrong);
	ck_assert_ptr_null(wrong);
	pthread_barrier_destroy(&closed);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("host_plan");
	TCase *tcase = tcase_create("plan");
	tcase_set_timeout(tcase, 60);
	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, a_kernel_on_a_cpu_gets_the_workspace_that_it_needs);
	tcase_add_test(tcase, warming_says_how_much_workspace_is_enough);
	tcase_add_test(tcase, a_plan_belongs_to_its_kernel_and_is_held_meanwhile);
	tcase_add_test(tcase, a_weight_is_laid_out_for_the_kernel_that_has_a_layout);
	tcase_add_test(tcase, scratch_memory_is_free_again_after_the_call);
	tcase_add_test(
		tcase, a_call_inside_a_call_leaves_its_scratch_memory_and_slot_alone);
	tcase_add_test(tcase, more_threads_than_slots_all_get_right_results);
	tcase_add_test(
		tcase, a_thread_goes_on_when_the_handle_that_it_called_first_is_closed);
	suite_add_tcase(suite, tcase);
	return suite_run(suite);
}
