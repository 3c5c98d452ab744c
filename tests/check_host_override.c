/* SPDX-License-Identifier: MIT */
/* Overrides by argument, scope and environment; kernels of the process; profilers. */
#include "tests/support/sites.h"
#include "tests/support/suite.h"

#include <jansson.h>
#include <pthread.h>

static const char MM[] = "reference/gemm_mm";
static const char *const variants[] = {"a=f32,b=f32,c=f32", "a=bf16,b=bf16,c=bf16"};
static const struct kp_site_options mm = {.operation = "gemm/mm", .label = "ffn.up"};

static char usual[128]; /* what runs when nobody interferes */
static struct kp_handle *handle;
static struct kp_site *site;

static void setup(void)
{
	const int64_t dims[] = {EDGE, EDGE, EDGE};

	plugind_begin(&plugind);
	handle = open_as("one", 0);
	site = site_of(handle, mm);
	snprintf(usual, sizeof(usual), "%s", kp_site_kernel(site, dims));
	ck_assert_str_ne(usual, MM);
}

static void teardown(void)
{
	kp_close(handle);
	plugind_end(&plugind);
}

/* What kp_decide says for a product, the reply. */
static json_t *decide(struct kp_handle *of, const char *override, const char *signature)
{
	struct kp_error error = fresh();
	char *reply = NULL;
	json_t *request = json_pack("{s:s, s:s, s:{s:i, s:i, s:i}, s:s*}", "operation",
		"gemm/mm", "signature", signature, "shape", "m", EDGE, "n", EDGE, "k",
		EDGE, "override", override);
	char *text = json_dumps(request, 0);

	must(kp_decide(of, text, &reply, &error));
	json_t *parsed = json_loads(reply, 0, NULL);
	kp_free(reply);
	free(text);
	json_decref(request);
	return parsed;
}

static const char *member(const json_t *object, const char *outer, const char *inner)
{
	if (outer)
		object = json_object_get(object, outer);
	return json_string_value(json_object_get(object, inner));
}

static uint64_t begin(const char *choice, int thread)
{
	struct kp_error error = fresh();
	uint64_t scope = 0;

	must(kp_scope_begin(handle, "gemm/mm", choice, thread, &scope, &error));
	return scope;
}

START_TEST(sl53_an_argument_beats_the_environment_and_both_are_named)
{
	setenv("KPLUG_OVERRIDE_GEMM_MM", "openblas", 1);
	struct kp_handle *other = open_as("two", 0);

	for (size_t i = 0; i < 2; i++) {
		json_t *said = decide(other, MM, variants[i]);
		const json_t *ignored = json_array_get(
			json_object_get(json_object_get(said, "override"), "ignored"), 0);
		ck_assert_str_eq(member(said, NULL, "selected"), MM);
		ck_assert_str_eq(member(said, "override", "source"), "argument");
		ck_assert_str_eq(member(said, "override", "value"), MM);
		ck_assert_str_eq(member(ignored, NULL, "value"), "openblas");
		ck_assert_str_eq(member(ignored, NULL, "source"), "environment");
		json_decref(said);
	}
	struct kp_site_options options = mm;
	options.override_with = MM;
	runs(site_of(other, options), MM);
	kp_close(other);
	unsetenv("KPLUG_OVERRIDE_GEMM_MM");
}
END_TEST

START_TEST(the_environment_overrides_what_has_no_argument)
{
	setenv("KPLUG_OVERRIDE_GEMM_MM", MM, 1);
	struct kp_handle *other = open_as("two", 0);
	json_t *said = decide(other, NULL, variants[0]);

	ck_assert_str_eq(member(said, NULL, "selected"), MM);
	ck_assert_str_eq(member(said, "override", "source"), "environment");
	json_decref(said);
	runs(site_of(other, mm), MM);
	kp_close(other);
	unsetenv("KPLUG_OVERRIDE_GEMM_MM");
}
END_TEST

START_TEST(sl59_in_a_scope_the_overridden_kernel_runs)
{
	static const char *const choices[] = {MM, "reference", "gemm_mm"};

	for (size_t i = 0; i < 2; i++) {
		uint64_t scope = begin(choices[i], 0);
		runs(site, MM);
		json_t *said = decide(handle, NULL, variants[i]);
		ck_assert_str_eq(member(said, "override", "source"), "scope");
		json_decref(said);
		ck_assert_int_eq(kp_scope_end(handle, scope), KP_OK);
	}
	uint64_t scope = begin(MM, 1);
	runs(site, MM);
	ck_assert_int_eq(kp_scope_end(handle, scope), KP_OK);
}
END_TEST

START_TEST(sl60_after_a_scope_everything_is_as_before)
{
	for (int thread = 0; thread < 2; thread++)
		for (int times = 0; times < 2; times++) {
			uint64_t scope = begin(MM, thread);
			runs(site, MM);
			ck_assert_int_eq(kp_scope_end(handle, scope), KP_OK);
			runs(site, usual);
			ck_assert_int_eq(kp_scope_end(handle, scope), KP_INVALID);
		}
}
END_TEST

START_TEST(sl61_of_nested_scopes_the_inner_one_holds)
{
	for (int thread = 0; thread < 2; thread++) {
		uint64_t outer = begin(MM, thread);
		runs(site, MM);
		uint64_t inner = begin(usual, thread);
		runs(site, usual);
		ck_assert_int_eq(kp_scope_end(handle, inner), KP_OK);
		runs(site, MM);
		ck_assert_int_eq(kp_scope_end(handle, outer), KP_OK);
		runs(site, usual);
	}
	uint64_t whole = begin(MM, 0);
	uint64_t own = begin(usual, 1);
	runs(site, usual);
	/* In any order. */
	ck_assert_int_eq(kp_scope_end(handle, whole), KP_OK);
	runs(site, usual);
	ck_assert_int_eq(kp_scope_end(handle, own), KP_OK);
	runs(site, usual);
}
END_TEST

static void *look(void *context)
{
	runs(site, context);
	return NULL;
}

START_TEST(a_scope_of_a_thread_is_nobody_elses)
{
	uint64_t scope = begin(MM, 1);
	pthread_t thread;

	runs(site, MM);
	ck_assert_int_eq(pthread_create(&thread, NULL, look, usual), 0);
	ck_assert_int_eq(pthread_join(thread, NULL), 0);
	ck_assert_int_eq(kp_scope_end(handle, scope), KP_OK);
}
END_TEST

/* ---- profiling ----------------------------------------------------------------------
 */

struct profile {
	int entered, left, status;
	char kernel[128], label[32];
	int64_t m, n, k;
	uint8_t code;
	bool has_out;
};

static void on_enter(
	void *context, const char *label, const char *kernel, const struct kp_call *call)
{
	struct profile *profile = context;

	ck_assert_int_eq(profile->entered, profile->left);
	profile->entered++;
	snprintf(profile->kernel, sizeof(profile->kernel), "%s", kernel);
	snprintf(profile->label, sizeof(profile->label), "%s", label);
	profile->m = call->tensors[0]->shape[0];
	profile->k = call->tensors[0]->shape[1];
	profile->n = call->tensors[1]->shape[1];
	profile->code = call->tensors[0]->dtype.code;
	profile->has_out = call->tensors[2]->data != NULL;
}

static void on_leave(void *context, const char *label, const char *kernel,
	const struct kp_call *call, int status)
{
	struct profile *profile = context;

	(void)call;
	profile->left++;
	profile->status = status;
	ck_assert_str_eq(profile->kernel, kernel);
	ck_assert_str_eq(profile->label, label);
}

static void is_profiled(struct kp_site *of, const char *kernel, uint8_t code)
{
	struct profile seen = {.status = -1};
	const struct kp_profiler profiler = {
		KP_SIZED(struct kp_profiler), &seen, on_enter, on_leave};
	struct product product;

	product_init(&product, code, EDGE);
	ck_assert_int_eq(kp_profile(handle, &profiler), KP_OK);
	ck_assert(product_run(of, &product));
	ck_assert_int_eq(kp_profile(handle, NULL), KP_OK);
	ck_assert(product_run(of, &product));
	ck_assert_int_eq(seen.entered, 1);
	ck_assert_int_eq(seen.left, 1);
	ck_assert_int_eq(seen.status, KP_OK);
	ck_assert_str_eq(seen.kernel, kernel);
	ck_assert_str_eq(seen.label, "ffn.up");
	ck_assert(seen.m == EDGE && seen.n == EDGE && seen.k == EDGE && seen.has_out);
	ck_assert_uint_eq(seen.code, code);
	product_finish(&product);
}

START_TEST(sl70_a_kernel_forced_by_scope_is_called_once_inside_the_profilers_scope)
{
	struct kp_site_options half = mm;
	half.signature = variants[1];

	uint64_t scope = begin(MM, 0);
	is_profiled(site, MM, KP_CODE_FLOAT);
	is_profiled(site_of(handle, half), MM, KP_CODE_BFLOAT);
	ck_assert_int_eq(kp_scope_end(handle, scope), KP_OK);
	is_profiled(site, usual, KP_CODE_FLOAT);
}
END_TEST

START_TEST(sl71_so_is_a_vendors_kernel)
{
	static const char *const vendors[] = {"openblas", "openblas/gemm_mm"};

	for (size_t i = 0; i < 2; i++) {
		uint64_t scope = begin(vendors[i], (int)i);
		is_profiled(site, "openblas/gemm_mm", KP_CODE_FLOAT);
		ck_assert_int_eq(kp_scope_end(handle, scope), KP_OK);
	}
	struct kp_site_options checked = mm;
	checked.flags = KP_SITE_CHECKED;
	checked.override_with = "openblas";
	is_profiled(site_of(handle, checked), "openblas/gemm_mm", KP_CODE_FLOAT);
}
END_TEST

/* ---- KPLUG_DISABLE ------------------------------------------------------------------
 */

static char logged[4096];

static void keep_log(void *context, int level, const char *text)
{
	size_t used = strlen(logged);

	(void)context;
	snprintf(logged + used, sizeof(logged) - used, "%d %s\n", level, text);
}

static struct kp_handle *open_with(const char *disabled)
{
	struct kp_options options = {.size = sizeof(options),
		.socket = plugind.socket,
		.name = "two",
		.log = keep_log};
	struct kp_handle *other = NULL;
	struct kp_error error = fresh();

	logged[0] = '\0';
	setenv("KPLUG_DISABLE", disabled, 1);
	must(kp_open(&options, &other, &error));
	unsetenv("KPLUG_DISABLE");
	return other;
}

START_TEST(nx08_an_unknown_name_in_the_list_is_a_warning)
{
	static const char *const lists[][2] = {
		{"refrence", "did you mean reference?"},
		{"x86, opnblas ,reference", "did you mean openblas?"},
		{"reference/gemm_nn", "reference/gemm_mm"},
		{"nothing-like-it", "there is no plugin nothing-like-it; there are "},
	};

	for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
		struct kp_handle *other = open_with(lists[i][0]);
		ck_assert_msg(strstr(logged, lists[i][1]) != NULL, "%s", logged);
		ck_assert_msg(strncmp(logged, "1 ", 2) == 0, "%s", logged);
		ck_assert_ptr_eq(strchr(logged, '\n'), logged + strlen(logged) - 1);
		kp_close(other);
	}
}
END_TEST

START_TEST(what_the_environment_disables_is_not_used_and_why_says_so)
{
	static const char *const lists[] = {
		"x86,openblas", " x86 ,\topenblas , ", "openblas,,x86"};

	for (size_t i = 0; i < 3; i++) {
		struct kp_handle *other = open_with(lists[i]);
		struct kp_site *of = site_of(other, mm);
		struct kp_error error = fresh();
		ck_assert_str_eq(logged, "");
		runs(of, MM);
		char *why = kp_site_why(of, NULL, &error);
		ck_assert_ptr_nonnull(strstr(why, "disabled_by_environment"));
		kp_free(why);
		kp_close(other);
	}
}
END_TEST

/* ---- kernels of the process ---------------------------------------------------------
 */

static int own_calls;

static int run_own(const struct kp_call *call)
{
	const struct kp_tensor *a = call->tensors[0], *b = call->tensors[1],
			       *c = call->tensors[2];

	own_calls++;
	for (int64_t i = 0; i < c->shape[0]; i++)
		for (int64_t j = 0; j < c->shape[1]; j++) {
			double sum = 0;
			for (int64_t p = 0; p < a->shape[1]; p++)
				sum += (double)((float *)a->data)[i * a->strides[0] +
								  p * a->strides[1]] *
				       (double)((float *)b->data)[p * b->strides[0] +
								  j * b->strides[1]];
			((float *)c->data)[i * c->strides[0] + j * c->strides[1]] =
				(float)sum;
		}
	return KP_OK;
}

static int refuse(const struct kp_call *call)
{
	(void)call;
	return KP_CANCELLED;
}

static const struct kp_kernel refusing = {KP_SIZED(struct kp_kernel), .run = refuse};
static const struct kp_kernel own = {KP_SIZED(struct kp_kernel), .run = run_own};
static const char note[] =
	"{\"name\":\"mine\",\"operation\":\"gemm/mm\",\"priority\":19,"
	"\"signatures\":[\"a=f32,b=f32,c=f32\"],\"capability\":{\"device\":\"cpu\"},"
	"\"flags\":[\"reentrant\"],\"traits\":{\"m\":{\"min\":8}}}";

START_TEST(a_function_of_the_application_is_ranked_and_called_like_any_kernel)
{
	struct kp_error error = fresh();
	struct product product, small;

	own_calls = 0;
	product_init(&product, KP_CODE_FLOAT, EDGE);
	product_init(&small, KP_CODE_FLOAT, 4);
	must(kp_local_add(handle, note, &own, &error));
	runs(site, "local/mine");
	ck_assert(product_run(site, &product));
	ck_assert_int_eq(own_calls, 1);
	ck_assert(product_run(site, &small));
	ck_assert_int_eq(own_calls, 1);
	must(kp_local_remove(handle, "mine", &error));
	runs(site, usual);
	ck_assert(product_run(site, &product));
	ck_assert_int_eq(own_calls, 1);
	/* Its name given again: to another function. */
	must(kp_local_add(handle, note, &refusing, &error));
	ck_assert_int_eq(kp_run(site, &product.call), KP_CANCELLED);
	must(kp_local_remove(handle, "mine", &error));
	product_finish(&product);
	product_finish(&small);
}
END_TEST

START_TEST(a_wrong_note_of_a_local_kernel_is_refused_with_the_reason)
{
	static const char *const wrong[][2] = {
		{"{", "JSON object"},
		{"{\"name\":\"mine\"}", "operation"},
		{"{\"name\":\"mine\",\"operation\":\"gemm/mm\",\"priority\":77,"
		 "\"signatures\":[\"a=f32,b=f32,c=f32\"]}",
			"priority"},
		{"{\"name\":\"mine\",\"operation\":\"gemm/mm\",\"priority\":7,"
		 "\"signatures\":[\"a=f32,b=f32,q=f32\"]}",
			"q"},
	};

	for (size_t i = 0; i < 4; i++) {
		struct kp_error error = fresh();
		ck_assert_int_eq(
			kp_local_add(handle, wrong[i][0], &own, &error), KP_INVALID);
		ck_assert_msg(strstr(error.text, wrong[i][1]) != NULL, "%s", error.text);
	}
	runs(site, usual);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("host_override");
	TCase *tcase = tcase_create("override");
	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, sl53_an_argument_beats_the_environment_and_both_are_named);
	tcase_add_test(tcase, the_environment_overrides_what_has_no_argument);
	tcase_add_test(tcase, sl59_in_a_scope_the_overridden_kernel_runs);
	tcase_add_test(tcase, sl60_after_a_scope_everything_is_as_before);
	tcase_add_test(tcase, sl61_of_nested_scopes_the_inner_one_holds);
	tcase_add_test(tcase, a_scope_of_a_thread_is_nobody_elses);
	tcase_add_test(tcase,
		sl70_a_kernel_forced_by_scope_is_called_once_inside_the_profilers_scope);
	tcase_add_test(tcase, sl71_so_is_a_vendors_kernel);
	tcase_add_test(tcase, nx08_an_unknown_name_in_the_list_is_a_warning);
	tcase_add_test(tcase, what_the_environment_disables_is_not_used_and_why_says_so);
	tcase_add_test(tcase,
		a_function_of_the_application_is_ranked_and_called_like_any_kernel);
	tcase_add_test(tcase, a_wrong_note_of_a_local_kernel_is_refused_with_the_reason);
	suite_add_tcase(suite, tcase);
	return suite_run(suite);
}
