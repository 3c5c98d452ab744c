/* SPDX-License-Identifier: MIT */
/*
 * A plugin-worker that comes to grief over libraries by their names, as one would whose
 * parser had a hole: linked with --wrap=elf_image_open.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/worker/elf_image.h"

int __real_elf_image_open(
	int fd, const char *name, struct elf_image *image, struct kp_diag *diag);
int __wrap_elf_image_open(
	int fd, const char *name, struct elf_image *image, struct kp_diag *diag);

static void segv(void)
{
	(void)raise(SIGSEGV);
}

static void abandon(void)
{
	_exit(3);
}

static void leave_well(void)
{
	_exit(0);
}

static void hang(void)
{
	for (;;)
		(void)pause();
}

static void attack(void)
{
	(void)kill(getppid(), SIGKILL);
}

/* The report is one of these. */
static void write_everywhere(const char *text, size_t size)
{
	for (int fd = 3; fd < 1024; fd++)
		if (fcntl(fd, F_GETFD) >= 0)
			(void)!write(fd, text, size);
}

static void garble(void)
{
	write_everywhere("what nobody agreed on\n", 22);
}

static void end_early(void)
{
	write_everywhere("{\"end\":true}\n", 13);
}

static void say_nothing_sensible(void)
{
	write_everywhere("\0\xff\xfe{[\n", 6);
}

static void print(void)
{
	(void)fputs("about to look at it\n", stderr);
}

static void ask_for_a_process(void)
{
	(void)fork();
}

static const struct {
	const char *part;
	void (*act)(void);
} griefs[] = {
	{"-segv", segv},
	{"-exit", abandon},
	{"-leave", leave_well},
	{"-hang", hang},
	{"-attack", attack},
	{"-garble", garble},
	{"-early", end_early},
	{"-noise", say_nothing_sensible},
	{"-print", print},
	{"-fork", ask_for_a_process},
};

int __wrap_elf_image_open(
	int fd, const char *name, struct elf_image *image, struct kp_diag *diag)
{
	for (size_t i = 0; i < sizeof(griefs) / sizeof(griefs[0]); i++)
		if (strstr(name, griefs[i].part))
			griefs[i].act();
	return __real_elf_image_open(fd, name, image, diag);
}
