/* SPDX-License-Identifier: MIT */
/* Plugins that try to get out of their worker: each is stopped, and told by what. */
#include <check.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/platform/confinement.h"
#include "tests/support/suite.h"
#include "tests/support/unconfined.h"
#include "tests/support/workers.h"

static struct workers workers;
static struct outcome outcome;

static void set_up(void)
{
	workers_start(&workers, 4);
	outcome_init(&outcome);
}

static void tear_down(void)
{
	workers_stop(&workers);
	outcome_finish(&outcome);
}

static bool is_available(void)
{
	for (size_t i = 0; i < json_array_size(outcome.lines); i++)
		if (json_is_true(json_object_get(
			    json_array_get(outcome.lines, i), "available")))
			return true;
	return false;
}

/* What is refused and goes on; its words are in what is told. */
static const struct {
	const char *fixture, *words;
} refused[] = {
	{"socket_to_the_daemon", "it may not open sockets (socket)"},
	{"socket_to_the_network", "it may not open sockets (socket)"},
	{"socket_pair", "it may not open sockets (socketpair)"},
	{"socket_by_ring", "it may not use io_uring (io_uring_setup)"},
	{"socket_of_any_family", "it may not open sockets (socket)"},
	{"signal_from_a_pipe", "it may not have signals or leases come from a file"},
	{"file_written", "it may not write files (openat /"},
	{"file_made", "file_made.so.new"},
	{"file_removed", "it may not change files (unlink)"},
	{"file_opened_to_everybody", "it may not change files (chmod)"},
	{"file_cut_while_read", "it may not write files (openat /"},
	{"file_changed_by_any_call", "it may not change files (setxattr)"},
	{"file_flags_changed",
		"it may not change flags of files, or type into a terminal"},
	{"file_locked", "it may not hold locks of files (flock)"},
	{"file_by_its_descriptor", "it may not write files (openat /proc/self/fd/"},
	{"file_without_a_name", "it may not write files (openat /"},
	{"terminal_typed_into",
		"it may not change flags of files, or type into a terminal (ioctl)"},
	{"process_by_any_call", "it may not start processes (clone)"},
	{"process_forked", "it may not start processes (clone)"},
	{"process_of_system", "it may not start processes (clone)"},
	{"process_of_spawn", "it may not start processes (clone)"},
	{"process_daemonized", "it may not start processes (clone)"},
	{"grandchild_daemonizes", "it may not start processes (clone)"},
	{"trace_by_file", "it may not write files (openat /proc/"},
	{"limit_of_its_parent", "it may not change priorities, or the limits of others"},
	{"priority_changed", "it may not change priorities, or the limits of others"},
	{"limit_of_the_killer", "(openat /proc/self/oom_score_adj)"},
	{"watch_of_death", "it may not change how its process is watched (prctl)"},
	{"watch_of_children", "it may not change how its process is watched (prctl)"},
	{"watch_of_calls", "it may not change how its process is watched (prctl)"},
	{"personality_changed",
		"it may not change how its process is watched (personality)"},
	{"watches_the_machine", "it may not use the kernel's means to watch a machine"},
	{"memory_of_zeroes", "it may not make memory that no limit counts (mmap)"},
	{"memory_that_grows_down", "it may not make memory that no limit counts (mmap)"},
	{"memory_in_queues", "it may not make memory or queues that outlive it (msgget)"},
	{"memory_shared", "it may not make memory that no limit counts (mmap)"},
	{"memory_as_a_file",
		"it may not make memory that no limit counts (memfd_create)"},
	{"memory_that_stays", "it may not make memory or queues that outlive it"},
	{"kernel_keys", "it may not use the kernel's keys (keyctl)"},
	{"kernel_user", "it may not become another user (setresuid)"},
};

START_TEST(who_tries_is_refused_and_told)
{
	workers_probe(&workers, refused[_i].fixture, &outcome);
	ck_assert_int_eq(outcome.result.end, KP_WORKER_DONE);
	ck_assert_ptr_nonnull(strstr(outcome.result.refused, refused[_i].words));
	ck_assert(is_available());
}
END_TEST

/* What no plugin has a reason to do is its end. */
static const struct {
	const char *fixture, *words;
} deadly[] = {
	{"signal_to_its_parent", "it may not send signals to others (kill)"},
	{"signal_to_everybody", "it may not send signals to others (kill)"},
	{"signal_to_its_group", "it may not send signals to others (kill)"},
	{"signal_to_a_thread", "it may not send signals to others (tkill)"},
	{"signal_queued", "it may not send signals to others (rt_sigqueueinfo)"},
	{"signal_by_descriptor", "it may not send signals to others (pidfd_send_signal)"},
	{"kills_its_keeper", "it may not send signals to others (kill)"},
	{"kills_the_launcher", "it may not send signals to others (kill)"},
	{"session_of_its_own", "it may not leave its session (setsid)"},
	{"session_group", "it may not leave its session (setpgid)"},
	{"program_in_its_place", "it may not run programs (execve)"},
	{"program_of_descriptor", "it may not run programs (execve"},
	{"trace_of_its_parent", "it may not look into other processes (ptrace)"},
	{"trace_of_memory", "it may not look into other processes (process_vm_writev)"},
	{"trace_of_descriptor", "it may not look into other processes (pidfd_getfd)"},
	{"kernel_namespace", "what the system sees as its files (unshare)"},
	{"kernel_program", "it may not change the kernel or the machine (bpf)"},
	{"kernel_mount", "what the system sees as its files (mount)"},
};

START_TEST(who_attacks_is_ended_and_told)
{
	workers_probe(&workers, deadly[_i].fixture, &outcome);
	ck_assert_int_eq(outcome.result.end, KP_WORKER_REFUSED);
	ck_assert_str_eq(outcome.result.diag.code, "refused_by_sandbox");
	ck_assert_ptr_nonnull(strstr(outcome.result.diag.message, deadly[_i].words));
	ck_assert_ptr_nonnull(strstr(outcome.result.diag.message, "during load"));
	ck_assert_uint_eq(pool_lost(workers.pool), 0);
}
END_TEST

/* What is not there for it, or would be another's: told to nobody, and it goes on. */
static const char *const nothing[] = {"calls_that_nobody_needs", "descriptors_inherited",
	"signal_by_timer", "trace_by_reading"};

START_TEST(who_finds_nothing_has_not_escaped)
{
	workers_probe(&workers, nothing[_i], &outcome);
	ck_assert_int_eq(outcome.result.end, KP_WORKER_DONE);
	ck_assert_str_eq(outcome.result.refused, "");
	ck_assert(is_available());
}
END_TEST

#ifdef __x86_64__
static const char *const strange[] = {"abi_of_32_bits", "abi_of_x32"};

START_TEST(calls_by_another_abi_are_the_end)
{
	workers_probe(&workers, strange[_i], &outcome);
	ck_assert_int_eq(outcome.result.end, KP_WORKER_KILLED);
	ck_assert_int_eq(outcome.result.signal, SIGSYS);
	ck_assert_ptr_nonnull(strstr(outcome.result.diag.message, "during load"));
}
END_TEST
#endif

/* Limits stop these: the plugin sees that there is no more. */
static const char *const bounded[] = {
	"limit_raised",
	"memory_of_the_stack",
/* A sanitizer's own memory has no bound, and so a plugin's has none. */
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
	"memory_of_the_heap",
	"memory_in_one_piece",
	"memory_of_threads",
	"memory_of_page_tables",
#endif
};

START_TEST(who_takes_too_much_gets_no_more)
{
	workers_probe(&workers, bounded[_i], &outcome);
	ck_assert_int_eq(outcome.result.end, KP_WORKER_DONE);
	ck_assert(is_available());
}
END_TEST

static const char *const harmless[] = {
	"plain", "character_sets_of_libc", "changes_locale"};

START_TEST(nothing_is_told_of_a_plugin_that_tries_nothing)
{
	workers_probe(&workers, harmless[_i], &outcome);
	ck_assert_int_eq(outcome.result.end, KP_WORKER_DONE);
	ck_assert_str_eq(outcome.result.refused, "");
	ck_assert(is_available());
}
END_TEST

START_TEST(without_what_confines_a_plugin_is_probed_all_the_same)
{
	struct kp_confinement offered;
	unconfined_become(_i != 1, _i != 0);
	kp_confinement_ask(&offered);
	ck_assert(!kp_confinement_is_whole(&offered));
	workers_probe(&workers, "plain", &outcome);
	ck_assert_int_eq(outcome.result.end, KP_WORKER_DONE);
	ck_assert(is_available());
}
END_TEST

START_TEST(without_landlock_the_filter_keeps_files_as_they_are)
{
	unconfined_become(false, true);
	workers_probe(&workers, "file_written", &outcome);
	ck_assert_ptr_nonnull(
		strstr(outcome.result.refused, "it may not write files (openat /"));
	ck_assert(is_available());
}
END_TEST

#define COUNT(array) (int)(sizeof(array) / sizeof((array)[0]))

int main(void)
{
	Suite *suite = suite_create("sandbox");
	TCase *tcase = tcase_create("escapes");
	tcase_add_checked_fixture(tcase, set_up, tear_down);
	tcase_set_timeout(tcase, 60);
	tcase_add_loop_test(tcase, who_tries_is_refused_and_told, 0, COUNT(refused));
	tcase_add_loop_test(tcase, who_attacks_is_ended_and_told, 0, COUNT(deadly));
	tcase_add_loop_test(tcase, who_finds_nothing_has_not_escaped, 0, COUNT(nothing));
#ifdef __x86_64__
	tcase_add_loop_test(tcase, calls_by_another_abi_are_the_end, 0, COUNT(strange));
#endif
	tcase_add_loop_test(tcase, who_takes_too_much_gets_no_more, 0, COUNT(bounded));
	tcase_add_loop_test(tcase, nothing_is_told_of_a_plugin_that_tries_nothing, 0,
		COUNT(harmless));
	tcase_add_loop_test(
		tcase, without_what_confines_a_plugin_is_probed_all_the_same, 0, 3);
	tcase_add_test(tcase, without_landlock_the_filter_keeps_files_as_they_are);
	suite_add_tcase(suite, tcase);
	return suite_run(suite);
}
