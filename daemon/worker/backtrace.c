/* SPDX-License-Identifier: MIT */
/* Handlers that tell the stage and print frames, on a stack of their own. */
#include "daemon/worker/backtrace.h"

#include <execinfo.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "daemon/worker/relocation.h"
#include "daemon/worker/report.h"
#include "lib/plugin/finding.h"

enum { FRAMES = 14, OWN = 1, STACK_BYTES = 256 << 10 };

/* What handlers need is made before: they must not allocate. A process has one. */
static struct {
	char line[KP_REPORT_MARK + 32];
	int size, fd;
	volatile sig_atomic_t loading;
} stage;

void backtrace_prepare(void)
{
	void *frames[1];

	/* The first call opens a library, which no handler may do. */
	(void)backtrace(frames, 1);
}

void backtrace_while_loading(bool loading)
{
	if (loading)
		relocation_expect();
	stage.loading = loading;
}

/* Once: whoever is asked may crash on the way. */
static void tell_stage(void)
{
	if (stage.loading && relocation_is_under_way())
		(void)!write(stage.fd, stage.line, (size_t)stage.size);
	stage.loading = false;
}

/* As many as fit what is kept of the output; not the handler itself. */
static void print(void *const *frames, int count)
{
	if (count > OWN)
		backtrace_symbols_fd(frames + OWN, count - OWN, STDERR_FILENO);
}

/* Only what is safe anywhere: the plugin may have left anything half done. */
static void on_end(int number)
{
	static const char mark[] = "\n" KP_BACKTRACE_MARK "\n";
	void *frames[FRAMES];

	tell_stage();
	if (write(STDERR_FILENO, mark, sizeof(mark) - 1) > 0)
		print(frames, backtrace(frames, FRAMES));
	/* The default is back: it ends as if nobody had looked. */
	(void)raise(number == BACKTRACE_ASKED ? SIGKILL : number);
}

static void handle(int number)
{
	struct sigaction action = {
		.sa_handler = on_end, .sa_flags = SA_ONSTACK | (int)SA_RESETHAND};

	(void)sigaction(number, &action, NULL);
}

static void prepare_stage(const struct report *report)
{
	stage.fd = report->fd;
	stage.size = snprintf(stage.line, sizeof(stage.line),
		"%s%s{\"stage\":\"relocation\"}\n", report->mark,
		*report->mark ? " " : "");
	(void)atexit(tell_stage);
}

/* On a stack of its own: that of the thread may be used up. */
static int make_stack(void)
{
	stack_t stack = {.ss_size = STACK_BYTES};

	stack.ss_sp = mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
	return stack.ss_sp == MAP_FAILED ? -1 : sigaltstack(&stack, NULL);
}

/* A sanitizer has handlers of its own, which say more. */
#ifdef __SANITIZE_ADDRESS__
static const int crashes[] = {0};
enum { N_CRASHES = 0 };
#else
static const int crashes[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
enum { N_CRASHES = sizeof(crashes) / sizeof(crashes[0]) };
#endif

void backtrace_on_end(const struct report *report)
{
	prepare_stage(report);
	handle(BACKTRACE_ASKED);
	if (N_CRASHES > 0 && make_stack() < 0)
		return;
	for (size_t i = 0; i < N_CRASHES; i++)
		handle(crashes[i]);
}
