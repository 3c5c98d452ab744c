/* SPDX-License-Identifier: MIT */
/* Kernels that do not return, children, and processes without streams of their own. */
#include "tests/support/sites.h"
#include "tests/support/suite.h"

#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

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
}

static void teardown(void)
{
	product_finish(&product);
	kp_close(handle);
	plugind_end(&plugind);
}

/* ---- a kernel of which one call runs at a time ----------------------------------- */

static enum { RETURNS, JUMPS, ENDS, WAITS, FORKS } way;
static jmp_buf back;
static int said[2], goes_on[2];

static int fork_inside(void)
{
	int status;
	pid_t child = fork();

	if (child == 0)
		_exit(7);
	return waitpid(child, &status, 0) == child && WEXITSTATUS(status) == 7
		       ? KP_OK
		       : KP_RUNTIME;
}

static void make_pipes(void)
{
	ck_assert_int_eq(pipe(said), 0);
	ck_assert_int_eq(pipe(goes_on), 0);
}

static int wait_inside(void)
{
	char byte;

	ck_assert_int_eq(write(said[1], "", 1), 1);
	ck_assert_int_eq(read(goes_on[0], &byte, 1), 1);
	return KP_OK;
}

static int run(const struct kp_call *call)
{
	(void)call;
	switch (way) {
	case JUMPS:
		longjmp(back, 1);
	case ENDS:
		pthread_exit(NULL);
	case WAITS:
		return wait_inside();
	case FORKS:
		return fork_inside();
	default:
		return KP_OK;
	}
}

static int load(
	void *state, const struct kp_device *device, void **own, struct kp_error *fault)
{
	(void)state;
	(void)device;
	(void)own;
	(void)fault;
	if (way == WAITS)
		return wait_inside();
	return way == FORKS ? fork_inside() : KP_OK;
}

static void add_unloaded(void)
{
	static const struct kp_kernel kernel = {
		KP_SIZED(struct kp_kernel), .run = run, .load = load};
	struct kp_error error = fresh();

	must(kp_local_add(handle,
		"{\"name\":\"odd\",\"operation\":\"gemm/mm\",\"priority\":19,"
		"\"signatures\":[\"a=f32,b=f32,c=f32\"]}",
		&kernel, &error));
}

static void add(void)
{
	add_unloaded();
	runs(site, "local/odd");
}

static void *call_it(void *unused)
{
	struct kp_call call = product.call;

	(void)unused;
	return kp_run(site, &call) == KP_OK ? &product : NULL;
}

static void others_can_call(void)
{
	pthread_t thread;
	void *got;

	way = RETURNS;
	ck_assert_ptr_nonnull(call_it(NULL));
	ck_assert_int_eq(pthread_create(&thread, NULL, call_it, NULL), 0);
	ck_assert_int_eq(pthread_join(thread, &got), 0);
	ck_assert_ptr_nonnull(got);
}

START_TEST(after_a_jump_out_of_a_kernel_it_can_be_called)
{
	add();
	for (volatile int i = 0; i < 3; i++) {
		way = JUMPS;
		if (setjmp(back) == 0)
			call_it(NULL);
		others_can_call();
	}
}
END_TEST

START_TEST(after_the_end_of_a_thread_in_a_kernel_it_can_be_called)
{
	pthread_t thread;

	add();
	for (int i = 0; i < 3; i++) {
		way = ENDS;
		ck_assert_int_eq(pthread_create(&thread, NULL, call_it, NULL), 0);
		ck_assert_int_eq(pthread_join(thread, NULL), 0);
		others_can_call();
	}
}
END_TEST

START_TEST(after_a_thread_was_cancelled_in_a_kernel_it_can_be_called)
{
	pthread_t thread;
	char byte;

#ifdef __SANITIZE_ADDRESS__
	/* AddressSanitizer takes the frames of a cancelled thread for those of its end.
	 */
	return;
#endif
	add();
	make_pipes();
	for (int i = 0; i < 3; i++) {
		way = WAITS;
		ck_assert_int_eq(pthread_create(&thread, NULL, call_it, NULL), 0);
		ck_assert_int_eq(read(said[0], &byte, 1), 1);
		ck_assert_int_eq(pthread_cancel(thread), 0);
		ck_assert_int_eq(pthread_join(thread, NULL), 0);
		others_can_call();
	}
}
END_TEST

START_TEST(a_thread_that_is_cancelled_while_it_loads_a_kernel_keeps_no_lock)
{
	pthread_t thread;
	char byte;

	make_pipes();
	add_unloaded();
	way = WAITS;
	ck_assert_int_eq(pthread_create(&thread, NULL, call_it, NULL), 0);
	ck_assert_int_eq(read(said[0], &byte, 1), 1);
	ck_assert_int_eq(pthread_cancel(thread), 0);
	way = RETURNS;
	ck_assert_int_eq(write(goes_on[1], "", 1), 1);
	ck_assert_int_eq(pthread_join(thread, NULL), 0);
	others_can_call();
	runs(site, "local/odd");
}
END_TEST

START_TEST(a_kernel_may_fork_in_a_call_and_while_it_is_loaded)
{
	way = FORKS;
	add();
	ck_assert_ptr_nonnull(call_it(NULL));
	others_can_call();
}
END_TEST

/* ---- children ------------------------------------------------------------------------
 */

/* 0: as it should be; without a failure of Check's, which is the parent's. */
static int in_child(struct kp_site *parents, const struct kp_call *ready)
{
	struct kp_options options = {.size = sizeof(options), .socket = plugind.socket};
	struct kp_site_options sized = mm;
	struct kp_handle *own;
	struct kp_site *mine;
	struct kp_error error = fresh();
	struct kp_call call = {.size = 0};

#ifdef __SANITIZE_THREAD__
	/* ThreadSanitizer starts no thread in a child. */
	return 0;
#endif
	sized.size = sizeof(sized);
	sized.flags = KP_SITE_CHECKED;
	if (kp_open(&options, &own, &error) != KP_OK ||
		kp_site_new(own, &sized, &mine, &error) != KP_OK)
		return 1;
	kp_call_init(mine, &call);
	call.tensors = ready->tensors;
	call.n_tensors = ready->n_tensors;
	/* Now the thread has a slot, and inline calls are possible. */
	for (int i = 0; i < 3; i++)
		if (kp_run(mine, &call) != KP_OK)
			return 2;
	call = *ready;
	call.error = &error;
	if (kp_run(parents, &call) != KP_INVALID || !strstr(error.text, "forked"))
		return 3;
	kp_close(own);
	return 0;
}

START_TEST(a_child_with_a_handle_of_its_own_calls_no_site_of_its_parent)
{
	static const uint32_t flags[] = {KP_ADOPT_NOW, KP_ADOPT_AT_STEP};
	struct kp_site_options checked = mm;
	int status;

	checked.flags = KP_SITE_CHECKED;
	for (size_t i = 0; i < 2; i++) {
		struct kp_handle *other = open_as("parent", flags[i]);
		struct kp_site *fast = site_of(other, checked);
		for (int j = 0; j < 3; j++)
			ck_assert(product_run(fast, &product));
		pid_t child = fork();
		if (child == 0)
			_exit(in_child(fast, &product.call));
		ck_assert_int_eq(waitpid(child, &status, 0), child);
		ck_assert_int_eq(status, 0);
		ck_assert(product_run(fast, &product));
		kp_site_free(fast);
		kp_close(other);
		product.call.host = NULL;
	}
}
END_TEST

START_TEST(a_child_calls_a_kernel_that_a_thread_of_its_parent_was_in)
{
	pthread_t thread;
	char byte;
	int status;

	add();
	make_pipes();
	way = WAITS;
	ck_assert_int_eq(pthread_create(&thread, NULL, call_it, NULL), 0);
	ck_assert_int_eq(read(said[0], &byte, 1), 1);
	pid_t child = fork();
	if (child == 0)
		_exit(in_child(site, &product.call));
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert_int_eq(status, 0);
	ck_assert_int_eq(write(goes_on[1], "", 1), 1);
	ck_assert_int_eq(pthread_join(thread, NULL), 0);
}
END_TEST

/* ---- streams -------------------------------------------------------------------------
 */

/* Which of the three are open. */
static int open_streams(void)
{
	int streams = 0;

	for (int fd = 0; fd < 3; fd++)
		streams |= fcntl(fd, F_GETFD) < 0 ? 0 : 1 << fd;
	return streams;
}

START_TEST(streams_that_were_closed_are_not_taken)
{
	int kept[3], after;

	for (int fd = 0; fd < 3; fd++) {
		kept[fd] = fcntl(fd, F_DUPFD_CLOEXEC, 3);
		ck_assert_int_ge(kept[fd], 3);
	}
	for (int fd = 0; fd < 3; fd++)
		ck_assert_int_eq(close(fd), 0);
	struct kp_handle *other = open_as("closed", 0);
	after = open_streams();
	kp_close(other);
	for (int fd = 0; fd < 3; fd++)
		ck_assert_int_eq(dup2(kept[fd], fd), fd);
	ck_assert_int_eq(after, 0);
}
END_TEST

/* ---- descriptors ---------------------------------------------------------------------
 */

static int try_with(rlim_t descriptors, struct kp_error *error)
{
	struct kp_options options = {.size = sizeof(options), .socket = plugind.socket};
	struct kp_handle *other;
	struct rlimit before, few;

	ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &before), 0);
	few = before;
	few.rlim_cur = descriptors;
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &few), 0);
	int status = kp_open(&options, &other, error);
	if (status == KP_OK)
		kp_close(other);
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &before), 0);
	return status;
}

START_TEST(too_few_descriptors_are_said_to_be_that)
{
	int lowest = dup(0), failures = 0;
	struct kp_error error = fresh();

	ck_assert_int_ge(lowest, 0);
	(void)close(lowest);
	for (int more = 0; try_with((rlim_t)lowest + (rlim_t)more, &error) != KP_OK;
		more++) {
		ck_assert_int_eq(error.status, KP_UNAVAILABLE);
		ck_assert_msg(strstr(error.text, "open files"), "%s", error.text);
		ck_assert_int_lt(++failures, 20);
	}
	ck_assert_int_gt(failures, 3);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("host_escape");
	TCase *tcase = tcase_create("escape");

	tcase_set_timeout(tcase, 100);
	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, after_a_jump_out_of_a_kernel_it_can_be_called);
	tcase_add_test(tcase, after_the_end_of_a_thread_in_a_kernel_it_can_be_called);
	tcase_add_test(tcase, after_a_thread_was_cancelled_in_a_kernel_it_can_be_called);
	tcase_add_test(
		tcase, a_thread_that_is_cancelled_while_it_loads_a_kernel_keeps_no_lock);
	tcase_add_test(tcase, a_kernel_may_fork_in_a_call_and_while_it_is_loaded);
	tcase_add_test(
		tcase, a_child_with_a_handle_of_its_own_calls_no_site_of_its_parent);
	if (suite_is_threaded())
		suite_skip("a child", "ThreadSanitizer knows no threads of a child");
	else
		tcase_add_test(
			tcase, a_child_calls_a_kernel_that_a_thread_of_its_parent_was_in);
	tcase_add_test(tcase, streams_that_were_closed_are_not_taken);
	tcase_add_test(tcase, too_few_descriptors_are_said_to_be_that);
	suite_add_tcase(suite, tcase);
	return suite_run(suite);
}
