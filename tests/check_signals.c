/* SPDX-License-Identifier: MIT */
/* Handlers that were there are called as the kernel would have called them. */
#include "lib/host/signals.h"

#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/host/thread.h"
#include "tests/support/suite.h"

/* What a handler saw. */
static struct seen {
	int calls, number, code;
	bool blocks_itself, blocks_usr1, blocks_usr2, on_stack;
	pid_t sender;
} seen;

static struct {
	struct kp_slot slots[KP_SLOTS];
	struct kp_told told;
} page;

static void look(int number)
{
	sigset_t mask;
	stack_t stack;

	(void)pthread_sigmask(SIG_SETMASK, NULL, &mask);
	(void)sigaltstack(NULL, &stack);
	seen.calls++;
	seen.number = number;
	seen.blocks_itself = sigismember(&mask, number);
	seen.blocks_usr1 = sigismember(&mask, SIGUSR1);
	seen.blocks_usr2 = sigismember(&mask, SIGUSR2);
	seen.on_stack = stack.ss_flags & SS_ONSTACK;
}

static void on_info(int number, siginfo_t *info, void *context)
{
	look(number);
	seen.code = info->si_code;
	seen.sender = info->si_pid;
	ck_assert_ptr_nonnull(context);
}

static void install(int number, struct sigaction action, int blocked)
{
	(void)sigemptyset(&action.sa_mask);
	if (blocked)
		(void)sigaddset(&action.sa_mask, blocked);
	ck_assert_int_eq(sigaction(number, &action, NULL), 0);
}

static void begin(void)
{
	seen = (struct seen){0};
	ck_assert(kp_thread_init());
	ck_assert(kp_signals_begin(&page.told));
	ck_assert_ptr_nonnull(kp_thread_enter(page.slots));
}

/* ---- passing on ------------------------------------------------------------------ */

START_TEST(a_handler_gets_number_info_and_mask)
{
	static const int numbers[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};

	install(numbers[_i],
		(struct sigaction){.sa_sigaction = on_info, .sa_flags = SA_SIGINFO},
		SIGUSR1);
	begin();
	ck_assert_int_eq(raise(numbers[_i]), 0);
	ck_assert_int_eq(seen.calls, 1);
	ck_assert_int_eq(seen.number, numbers[_i]);
	ck_assert_int_eq(seen.code, SI_TKILL);
	ck_assert_int_eq(seen.sender, getpid());
	ck_assert(seen.blocks_itself && seen.blocks_usr1 && !seen.blocks_usr2);
	kp_signals_end(&page.told);
}
END_TEST

START_TEST(a_plain_handler_with_nodefer_is_called_without_a_mask)
{
	install(SIGSEGV, (struct sigaction){.sa_handler = look, .sa_flags = SA_NODEFER},
		0);
	begin();
	ck_assert_int_eq(raise(SIGSEGV), 0);
	ck_assert_int_eq(raise(SIGSEGV), 0);
	ck_assert_int_eq(seen.calls, 2);
	ck_assert(!seen.blocks_itself && !seen.blocks_usr1);
	kp_signals_end(&page.told);
}
END_TEST

/* The second one finds the default, which ends the process. */
START_TEST(a_handler_with_resethand_is_called_once)
{
	int status;

	install(SIGFPE,
		(struct sigaction){.sa_handler = look, .sa_flags = (int)SA_RESETHAND}, 0);
	begin();
	pid_t child = fork();
	if (child == 0) {
		(void)raise(SIGFPE);
		if (seen.calls != 1)
			_exit(1);
		(void)raise(SIGFPE);
		_exit(2);
	}
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGFPE);
	kp_signals_end(&page.told);
}
END_TEST

START_TEST(the_default_ends_the_process_by_that_signal)
{
	static const int numbers[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
	int status;

	install(numbers[_i], (struct sigaction){.sa_handler = SIG_DFL}, 0);
	begin();
	pid_t child = fork();
	if (child == 0) {
		(void)raise(numbers[_i]);
		_exit(1);
	}
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert(WIFSIGNALED(status) && WTERMSIG(status) == numbers[_i]);
	kp_signals_end(&page.told);
}
END_TEST

START_TEST(what_is_ignored_stays_so)
{
	struct sigaction now;

	install(SIGABRT, (struct sigaction){.sa_handler = SIG_IGN}, 0);
	begin();
	ck_assert_int_eq(raise(SIGABRT), 0);
	ck_assert_int_eq(sigaction(SIGABRT, NULL, &now), 0);
	ck_assert(now.sa_handler == SIG_IGN);
	kp_signals_end(&page.told);
}
END_TEST

/* ---- coming and going ------------------------------------------------------------ */

START_TEST(the_last_one_puts_back_what_was_there)
{
	struct sigaction before, now;
	struct kp_told other = {.adopted = 0};

	install(SIGILL,
		(struct sigaction){.sa_sigaction = on_info,
			.sa_flags = SA_SIGINFO | SA_RESTART | SA_NODEFER},
		SIGUSR2);
	ck_assert_int_eq(sigaction(SIGILL, NULL, &before), 0);
	begin();
	ck_assert(kp_signals_begin(&other));
	kp_signals_end(&other);
	ck_assert_int_eq(sigaction(SIGILL, NULL, &now), 0);
	ck_assert(now.sa_sigaction != on_info);
	kp_signals_end(&page.told);
	ck_assert_int_eq(sigaction(SIGILL, NULL, &now), 0);
	ck_assert(now.sa_sigaction == on_info);
	ck_assert_int_eq(now.sa_flags, before.sa_flags);
	ck_assert_int_eq(memcmp(&now.sa_mask, &before.sa_mask, sizeof(uint64_t)), 0);
}
END_TEST

static struct sigaction later;

static void pass(int number, siginfo_t *info, void *context)
{
	later.sa_sigaction(number, info, context);
}

START_TEST(behind_a_later_handler_ours_goes_on_to_pass_on)
{
	struct sigaction now;

	install(SIGBUS, (struct sigaction){.sa_handler = look}, 0);
	begin();
	struct sigaction theirs = {.sa_sigaction = pass, .sa_flags = SA_SIGINFO};
	ck_assert_int_eq(sigaction(SIGBUS, &theirs, &later), 0);
	for (int i = 1; i <= 3; i++) {
		ck_assert_int_eq(raise(SIGBUS), 0);
		ck_assert_int_eq(seen.calls, i);
		/* Whatever comes and goes, theirs stays the first and is in no circle. */
		kp_signals_end(&page.told);
		ck_assert_int_eq(sigaction(SIGBUS, NULL, &now), 0);
		ck_assert(now.sa_sigaction == pass);
		ck_assert(kp_signals_begin(&page.told));
	}
	kp_signals_end(&page.told);
}
END_TEST

/* ---- stamps ---------------------------------------------------------------------- */

static sigjmp_buf back;

static void jump(int number)
{
	siglongjmp(back, number);
}

static void fault(void)
{
	volatile int *volatile nowhere = (int *)24;

	*nowhere = 1;
}

START_TEST(a_fault_inside_a_kernel_is_stamped_until_the_thread_goes_on)
{
	install(SIGSEGV, (struct sigaction){.sa_handler = jump}, 0);
	begin();
	struct kp_slot *slot = kp_thread_mine();
	unsigned label = kp_signals_label("ffn.up");
	slot->kernel = kp_slot_labelled(kp_slot_kernel(5, 7), label);
	if (sigsetjmp(back, 1) == 0)
		fault();
	ck_assert_uint_eq(slot->signal, SIGSEGV);
	ck_assert_uint_eq(slot->address, 24);
	ck_assert_str_eq(slot->label, "ffn.up");
	ck_assert_uint_eq(page.told.fatal & KP_FATAL_SIGNAL, SIGSEGV);
	ck_assert(page.told.fatal & KP_FATAL_INSIDE);
	ck_assert_uint_eq(page.told.fatal >> 32, gettid());
	ck_assert_ptr_null(kp_thread_slot);
	/* The next call. */
	kp_thread_finish(kp_thread_begin(page.slots));
	ck_assert_uint_eq(slot->signal, 0);
	ck_assert_uint_eq(slot->kernel, 0);
	ck_assert_uint_eq(page.told.fatal, 0);
	ck_assert_ptr_eq(kp_thread_slot, slot);
	kp_signals_end(&page.told);
}
END_TEST

START_TEST(what_somebody_sent_is_told_and_stamps_nothing)
{
	install(SIGSEGV, (struct sigaction){.sa_handler = jump}, 0);
	begin();
	struct kp_slot *slot = kp_thread_mine();
	slot->kernel = kp_slot_kernel(5, 7);
	if (sigsetjmp(back, 1) == 0)
		(void)kill(getpid(), SIGSEGV);
	ck_assert_uint_eq(slot->signal, 0);
	ck_assert(page.told.fatal & KP_FATAL_SENT);
	kp_signals_end(&page.told);
}
END_TEST

START_TEST(a_handler_that_mends_it_leaves_no_stamp)
{
	install(SIGSEGV, (struct sigaction){.sa_handler = look, .sa_flags = SA_ONSTACK},
		0);
	begin();
	struct kp_slot *slot = kp_thread_mine();
	slot->kernel = kp_slot_kernel(5, 7);
	kp_thread_slot = slot;
	(void)raise(SIGSEGV);
	ck_assert_uint_eq(slot->signal, 0);
	ck_assert_uint_eq(page.told.fatal, 0);
	ck_assert_ptr_eq(kp_thread_slot, slot);
	ck_assert(seen.on_stack);
	slot->kernel = 0;
	kp_signals_end(&page.told);
}
END_TEST

START_TEST(a_stack_of_the_application_stays)
{
	static char own[64 << 10];
	const stack_t stack = {.ss_sp = own, .ss_size = sizeof(own)};
	stack_t now;

	ck_assert_int_eq(sigaltstack(&stack, NULL), 0);
	begin();
	ck_assert_int_eq(sigaltstack(NULL, &now), 0);
	ck_assert_ptr_eq(now.ss_sp, own);
	kp_signals_end(&page.told);
}
END_TEST

START_TEST(labels_that_are_alike_have_one_number)
{
	unsigned first = kp_signals_label("one");

	ck_assert_uint_ne(first, 0);
	ck_assert_uint_eq(kp_signals_label("one"), first);
	ck_assert_uint_ne(kp_signals_label("two"), first);
	ck_assert_uint_eq(kp_signals_label(""), 0);
	ck_assert_uint_eq(kp_signals_label(NULL), 0);
	for (int i = 0; i < 2 * KP_SLOT_LABELS; i++) {
		char label[24];
		(void)snprintf(label, sizeof(label), "label %d", i);
		ck_assert_uint_lt(kp_signals_label(label), KP_SLOT_LABELS);
	}
	ck_assert_uint_eq(kp_signals_label("one more"), 0);
	ck_assert_uint_eq(kp_signals_label("one"), first);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("signals");
	TCase *passing = tcase_create("passing on");
	TCase *life = tcase_create("coming and going");
	TCase *stamps = tcase_create("stamps");

	if (suite_is_threaded()) {
		suite_skip("handlers of signals",
			"ThreadSanitizer puts its own in their place");
		return suite_run(suite);
	}
	tcase_add_loop_test(passing, a_handler_gets_number_info_and_mask, 0, 5);
	tcase_add_test(passing, a_plain_handler_with_nodefer_is_called_without_a_mask);
	tcase_add_test(passing, a_handler_with_resethand_is_called_once);
	tcase_add_loop_test(passing, the_default_ends_the_process_by_that_signal, 0, 5);
	tcase_add_test(passing, what_is_ignored_stays_so);
	suite_add_tcase(suite, passing);
	tcase_add_test(life, the_last_one_puts_back_what_was_there);
	tcase_add_test(life, behind_a_later_handler_ours_goes_on_to_pass_on);
	suite_add_tcase(suite, life);
	tcase_add_test(
		stamps, a_fault_inside_a_kernel_is_stamped_until_the_thread_goes_on);
	tcase_add_test(stamps, what_somebody_sent_is_told_and_stamps_nothing);
	tcase_add_test(stamps, a_handler_that_mends_it_leaves_no_stamp);
	tcase_add_test(stamps, a_stack_of_the_application_stays);
	tcase_add_test(stamps, labels_that_are_alike_have_one_number);
	suite_add_tcase(suite, stamps);
	return suite_run(suite);
}
