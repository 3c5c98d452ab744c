/* SPDX-License-Identifier: MIT */
/* An application while plugind is away, after its return, and after fork. */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/base/file.h"
#include "lib/host/attach.h"
#include "lib/host/attach_state.h"
#include "lib/table/table_layout.h"
#include "lib/table/table_read.h"
#include "tests/support/plugind.h"
#include "tests/support/suite.h"

static struct plugind plugind;

static void setup(void)
{
	plugind_begin(&plugind);
}

static void teardown(void)
{
	plugind_end(&plugind);
}

static struct kp_attach *attach_as(const char *name)
{
	struct kp_attach_options options = {.socket = plugind.socket, .name = name};
	struct kp_attach *attach = NULL;
	struct kp_diag diag = {.code = "ok"};

	ck_assert_msg(kp_attach_new(&options, &attach, &diag) == 0, "%s", diag.message);
	return attach;
}

static bool is_back(void *attach)
{
	return kp_attach_is_there(attach);
}

static bool is_away(void *attach)
{
	return !kp_attach_is_there(attach);
}

/* Kills plugind as nothing else does, and starts it again. */
static void restart(struct kp_attach *attach)
{
	plugind_kill(&plugind, SIGKILL);
	plugind_await(is_away, attach, "the end of the connection");
	plugind_start(&plugind);
	plugind_await(is_back, attach, "the application to attach again");
}

static uint32_t number_of(struct kp_attach *attach, const char *kernel)
{
	const struct kp_control *control = kp_attach_control(attach);
	struct kp_view *view = kp_attach_view(attach, control->view, PLUGIND_PATIENCE_MS);
	struct kp_diag diag;
	size_t i;

	ck_assert_int_eq(kp_table_find(&view->table, NULL, kernel, &i, &diag), 0);
	uint32_t number = view->numbers ? view->numbers[i] : KP_CONTROL_NONE;
	kp_view_drop(view);
	return number;
}

/* ---- plugind goes and comes ------------------------------------------------------ */

START_TEST(while_plugind_is_dead_everything_stays_mapped)
{
	struct kp_attach *attach = attach_as("app");
	uint64_t generation = kp_control_generation(kp_attach_control(attach));
	struct kp_view *view;

	plugind_kill(&plugind, SIGKILL);
	plugind_await(is_away, attach, "the end of the connection");
	ck_assert_uint_eq(kp_control_generation(kp_attach_control(attach)), generation);
	view = kp_attach_view(attach, generation + 1, PLUGIND_PATIENCE_MS);
	ck_assert_uint_eq(view->generation, generation);
	kp_attach_slots(attach)[3].kernel = 7;
	kp_view_drop(view);
	kp_attach_free(attach);
}
END_TEST

START_TEST(after_a_restart_the_page_is_where_it_was_and_its_generation_is_higher)
{
	struct kp_attach *attach = attach_as("app");
	const struct kp_control *control = kp_attach_control(attach);
	struct kp_slot *slots = kp_attach_slots(attach);
	uint64_t boot = control->boot;

	for (int i = 0; i < 3; i++) {
		uint64_t before = kp_control_generation(control);
		restart(attach);
		ck_assert_ptr_eq(kp_attach_control(attach), control);
		ck_assert_ptr_eq(kp_attach_slots(attach), slots);
		ck_assert_uint_gt(kp_control_generation(control), before);
		ck_assert_uint_ne(control->boot, boot);
		boot = control->boot;
	}
	kp_attach_free(attach);
}
END_TEST

START_TEST(what_was_disabled_meanwhile_is_off_after_the_restart)
{
	struct kp_attach *attach = attach_as("app");

	plugind_decide(&plugind, "Disable", "reference/gemm_mm");
	restart(attach);
	ck_assert(kp_control_is_off(
		kp_attach_control(attach), number_of(attach, "reference/gemm_mm")));
	plugind_decide(&plugind, "Enable", "reference/gemm_mm");
	ck_assert(!kp_control_is_off(
		kp_attach_control(attach), number_of(attach, "reference/gemm_mm")));
	kp_attach_free(attach);
}
END_TEST

START_TEST(holds_and_adoption_are_known_to_the_next_plugind)
{
	struct kp_attach *attach = attach_as("app");

	kp_attach_holds(attach, "reference/gemm_mm", "plan", 1);
	restart(attach);
	kp_attach_obeys(attach, kp_control_generation(kp_attach_control(attach)));
	json_t *client = plugind_client(&plugind, "app");
	json_t *hold = json_array_get(json_object_get(client, "holds"), 0);
	ck_assert_str_eq(
		json_string_value(json_object_get(hold, "kernel")), "reference/gemm_mm");
	ck_assert_str_eq(json_string_value(json_object_get(hold, "what")), "plan");
	ck_assert_str_eq(json_string_value(json_object_get(client, "state")), "obeyed");
	json_decref(client);
	kp_attach_free(attach);
}
END_TEST

START_TEST(threads_keep_their_slots_but_not_the_kernels_of_another_plugind)
{
	struct kp_attach *attach = attach_as("app");
	struct kp_slot *slots = kp_attach_slots(attach);

	slots[5].thread = 1234;
	slots[5].kernel = kp_slot_kernel(kp_attach_control(attach)->boot, 2);
	restart(attach);
	ck_assert_uint_eq(slots[5].thread, 1234);
	ck_assert_uint_eq(slots[5].kernel, 0);
	kp_attach_free(attach);
}
END_TEST

START_TEST(a_number_of_another_plugind_is_no_number)
{
	struct kp_attach *attach = attach_as("app");
	uint64_t boot = kp_attach_control(attach)->boot;
	uint64_t kernel = kp_slot_kernel(boot, 41);
	uint32_t number = 0;

	ck_assert(kp_slot_number(kernel, boot, &number));
	ck_assert_uint_eq(number, 41);
	ck_assert(!kp_slot_number(0, boot, &number));
	ck_assert(!kp_slot_number(kernel, boot + 2, &number));
	kp_attach_free(attach);
}
END_TEST

/* A thread that reads without a lock, as a site does. */
static void *spin(void *context)
{
	struct kp_attach *attach = context;
	const struct kp_control *control = kp_attach_control(attach);
	struct kp_slot *slot = kp_attach_slots(attach);
	uint64_t last = 0;
	uint64_t fell = 0;

	while (__atomic_load_n(&slot->signal, __ATOMIC_RELAXED) == 0) {
		uint64_t now = kp_control_generation(control);
		fell += now < last;
		last = now;
		__atomic_store_n(&slot->kernel, now, __ATOMIC_RELAXED);
		if (kp_control_is_off(control, 0) && now == last)
			kp_view_drop(kp_attach_view(attach, 0, 0));
		__atomic_store_n(&slot->kernel, 0, __ATOMIC_RELAXED);
		if (__atomic_load_n(&attach->forked, __ATOMIC_RELAXED))
			break;
	}
	return (void *)(uintptr_t)fell;
}

START_TEST(a_reader_never_sees_a_generation_fall_through_restarts)
{
	struct kp_attach *attach = attach_as("app");
	pthread_t thread;
	void *fell;

	ck_assert_int_eq(pthread_create(&thread, NULL, spin, attach), 0);
	restart(attach);
	restart(attach);
	__atomic_store_n(&kp_attach_slots(attach)->signal, 1, __ATOMIC_RELAXED);
	(void)pthread_join(thread, &fell);
	ck_assert_uint_eq((uintptr_t)fell, 0);
	kp_attach_free(attach);
}
END_TEST

/* ---- the table on disk ------------------------------------------------------------ */

static bool has_followed(void *context)
{
	struct kp_attach *attach = context;
	struct kp_view *view = kp_attach_view(attach, 0, 0);
	bool followed = view->numbers == NULL;

	kp_view_drop(view);
	return followed;
}

/* The application's table with another generation, where plugind would leave it. */
static void leave_table(struct kp_attach *attach, uint64_t generation, mode_t mode)
{
	struct kp_view *view = kp_attach_view(attach, 0, 0);
	unsigned char *bytes = malloc(view->table.size);
	char path[160];
	struct kp_diag diag;

	ck_assert_ptr_nonnull(bytes);
	memcpy(bytes, view->table.bytes, view->table.size);
	kp_store64(bytes + KP_HEADER_GENERATION, generation);
	kp_store64(
		bytes + KP_HEADER_CHECKSUM, kp_table_checksum(bytes, view->table.size));
	(void)snprintf(path, sizeof(path), "%s/state", plugind.place);
	int dir = open(path, O_DIRECTORY | O_RDONLY | O_CLOEXEC);
	ck_assert_int_eq(kp_file_replace(dir, "table", bytes, view->table.size, mode,
				 false, &diag),
		0);
	(void)close(dir);
	free(bytes);
	kp_view_drop(view);
}

START_TEST(a_newer_table_on_disk_is_followed_while_plugind_is_away)
{
	struct kp_attach *attach = attach_as("app");
	const struct kp_control *control = kp_attach_control(attach);
	uint64_t before = kp_control_generation(control);

	plugind_decide(&plugind, "Disable", "reference/gemm_mm");
	plugind_kill(&plugind, SIGKILL);
	plugind_await(is_away, attach, "the end of the connection");
	leave_table(attach, before + 100, 0644);
	plugind_await(has_followed, attach, "the table on disk to be followed");
	ck_assert_ptr_eq(kp_attach_control(attach), control);
	ck_assert_uint_eq(kp_control_generation(control), before + 100);
	ck_assert_uint_eq(control->bits[0], 0);
	plugind_start(&plugind);
	plugind_await(is_back, attach, "the application to attach again");
	ck_assert_uint_gt(kp_control_generation(control), before + 100);
	kp_attach_free(attach);
}
END_TEST

START_TEST(a_table_that_others_may_write_is_not_followed)
{
	struct kp_attach *attach = attach_as("app");
	struct kp_view_stamp stamp = {0};
	struct kp_view *view = NULL;
	struct kp_diag diag;

	leave_table(attach, 1000, 0666);
	ck_assert_int_eq(
		kp_view_read(attach->table, geteuid(), &stamp, &view, &diag), -1);
	ck_assert_str_eq(diag.code, "writable_by_others");
	leave_table(attach, 1000, 0644);
	ck_assert_int_eq(kp_view_read(attach->table, geteuid(), &stamp, &view, &diag), 0);
	ck_assert_uint_eq(view->generation, 1000);
	kp_view_drop(view);
	ck_assert_int_eq(kp_view_read(attach->table, geteuid(), &stamp, &view, &diag), 0);
	ck_assert_ptr_null(view);
	kp_attach_free(attach);
}
END_TEST

/* ---- fork ------------------------------------------------------------------------ */

/* What is wrong in the child; 0: nothing. */
static int child_of(struct kp_attach *attach)
{
	struct kp_diag diag;
	json_t *reply;

	kp_attach_forked(attach);
	if (kp_control_generation(kp_attach_control(attach)) != 0)
		return 1;
	if (kp_attach_is_there(attach))
		return 2;
	kp_attach_slots(attach)[0].kernel = 99;
	if (kp_attach_ask(attach, "Clients", NULL, &reply, &diag) == 0)
		return 3;
	struct kp_view *view = kp_attach_view(attach, UINT64_MAX, PLUGIND_PATIENCE_MS);
	if (view->count == 0)
		return 4;
	kp_view_drop(view);
	kp_attach_holds(attach, "a/b", "graph", 1);
	kp_attach_obeys(attach, 12345);
	kp_attach_free(attach);
#ifndef __SANITIZE_THREAD__
	/* ThreadSanitizer starts no thread in a child. */
	kp_attach_free(attach_as("child"));
#endif
	return 0;
}

START_TEST(a_forked_child_changes_nothing_of_its_parent_and_can_attach_itself)
{
	struct kp_attach *attach = attach_as("app");
	int status = -1;

	kp_attach_obeys(attach, 1);
	pid_t child = fork();
	if (child == 0)
		_exit(child_of(attach));
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert_int_eq(WEXITSTATUS(status), 0);
	ck_assert(WIFEXITED(status));
	ck_assert_uint_eq(kp_attach_slots(attach)[0].kernel, 0);
	json_t *client = plugind_client(&plugind, "app");
	ck_assert_int_eq(json_integer_value(json_object_get(client, "generation")), 1);
	ck_assert_uint_eq(json_array_size(json_object_get(client, "holds")), 0);
	json_decref(client);
	ck_assert(kp_attach_is_there(attach));
	kp_attach_free(attach);
}
END_TEST

static bool has_left(void *name)
{
	json_t *client = plugind_client(&plugind, name);
	bool left = client == NULL;

	json_decref(client);
	return left;
}

START_TEST(an_application_that_is_killed_is_forgotten)
{
	char name[] = "victim";
	int ready[2];
	char byte;

	ck_assert_int_eq(pipe(ready), 0);
	pid_t child = fork();
	if (child == 0) {
		(void)attach_as(name);
		(void)!write(ready[1], "", 1);
		for (;;)
			pause();
	}
	ck_assert_int_eq(read(ready[0], &byte, 1), 1);
	ck_assert(!has_left(name));
	(void)kill(child, SIGKILL);
	plugind_await(has_left, name, "the killed client to leave");
	(void)waitpid(child, NULL, 0);
	(void)close(ready[0]);
	(void)close(ready[1]);
}
END_TEST

static Suite *away_suite(void)
{
	Suite *suite = suite_create("attach_away");
	TCase *tcase = tcase_create("attach_away");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_set_timeout(tcase, 180);
	tcase_add_test(tcase, while_plugind_is_dead_everything_stays_mapped);
	tcase_add_test(tcase,
		after_a_restart_the_page_is_where_it_was_and_its_generation_is_higher);
	tcase_add_test(tcase, what_was_disabled_meanwhile_is_off_after_the_restart);
	tcase_add_test(tcase, holds_and_adoption_are_known_to_the_next_plugind);
	tcase_add_test(
		tcase, threads_keep_their_slots_but_not_the_kernels_of_another_plugind);
	tcase_add_test(tcase, a_number_of_another_plugind_is_no_number);
	tcase_add_test(tcase, a_reader_never_sees_a_generation_fall_through_restarts);
	tcase_add_test(tcase, a_newer_table_on_disk_is_followed_while_plugind_is_away);
	tcase_add_test(tcase, a_table_that_others_may_write_is_not_followed);
	tcase_add_test(tcase,
		a_forked_child_changes_nothing_of_its_parent_and_can_attach_itself);
	tcase_add_test(tcase, an_application_that_is_killed_is_forgotten);
	suite_add_tcase(suite, tcase);
	return suite;
}

int main(void)
{
	return suite_run(away_suite());
}
