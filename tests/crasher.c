/* SPDX-License-Identifier: MIT */
/*
 * An application for tests/test_crash.py: calls elementwise/square, the first element of
 *x says what the kernel does (tests/crashing.py), and does some harm of its own.
 *
 *	crasher SOCKET STEP...
 *
 * Steps: "call N" calls inline, "whole N" the whole way; the others are below. It prints
 * what calls gave, and "ready" where it waits to be ended.
 */
#include <kplug/host.h>

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { N = 4, WAITS = 10 };

static struct kp_handle *kplug;
static struct kp_site *site, *checking, *nested;
static sigjmp_buf back;
static const char *argument;
static struct sigaction earlier;

static int64_t shape[] = {N}, strides[] = {1};

static struct kp_tensor tensor_of(float *data)
{
	return (struct kp_tensor){.data = data,
		.device = {1, 0},
		.ndim = 1,
		.dtype = {2, 32, 1},
		.shape = shape,
		.strides = strides};
}

/* A call of the site with this in x; *got is what it gave. */
static int call_for(struct kp_site *at, float what, float *got)
{
	float x[N] = {what, what, what, what}, y[N] = {0};
	struct kp_tensor tensors[] = {tensor_of(x), tensor_of(y)};
	const struct kp_tensor *const both[] = {&tensors[0], &tensors[1]};
	struct kp_call made;

	kp_call_init(at, &made);
	made.tensors = both;
	made.n_tensors = 2;
	int status = kp_run(at, &made);
	*got = y[0];
	return status;
}

/* The same, and says so. */
static int call(struct kp_site *at, float what)
{
	float got;
	int status = call_for(at, what, &got);

	if (status == KP_OK)
		printf("%g\n", (double)got);
	else
		printf("status %d\n", status);
	fflush(stdout);
	return status;
}

static void *call_in_thread(void *what)
{
	call(site, *(float *)what);
	return NULL;
}

static pthread_t thread_with(float what)
{
	static float values[16];
	static int used;
	pthread_t thread;

	values[used] = what;
	pthread_create(&thread, NULL, call_in_thread, &values[used++]);
	return thread;
}

/* A thread that is in a kernel; it says so by a pipe, whose end the kernel gets. */
static pthread_t waiting_thread(void)
{
	int ends[2];
	char byte, text[16];
	pthread_t thread;

	if (pipe(ends) < 0)
		abort();
	snprintf(text, sizeof(text), "%d", ends[1]);
	setenv("CRASHING_SAYS", text, 1);
	thread = thread_with(WAITS);
	while (read(ends[0], &byte, 1) != 1)
		;
	return thread;
}

static void jump(int number)
{
	siglongjmp(back, number);
}

static void leave(int number)
{
	(void)number;
	_exit(9);
}

static void chain(int number, siginfo_t *info, void *context)
{
	if (write(1, "theirs\n", 7) < 0)
		_exit(8);
	if (earlier.sa_flags & SA_SIGINFO)
		earlier.sa_sigaction(number, info, context);
	else
		signal(number, SIG_DFL);
}

static void handle(void (*handler)(int))
{
	static const int numbers[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
	struct sigaction action = {.sa_handler = handler, .sa_flags = SA_NODEFER};

	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		sigaction(numbers[i], &action, &earlier);
}

/* Wants more than the stack that the program has for handlers of another kind. */
static void go_deep(int number)
{
	volatile char room[48 << 10];

	memset((char *)room, number, sizeof(room));
	if (write(1, "deep\n", 5) < 0)
		_exit(8);
	_exit(9);
}

static void handle_deep(void)
{
	const size_t guard = 1 << 16, bytes = 8 << 10;
	char *map =
		mmap(NULL, guard + bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	const stack_t small = {.ss_sp = map + guard, .ss_size = bytes};

	if (mprotect(map + guard, bytes, PROT_READ | PROT_WRITE) < 0 ||
		sigaltstack(&small, NULL) < 0)
		exit(73);
	handle(go_deep);
}

/* As the kernel tells of memory that went bad elsewhere: no fault that comes again. */
static void tell_of_bad_memory(void)
{
	siginfo_t info = {.si_signo = SIGBUS, .si_code = BUS_MCEERR_AO};

	syscall(SYS_rt_tgsigqueueinfo, getpid(), gettid(), SIGBUS, &info);
}

static int call_nested(const struct kp_call *outer)
{
	return call(site, *(float *)outer->tensors[0]->data);
}

static const struct kp_kernel nest = {KP_SIZED(struct kp_kernel), .run = call_nested};

static struct kp_site *make_site(unsigned flags, const char *label, const char *with)
{
	struct kp_error error = {KP_SIZED(struct kp_error)};
	struct kp_site *made;

	if (kp_site_new(kplug,
		    &(struct kp_site_options){KP_SIZED(struct kp_site_options),
			    .flags = flags, .operation = "elementwise/square",
			    .label = label, .override_with = with},
		    &made, &error) == KP_OK)
		return made;
	fprintf(stderr, "%s\n", error.text);
	exit(70);
}

static void open_it(const char *socket, unsigned flags)
{
	struct kp_error error = {KP_SIZED(struct kp_error)};
	const struct kp_options options = {KP_SIZED(struct kp_options), .flags = flags,
		.socket = socket, .name = "crasher", .threads = 4};

	if (kp_open(&options, &kplug, &error) != KP_OK) {
		fprintf(stderr, "%s\n", error.text);
		exit(71);
	}
}

/* What is made besides calls. */
static void make_plan(void)
{
	struct kp_call made;
	struct kp_plan *plan = NULL;
	float x[N] = {1}, y[N] = {0};
	struct kp_tensor tensors[] = {tensor_of(x), tensor_of(y)};
	const struct kp_tensor *const both[] = {&tensors[0], &tensors[1]};

	kp_call_init(site, &made);
	made.tensors = both;
	made.n_tensors = 2;
	printf("plan %d\n", kp_plan_new(site, &made, &plan, NULL));
}

static void make_weight(void)
{
	struct kp_weight *weight = NULL;
	float x[N] = {1};
	struct kp_tensor tensor = tensor_of(x);

	printf("weight %d\n", kp_weight_new(site, "x", &tensor, &weight, NULL));
}

static void harm_outside(void)
{
	*(volatile int *)16 = 1;
}

/* Calls with this until the kernel that does harm answers. */
static void call_until(float what)
{
	float got = 0;

	while (call_for(site, what, &got) != KP_OK || got != 100 + what)
		usleep(1000);
	printf("%g\n", (double)got);
}

/* Calls with this as long as it does. */
static void call_while(float what)
{
	float got = 100 + what;

	printf("calling\n");
	fflush(stdout);
	while (call_for(site, what, &got) == KP_OK && got == 100 + what)
		usleep(1000);
	printf("%g\n", (double)got);
}

/* How many of the calls of three seconds fail. */
static void count_failures(float what)
{
	struct timespec start, now;
	int failures = 0;
	float got;

	clock_gettime(CLOCK_MONOTONIC, &start);
	do {
		failures += call_for(site, what, &got) != KP_OK;
		clock_gettime(CLOCK_MONOTONIC, &now);
	} while (now.tv_sec - start.tv_sec < 3);
	printf("%d failures\n", failures);
}

static void show_why(void)
{
	char *why = kp_site_why(site, NULL, NULL);

	printf("%s\n",
		strstr(why ? why : "", "circuit_open") ? "circuit_open" : "closed");
	kp_free(why);
}

static void step(const char *name)
{
	if (strcmp(name, "until") == 0)
		call_until((float)atof(argument));
	else if (strcmp(name, "while") == 0)
		call_while((float)atof(argument));
	else if (strcmp(name, "count") == 0)
		count_failures((float)atof(argument));
	else if (strcmp(name, "why") == 0)
		show_why();
	else if (strcmp(name, "bad memory") == 0)
		tell_of_bad_memory();
	else if (strcmp(name, "plan") == 0)
		make_plan();
	else if (strcmp(name, "weight") == 0)
		make_weight();
	else if (strcmp(name, "warm") == 0)
		printf("warm %d\n", kp_warm(&site, 1, NULL, NULL));
	else if (strcmp(name, "outside") == 0)
		harm_outside();
	else if (strcmp(name, "abort") == 0)
		abort();
	else if (strcmp(name, "wait") == 0)
		waiting_thread();
	else if (strcmp(name, "send") == 0)
		pthread_kill(waiting_thread(), atoi(argument)), pause();
	else if (strcmp(name, "thread") == 0)
		pthread_join(thread_with((float)atof(argument)), NULL);
	else if (strcmp(name, "recover") == 0) {
		if (!getenv("CRASHER_JUMPS"))
			handle(jump);
		if (sigsetjmp(back, 1) == 0)
			call(site, (float)atof(argument));
		if (!getenv("CRASHER_JUMPS"))
			handle(SIG_DFL);
	} else if (strcmp(name, "leave") == 0)
		handle(leave);
	else if (strcmp(name, "default") == 0)
		handle(SIG_DFL);
	else if (strcmp(name, "chain") == 0) {
		struct sigaction action = {.sa_sigaction = chain, .sa_flags = SA_SIGINFO};
		sigaction(SIGSEGV, &action, &earlier);
	} else if (strcmp(name, "nest") == 0)
		call(nested, (float)atof(argument));
	else if (strcmp(name, "ready") == 0) {
		printf("ready\n");
		fflush(stdout);
		pause();
	} else if (strcmp(name, "exit") == 0)
		exit(atoi(argument));
	else if (strcmp(name, "close") == 0)
		kp_close(kplug);
}

int main(int argc, char **argv)
{
	unsigned flags =
		getenv("CRASHER_FLAGS") ? (unsigned)atoi(getenv("CRASHER_FLAGS")) : 0;

	if (getenv("CRASHER_JUMPS"))
		handle(jump);
	if (getenv("CRASHER_DEEP"))
		handle_deep();
	open_it(argv[1], flags);
	site = make_site(KP_SITE_CHECKED, "ffn.up", NULL);
	checking =
		make_site(0, "a label that is longer than a slot has room for it", NULL);
	if (kp_local_add(kplug,
		    "{\"name\": \"nest\", \"operation\": \"elementwise/square\","
		    " \"priority\": 1, \"signatures\": [\"x=f32,y=f32\"],"
		    " \"flags\": [\"reentrant\"]}",
		    &nest, NULL) != KP_OK)
		return 72;
	nested = make_site(KP_SITE_CHECKED, "outer", "local/nest");
	for (int i = 2; i < argc; i++) {
		argument = i + 1 < argc ? argv[i + 1] : "";
		if (strcmp(argv[i], "call") == 0)
			call(site, (float)atof(argument));
		else if (strcmp(argv[i], "whole") == 0)
			call(checking, (float)atof(argument));
		else
			step(argv[i]);
	}
	kp_close(kplug);
	return 0;
}
