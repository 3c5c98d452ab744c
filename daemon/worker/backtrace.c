/* SPDX-License-Identifier: MIT */
/* A handler that prints frames on a stack of its own. */
#include "daemon/worker/backtrace.h"

#include <execinfo.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/plugin/finding.h"

enum { FRAMES = 14, OWN = 1, STACK_BYTES = 256 << 10 };

void backtrace_prepare(void)
{
	void *frames[1];

	/* The first call opens a library, which no handler may do. */
	(void)backtrace(frames, 1);
}

/* As many as fit what is kept of the output; not the handler itself. */
static void print(void *const *frames, int count)
{
	if (count > OWN)
		backtrace_symbols_fd(frames + OWN, count - OWN, STDERR_FILENO);
}

/* Only what is safe anywhere: the plugin may have left anything half done. */
static void on_crash(int number)
{
	static const char mark[] = "\n" KP_BACKTRACE_MARK "\n";
	void *frames[FRAMES];

	if (write(STDERR_FILENO, mark, sizeof(mark) - 1) > 0)
		print(frames, backtrace(frames, FRAMES));
	/* The default is back: it ends as if nobody had looked. */
	(void)raise(number);
}

/* A sanitizer has handlers of its own, which say more. */
#ifdef __SANITIZE_ADDRESS__
enum { HAS_OWN = 1 };
#else
enum { HAS_OWN = 0 };
#endif

void backtrace_on_crash(void)
{
	static const int numbers[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
	struct sigaction action = {
		.sa_handler = on_crash, .sa_flags = SA_ONSTACK | (int)SA_RESETHAND};
	stack_t stack = {.ss_size = STACK_BYTES};

	if (HAS_OWN)
		return;
	stack.ss_sp = mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
	if (stack.ss_sp == MAP_FAILED || sigaltstack(&stack, NULL) < 0)
		return;
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		(void)sigaction(numbers[i], &action, NULL);
}
