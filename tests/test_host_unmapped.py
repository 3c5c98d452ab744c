# SPDX-License-Identifier: MIT
"""libkplug opened by dlopen(3), by a plugin of somebody else's, and closed again."""

import os
import subprocess
import tempfile
import unittest

from harness import BUILD, ROOT, SANITIZER, Daemon, kernel

PROGRAM = r"""
#include <kplug/host.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

static void *library;
static pthread_barrier_t used, closed;

static void *use(void *socket)
{
	int (*open)(const struct kp_options *, struct kp_handle **, struct kp_error *) =
		dlsym(library, "kp_open");
	int (*site_new)(struct kp_handle *, const struct kp_site_options *, struct kp_site **,
		struct kp_error *) = dlsym(library, "kp_site_new");
	int (*run_slow)(struct kp_site *, struct kp_call *) = dlsym(library, "kp_run_slow");
	void (*close)(struct kp_handle *) = dlsym(library, "kp_close");
	const struct kp_options options = {KP_SIZED(struct kp_options), .socket = socket};
	const struct kp_site_options square = {
		KP_SIZED(struct kp_site_options), .operation = "elementwise/square"};
	struct kp_error error = {KP_SIZED(struct kp_error)};
	struct kp_call call = {.error = &error};
	struct kp_handle *handle;
	struct kp_site *site;

	if (open(&options, &handle, &error) != KP_OK ||
		site_new(handle, &square, &site, &error) != KP_OK)
		_exit(3);
	printf("%d\n", run_slow(site, &call));
	close(handle);
	pthread_barrier_wait(&used);
	pthread_barrier_wait(&closed);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t thread;
	pid_t child;

	library = dlopen(argv[1], RTLD_NOW);
	pthread_barrier_init(&used, NULL, 2);
	pthread_barrier_init(&closed, NULL, 2);
	pthread_create(&thread, NULL, use, argv[2]);
	pthread_barrier_wait(&used);
	dlclose(library);
	pthread_barrier_wait(&closed);
	pthread_join(thread, NULL);
	child = fork();
	if (child == 0)
		_exit(0);
	waitpid(child, NULL, 0);
	printf("over\n");
	return 0;
}
"""


@unittest.skipIf(SANITIZER, "a sanitizer needs its own library")
class Unmapped(unittest.TestCase):
    def test_threads_that_used_it_end_in_peace_after_a_dlclose(self):
        with Daemon() as daemon, tempfile.TemporaryDirectory() as place:
            daemon.add("good", [kernel("square", flags=["reentrant"])])
            daemon.call("Reload")
            daemon.settle()
            program = os.path.join(place, "program")
            subprocess.run(
                ["cc", "-x", "c", "-w", f"-I{ROOT}/lib/include", "-", "-o", program, "-lpthread"],
                input=PROGRAM,
                text=True,
                check=True,
            )
            done = subprocess.run(
                [program, os.path.join(BUILD, "libkplug.so"), daemon.socket],
                capture_output=True,
                text=True,
                timeout=120,
                check=False,
            )
            self.assertEqual((done.returncode, done.stdout), (0, "1\nover\n"))


if __name__ == "__main__":
    unittest.main()
