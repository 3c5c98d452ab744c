/* SPDX-License-Identifier: MIT */
/* Attaching to a real plugind: what is shown, what it follows, what outlives it. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/host/attach.h"
#include "lib/host/attach_state.h"
#include "lib/table/table_read.h"
#include "tests/support/plugind.h"
#include "tests/support/suite.h"

static struct plugind plugind;
static int changes; /* atomic */
static struct kp_attach *watched;
static uint64_t told_view; /* atomic: by the watched one, when a change is told */

static void setup(void)
{
	changes = 0;
	watched = NULL;
	plugind_begin(&plugind);
}

static void teardown(void)
{
	plugind_end(&plugind);
}

static void on_changed(void *context)
{
	struct kp_attach *attach = __atomic_load_n(&watched, __ATOMIC_ACQUIRE);

	(void)context;
	if (attach)
		__atomic_store_n(&told_view,
			__atomic_load_n(&kp_slots_told(kp_attach_slots(attach))->view,
				__ATOMIC_ACQUIRE),
			__ATOMIC_RELEASE);
	(void)__atomic_add_fetch(&changes, 1, __ATOMIC_RELAXED);
}

static struct kp_attach *attach_as(const char *name)
{
	struct kp_attach_options options = {
		.socket = plugind.socket, .name = name, .changed = on_changed};
	struct kp_attach *attach = NULL;
	struct kp_diag diag = {.code = "ok"};

	ck_assert_msg(kp_attach_new(&options, &attach, &diag) == 0, "%s: %s", diag.code,
		diag.message);
	return attach;
}

/* The number of a kernel in the newest view. */
static uint32_t number_of(struct kp_attach *attach, const char *kernel)
{
	struct kp_view *view = kp_attach_view(attach, 0, 0);
	struct kp_diag diag;
	size_t i;

	ck_assert_msg(kp_table_find(&view->table, NULL, kernel, &i, &diag) == 0, "%s",
		diag.message);
	ck_assert_ptr_nonnull(view->numbers);
	uint32_t number = view->numbers[i];
	kp_view_drop(view);
	return number;
}

static bool is_off(struct kp_attach *attach, const char *kernel)
{
	return kp_control_is_off(kp_attach_control(attach), number_of(attach, kernel));
}

/* What plugind says of the client of this name. */
static char *state_of(const char *name)
{
	json_t *client = plugind_client(&plugind, name);
	char *state = strdup(
		client ? json_string_value(json_object_get(client, "state")) : "none");

	json_decref(client);
	return state;
}

static void ck_state(const char *name, const char *expected)
{
	char *state = state_of(name);

	ck_assert_str_eq(state, expected);
	free(state);
}

/* ---- what is shown --------------------------------------------------------------- */

START_TEST(an_application_sees_generation_view_and_its_slots)
{
	struct kp_attach *attach = attach_as("app");
	const struct kp_control *control = kp_attach_control(attach);
	struct kp_view *view = kp_attach_view(attach, 0, 0);

	ck_assert(kp_attach_is_there(attach));
	ck_assert_uint_eq(control->magic, KP_CONTROL_MAGIC);
	ck_assert_uint_eq(kp_control_generation(control), view->generation);
	ck_assert_uint_gt(view->count, 10);
	for (size_t i = 0; i < view->count; i++)
		ck_assert_uint_lt(view->numbers[i], control->n_bits);
	for (size_t i = 0; i < KP_SLOTS; i++)
		ck_assert_uint_eq(kp_attach_slots(attach)[i].kernel, 0);
	kp_view_drop(view);
	kp_attach_free(attach);
}
END_TEST

START_TEST(the_control_page_cannot_be_made_writable_by_an_application)
{
	struct kp_attach *attach = attach_as("app");
	void *page = (void *)(uintptr_t)kp_attach_control(attach);

	ck_assert_int_eq(mprotect(page, KP_CONTROL_BYTES, PROT_READ | PROT_WRITE), -1);
	ck_assert_int_eq(errno, EACCES);
	kp_attach_free(attach);
}
END_TEST

/* The descriptors themselves, as a hostile application would use them. */
static void attach_raw(struct kp_client **client, int fds[3])
{
	struct kp_reply_message reply;
	struct kp_diag diag;

	ck_assert_int_eq(
		kp_client_open(plugind.socket, PLUGIND_PATIENCE_MS, client, &diag), 0);
	kp_client_keep_fds(*client);
	ck_assert_int_eq(kp_client_call_more(*client, "Attach", NULL, &reply, &diag), 0);
	ck_assert_ptr_null(reply.error);
	for (int i = 0; i < 3; i++)
		fds[i] = kp_client_take_fd(*client);
	kp_reply_message_finish(&reply);
}

static void ck_sealed(int fd, off_t size)
{
	char byte = 1;

	ck_assert_int_lt(pwrite(fd, &byte, 1, 8), 0);
	ck_assert_int_lt(ftruncate(fd, 0), 0);
	ck_assert_int_lt(ftruncate(fd, size * 2), 0);
	ck_assert_int_lt(
		fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, size), 0);
	ck_assert_ptr_eq(
		mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0), MAP_FAILED);
	ck_assert_int_lt(fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE), 0);
}

/* Another way to the same file: the link in /proc, for writing. */
static void ck_not_reopened(int fd)
{
	char path[64];
	char byte = 1;

	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	int again = open(path, O_RDWR | O_CLOEXEC);
	if (again < 0)
		return;
	ck_assert_int_lt(pwrite(again, &byte, 1, 8), 0);
	ck_assert_ptr_eq(mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, again, 0),
		MAP_FAILED);
	(void)close(again);
}

START_TEST(neither_control_page_nor_view_can_be_written_or_resized)
{
	struct kp_client *client;
	struct stat st;
	int fds[3];

	attach_raw(&client, fds);
	for (int i = 0; i < 2; i++) {
		ck_assert_int_eq(fstat(fds[i], &st), 0);
		ck_sealed(fds[i], st.st_size);
		ck_not_reopened(fds[i]);
	}
	kp_client_close(client);
	for (int i = 0; i < 3; i++)
		(void)close(fds[i]);
}
END_TEST

START_TEST(slots_can_be_written_but_not_resized)
{
	struct kp_client *client;
	char byte = 1;
	int fds[3];

	attach_raw(&client, fds);
	ck_assert_int_eq(pwrite(fds[2], &byte, 1, 0), 1);
	ck_assert_int_lt(ftruncate(fds[2], 0), 0);
	ck_assert_int_lt(ftruncate(fds[2], 1 << 20), 0);
	kp_client_close(client);
	for (int i = 0; i < 3; i++)
		(void)close(fds[i]);
}
END_TEST

/* ---- what it follows ------------------------------------------------------------- */

START_TEST(a_disable_is_in_the_bits_before_its_reply)
{
	struct kp_attach *attach = attach_as("app");
	uint32_t number = number_of(attach, "reference/gemm_mm");

	ck_assert(!kp_control_is_off(kp_attach_control(attach), number));
	json_int_t generation = plugind_decide(&plugind, "Disable", "reference/gemm_mm");
	ck_assert(kp_control_is_off(kp_attach_control(attach), number));
	ck_assert_uint_ge(kp_control_generation(kp_attach_control(attach)), generation);
	plugind_decide(&plugind, "Enable", "reference/gemm_mm");
	ck_assert(!kp_control_is_off(kp_attach_control(attach), number));
	kp_attach_free(attach);
}
END_TEST

START_TEST(the_view_of_a_change_arrives_and_the_application_is_told)
{
	struct kp_attach *attach = attach_as("app");
	json_int_t generation = plugind_decide(&plugind, "Disable", "reference");
	struct kp_view *view =
		kp_attach_view(attach, (uint64_t)generation, PLUGIND_PATIENCE_MS);

	ck_assert_uint_ge(view->generation, generation);
	for (size_t i = 0; i < view->count; i++)
		if (strcmp(kp_table_kernel_plugin(&view->table, i), "reference") == 0)
			ck_assert(kp_control_is_off(
				kp_attach_control(attach), view->numbers[i]));
	kp_view_drop(view);
	kp_attach_free(attach);
	ck_assert_int_ge(changes, 1);
}
END_TEST

START_TEST(a_view_is_told_only_once_calls_choose_from_it)
{
	struct kp_attach *attach = attach_as("app");
	const struct kp_told *told = kp_slots_told(kp_attach_slots(attach));
	uint64_t first = told->view;

	ck_assert_uint_eq(first, kp_control_generation(kp_attach_control(attach)));
	__atomic_store_n(&watched, attach, __ATOMIC_RELEASE);
	json_int_t generation = plugind_decide(&plugind, "Disable", "reference");
	kp_view_drop(kp_attach_view(attach, (uint64_t)generation, PLUGIND_PATIENCE_MS));
	kp_attach_free(attach);
	ck_assert_int_ge(changes, 1);
	ck_assert_uint_eq(told_view, first);
}
END_TEST

START_TEST(numbers_stay_with_their_kernels)
{
	struct kp_attach *attach = attach_as("app");
	uint32_t before = number_of(attach, "reference/gemm_mm");

	plugind_decide(&plugind, "Disable", "x86");
	json_int_t generation = plugind_decide(&plugind, "Enable", "x86");
	kp_view_drop(kp_attach_view(attach, (uint64_t)generation, PLUGIND_PATIENCE_MS));
	ck_assert_uint_eq(number_of(attach, "reference/gemm_mm"), before);
	kp_attach_free(attach);
}
END_TEST

START_TEST(two_applications_follow_the_same_page)
{
	struct kp_attach *one = attach_as("one");
	struct kp_attach *two = attach_as("two");

	plugind_decide(&plugind, "Disable", "reference/gemm_mm");
	ck_assert(is_off(one, "reference/gemm_mm"));
	ck_assert(is_off(two, "reference/gemm_mm"));
	kp_attach_free(one);
	plugind_decide(&plugind, "Enable", "reference/gemm_mm");
	ck_assert(!is_off(two, "reference/gemm_mm"));
	kp_attach_free(two);
}
END_TEST

/* ---- what plugind learns --------------------------------------------------------- */

START_TEST(plugind_sees_who_obeys_and_who_has_yet_to)
{
	struct kp_attach *attach = attach_as("app");

	ck_state("app", "pending");
	kp_attach_obeys(attach, kp_control_generation(kp_attach_control(attach)));
	ck_state("app", "obeyed");
	plugind_decide(&plugind, "Disable", "reference");
	ck_state("app", "pending");
	kp_attach_free(attach);
}
END_TEST

START_TEST(a_held_kernel_that_is_disabled_is_reported_until_it_is_let_go)
{
	struct kp_attach *attach = attach_as("app");

	kp_attach_holds(attach, "reference/gemm_mm", "graph", 1);
	kp_attach_holds(attach, "reference/gemm_mm", "graph", 1);
	kp_attach_obeys(attach, UINT64_MAX);
	ck_state("app", "obeyed");
	plugind_decide(&plugind, "Disable", "reference/gemm_mm");
	ck_state("app", "held");
	kp_attach_holds(attach, "reference/gemm_mm", "graph", -1);
	ck_state("app", "held");
	kp_attach_holds(attach, "reference/gemm_mm", "graph", -1);
	ck_state("app", "obeyed");
	kp_attach_free(attach);
}
END_TEST

START_TEST(more_holds_than_there_are_places_are_counted)
{
	struct kp_attach *attach = attach_as("app");
	char kernel[32];

	for (int i = 0; i < KP_HELD + 5; i++) {
		(void)snprintf(kernel, sizeof(kernel), "reference/k%d", i);
		kp_attach_holds(attach, kernel, "weight", 1);
	}
	json_t *client = plugind_client(&plugind, "app");
	ck_assert_uint_eq(json_array_size(json_object_get(client, "holds")), KP_HELD);
	ck_assert_int_eq(json_integer_value(json_object_get(client, "more")), 5);
	json_decref(client);
	kp_attach_free(attach);
}
END_TEST

static bool has_left(void *context)
{
	json_t *client = plugind_client(&plugind, context);
	bool left = client == NULL;

	json_decref(client);
	return left;
}

START_TEST(an_application_that_leaves_is_forgotten)
{
	char name[] = "app";

	kp_attach_free(attach_as(name));
	plugind_await(has_left, name, "the client to leave");
}
END_TEST

/* ---- asking ---------------------------------------------------------------------- */

START_TEST(a_family_is_asked_for_and_an_unknown_one_is_an_error_with_its_code)
{
	struct kp_attach *attach = attach_as("app");
	struct kp_diag diag;
	json_t *reply = NULL;
	json_t *good = json_pack("{s:s}", "operation", "gemm/mm");
	json_t *bad = json_pack("{s:s}", "operation", "gemm/mn");

	ck_assert_int_eq(kp_attach_ask(attach, "Family", good, &reply, &diag), 0);
	ck_assert_str_eq(json_string_value(json_object_get(
				 json_object_get(reply, "family"), "operation")),
		"gemm/mm");
	json_decref(reply);
	ck_assert_int_eq(kp_attach_ask(attach, "Family", bad, &reply, &diag), -1);
	ck_assert_str_eq(diag.code, "unknown_operation");
	json_decref(good);
	json_decref(bad);
	kp_attach_free(attach);
}
END_TEST

START_TEST(where_nobody_listens_the_error_says_so)
{
	struct kp_attach_options options = {
		.socket = "/nonexistent/plugind", .no_daemon = true};
	struct kp_attach *attach;
	struct kp_diag diag;

	ck_assert_int_eq(kp_attach_new(&options, &attach, &diag), -1);
	ck_assert_str_eq(diag.code, "no_daemon");
	ck_assert_ptr_nonnull(strstr(diag.message, "/nonexistent/plugind"));
}
END_TEST

static Suite *attach_suite(void)
{
	Suite *suite = suite_create("attach");
	TCase *tcase = tcase_create("attach");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_set_timeout(tcase, 120);
	tcase_add_test(tcase, an_application_sees_generation_view_and_its_slots);
	tcase_add_test(tcase, the_control_page_cannot_be_made_writable_by_an_application);
	tcase_add_test(tcase, neither_control_page_nor_view_can_be_written_or_resized);
	tcase_add_test(tcase, slots_can_be_written_but_not_resized);
	tcase_add_test(tcase, a_disable_is_in_the_bits_before_its_reply);
	tcase_add_test(tcase, the_view_of_a_change_arrives_and_the_application_is_told);
	tcase_add_test(tcase, a_view_is_told_only_once_calls_choose_from_it);
	tcase_add_test(tcase, numbers_stay_with_their_kernels);
	tcase_add_test(tcase, two_applications_follow_the_same_page);
	tcase_add_test(tcase, plugind_sees_who_obeys_and_who_has_yet_to);
	tcase_add_test(
		tcase, a_held_kernel_that_is_disabled_is_reported_until_it_is_let_go);
	tcase_add_test(tcase, more_holds_than_there_are_places_are_counted);
	tcase_add_test(tcase, an_application_that_leaves_is_forgotten);
	tcase_add_test(tcase,
		a_family_is_asked_for_and_an_unknown_one_is_an_error_with_its_code);
	tcase_add_test(tcase, where_nobody_listens_the_error_says_so);
	suite_add_tcase(suite, tcase);
	return suite;
}

int main(void)
{
	return suite_run(attach_suite());
}
