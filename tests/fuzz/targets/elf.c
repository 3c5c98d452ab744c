/* SPDX-License-Identifier: MIT */
/* A library as `identify` sees it: the worker's own job over a file in memory. */
#include "tests/fuzz/target.h"

#include <fcntl.h>
#include <unistd.h>

#include "daemon/worker/report.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct report report = {.fd = open("/dev/null", O_WRONLY | O_CLOEXEC)};
	int library = target_memory(bytes, size);
	json_t *job = json_pack("{s:s, s:s, s:b}", "kind", "identify", "file",
		"/nowhere/some.so", "part", 0);

	target_claim(report.fd >= 0 && job != NULL);
	target_claim(job_identify.run(&report, job, &library, 1) == 0);
	json_decref(job);
	(void)close(library);
	(void)close(report.fd);
	return 0;
}
