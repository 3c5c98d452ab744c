/* SPDX-License-Identifier: MIT */
/* gemm/mm of x86 and openblas on the threads of a host. */
#include <check.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/parallel.h"
#include "tests/support/guarded.h"
#include "tests/support/subject.h"
#include "tests/support/suite.h"

static const char *const kernels[] = {"gemm_mm", "gemm_mm_avx512"};

/* Large enough for several blocks in each dim; a row; a column. */
static const int64_t shapes[][3] = {
	{300, 600, 520}, {1, 2050, 300}, {2050, 1, 300}, {145, 257, 600}};
enum { KERNELS = 2, SHAPES = sizeof(shapes) / sizeof(shapes[0]) };

struct host {
	struct kp_host host;
	struct kp_parallel *pool;
	unsigned loops; /* that were shared */
	int status;	/* instead of running it, unless it is KP_OK */
	int cancelled;
};

static int share(void *context, uint64_t n, int (*task)(void *arg, uint64_t i), void *arg)
{
	struct host *host = context;

	host->loops++;
	if (host->status != KP_OK)
		return host->status;
	return kp_parallel_for(host->pool, n, task, arg);
}

static int is_cancelled(void *context)
{
	return ((struct host *)context)->cancelled;
}

static void host_init(struct host *host, unsigned threads)
{
	struct kp_diag diag;

	memset(host, 0, sizeof(*host));
	ck_assert_int_eq(kp_parallel_new(threads, &host->pool, &diag), 0);
	host->host = (struct kp_host){KP_SIZED(struct kp_host), .context = host,
		.parallel_for = share, .cancelled = is_cancelled};
}

/* C of a call with this host, in a new array; the status. */
static int multiply(struct subject *subject, const struct kp_host *host,
	const int64_t *shape, uint8_t code, float **result)
{
	struct guarded a, b, c;
	struct arguments arguments = {.roles = {&a, &b, &c}, .n_roles = 3};
	int status;

	guarded_init(&a, code, GUARDED_ROWS, 2, (int64_t[]){shape[0], shape[2]});
	guarded_init(&b, code, GUARDED_ROWS, 2, (int64_t[]){shape[2], shape[1]});
	guarded_init(&c, code, GUARDED_ROWS, 2, (int64_t[]){shape[0], shape[1]});
	guarded_fill(&a, 1);
	guarded_fill(&b, 2);
	subject->host = host;
	status = subject_run(subject, &arguments);
	ck_assert(subject->workspace_intact);
	ck_assert(guarded_intact(&c));
	*result = calloc((size_t)c.count, sizeof(float));
	ck_assert_ptr_nonnull(*result);
	for (int64_t i = 0; i < c.count; i++)
		(*result)[i] = guarded_get(&c, i);
	guarded_finish(&a);
	guarded_finish(&b);
	guarded_finish(&c);
	return status;
}

static void judge_threads(struct subject *subject, const int64_t *shape, uint8_t code)
{
	size_t bytes = (size_t)(shape[0] * shape[1]) * sizeof(float);
	float *alone, *shared;

	ck_assert_int_eq(multiply(subject, NULL, shape, code, &alone), KP_OK);
	for (unsigned threads = 1; threads <= 4; threads++) {
		struct host host;

		host_init(&host, threads);
		ck_assert_int_eq(
			multiply(subject, &host.host, shape, code, &shared), KP_OK);
		ck_assert_uint_gt(host.loops, 0);
		ck_assert_int_eq(memcmp(alone, shared, bytes), 0);
		kp_parallel_free(host.pool);
		free(shared);
	}
	free(alone);
}

START_TEST(product_is_the_same_on_any_number_of_threads)
{
	struct subject subject;

	if (subject_open(&subject, "x86", kernels[_i]))
		for (int i = 0; i < SHAPES; i++) {
			judge_threads(&subject, shapes[i], KP_CODE_FLOAT);
			if (shapes[i][0] > 1 && shapes[i][1] > 1)
				judge_threads(&subject, shapes[i], KP_CODE_BFLOAT);
		}
	subject_close(&subject);
}
END_TEST

START_TEST(small_product_stays_on_its_thread)
{
	static const int64_t small[3][3] = {{20, 30, 40}, {1, 1000, 50}, {64, 64, 64}};
	struct subject subject;

	if (subject_open(&subject, "x86", kernels[_i]))
		for (int i = 0; i < 3; i++) {
			struct host host;
			float *result;

			host_init(&host, 2);
			ck_assert_int_eq(multiply(&subject, &host.host, small[i],
						 KP_CODE_FLOAT, &result),
				KP_OK);
			ck_assert_uint_eq(host.loops, 0);
			kp_parallel_free(host.pool);
			free(result);
		}
	subject_close(&subject);
}
END_TEST

/* A host of an older kind has no threads, or says so with NULL. */
START_TEST(host_without_threads_is_enough)
{
	struct subject subject;

	if (subject_open(&subject, "x86", kernels[_i]))
		for (int i = 0; i < 3; i++) {
			struct kp_host host = {.size = sizeof(host)};
			float *result;

			if (i == 1)
				host.size = offsetof(struct kp_host, parallel_for);
			ck_assert_int_eq(multiply(&subject, i == 2 ? NULL : &host,
						 shapes[0], KP_CODE_FLOAT, &result),
				KP_OK);
			free(result);
		}
	subject_close(&subject);
}
END_TEST

START_TEST(status_of_a_loop_is_that_of_the_kernel)
{
	static const int statuses[] = {KP_NO_MEMORY, KP_RUNTIME, KP_CANCELLED};
	struct subject subject;

	if (subject_open(&subject, "x86", kernels[_i]))
		for (int i = 0; i < 3; i++) {
			struct host host;
			float *result;

			host_init(&host, 2);
			host.status = statuses[i];
			ck_assert_int_eq(multiply(&subject, &host.host, shapes[i],
						 KP_CODE_FLOAT, &result),
				statuses[i]);
			ck_assert_uint_eq(host.loops, 1);
			kp_parallel_free(host.pool);
			free(result);
		}
	subject_close(&subject);
}
END_TEST

START_TEST(cancelled_product_stops)
{
	struct subject subject;

	if (subject_open(&subject, "x86", kernels[_i])) {
		struct host host;
		float *result;

		host_init(&host, 2);
		host.cancelled = 1;
		ck_assert_int_eq(
			multiply(&subject, &host.host, shapes[0], KP_CODE_FLOAT, &result),
			KP_CANCELLED);
		kp_parallel_free(host.pool);
		free(result);
	}
	subject_close(&subject);
}
END_TEST

/* Its parts need not be summed as the whole is; n is split, then m, then nothing. */
START_TEST(openblas_shares_large_products)
{
	static const int64_t split[][3] = {
		{200, 900, 100}, {900, 200, 100}, {300, 256, 80}};
	struct subject subject;
	struct host host;
	float *alone, *shared;
	int64_t count = split[_i][0] * split[_i][1];

	ck_assert(subject_open(&subject, "openblas", "gemm_mm"));
	host_init(&host, 3);
	ck_assert_int_eq(
		multiply(&subject, NULL, split[_i], KP_CODE_FLOAT, &alone), KP_OK);
	ck_assert_int_eq(
		multiply(&subject, &host.host, split[_i], KP_CODE_FLOAT, &shared), KP_OK);
	ck_assert_uint_eq(host.loops, 1);
	for (int64_t i = 0; i < count; i++)
		ck_assert_double_eq_tol(shared[i], alone[i], 1e-4);
	kp_parallel_free(host.pool);
	free(alone);
	free(shared);
	subject_close(&subject);
}
END_TEST

START_TEST(openblas_keeps_small_products_to_its_thread)
{
	static const int64_t small[][3] = {{8, 8, 8}, {127, 127, 127}, {1, 1000, 50}};
	struct subject subject;
	struct host host;
	float *result;

	ck_assert(subject_open(&subject, "openblas", "gemm_mm"));
	host_init(&host, 2);
	ck_assert_int_eq(
		multiply(&subject, &host.host, small[_i], KP_CODE_FLOAT, &result), KP_OK);
	ck_assert_uint_eq(host.loops, 0);
	kp_parallel_free(host.pool);
	free(result);
	subject_close(&subject);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("plugin_gemm_threads");
	TCase *t = tcase_create("gemm_mm");

	tcase_set_timeout(t, 60);
	tcase_add_loop_test(t, product_is_the_same_on_any_number_of_threads, 0, KERNELS);
	tcase_add_loop_test(t, small_product_stays_on_its_thread, 0, KERNELS);
	tcase_add_loop_test(t, host_without_threads_is_enough, 0, KERNELS);
	tcase_add_loop_test(t, status_of_a_loop_is_that_of_the_kernel, 0, KERNELS);
	tcase_add_loop_test(t, cancelled_product_stops, 0, KERNELS);
	tcase_add_loop_test(t, openblas_shares_large_products, 0, 3);
	tcase_add_loop_test(t, openblas_keeps_small_products_to_its_thread, 0, 3);
	suite_add_tcase(suite, t);
	return suite_run(suite);
}
