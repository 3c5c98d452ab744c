/* SPDX-License-Identifier: MIT */
/* Results, written, mapped and compared. */
#include "daemon/worker/measure_result.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "lib/base/file.h"
#include "lib/base/owned.h"
#include "lib/family/element.h"

static int write_failed(struct kp_diag *diag)
{
	return kp_diag_set(diag, "write_failed", NULL,
		"cannot hand over the reference's results: %s", strerror(errno));
}

int measure_result_write(const struct measure_case *c, int fd, struct kp_diag *diag)
{
	for (size_t i = 0; i < c->family.n_roles; i++)
		if (measure_case_is_output(c, i) &&
			kp_file_write(fd, c->memory[i].data, c->plain[i].bytes) < 0)
			return write_failed(diag);
	return 0;
}

static size_t bytes_of_results(const struct measure_case *c)
{
	size_t bytes = 0;

	for (size_t i = 0; i < c->family.n_roles; i++)
		if (measure_case_is_output(c, i))
			bytes += c->plain[i].bytes;
	return bytes;
}

int measure_result_map(struct measure_case *c, int fd, size_t count, struct kp_diag *diag)
{
	static const unsigned char nothing[1];
	struct stat st;
	size_t bytes;

	c->results_size = bytes_of_results(c);
	if (__builtin_mul_overflow(c->results_size, count, &bytes) ||
		fstat(fd, &st) < 0 || st.st_size != (off_t)bytes)
		return kp_diag_set(diag, "bad_job", NULL,
			"the reference's results are not as long as those of this call");
	c->results = c->expected = nothing;
	if (bytes == 0)
		return 0;
	void *map = mmap(NULL, bytes, PROT_READ, MAP_SHARED, fd, 0);
	if (map == MAP_FAILED)
		return kp_diag_set(diag, "no_memory", NULL,
			"cannot map the reference's results: %s", strerror(errno));
	c->results = c->expected = map;
	return 0;
}

void measure_result_expect(struct measure_case *c, size_t index)
{
	if (c->results)
		c->expected = c->results + index * c->results_size;
}

static int compare(struct measure_case *c, size_t i, const unsigned char *expected,
	struct kp_diag *diag)
{
	struct kp_layout layout = c->plain[i];
	struct kp_tensor reference = kp_layout_tensor(&layout, (void *)expected);
	struct kp_comparison result;
	double tolerance = kp_compare_tolerance(&c->family, c->memory[i].dtype);
	char text[256];

	if (kp_compare(c->family.check, &c->memory[i], &reference, tolerance, &result,
		    diag) < 0)
		return -1;
	if (!c->compared || result.error > c->error) {
		c->compared = true;
		c->error = result.error;
		c->tolerance = result.tolerance;
	}
	if (result.right)
		return 0;
	return kp_diag_set(diag, "wrong", c->family.roles[i].name, "%s: %s",
		c->family.roles[i].name,
		kp_comparison_print(&result, text, sizeof(text)));
}

static bool is_poison(enum kp_element element, const char *at)
{
	if (kp_element_is_real(element))
		return isnan(kp_element_load(element, at));
	for (size_t i = 0; i < kp_element_bytes(element); i++)
		if ((unsigned char)at[i] != 0xff)
			return false;
	return true;
}

static int look_for_poison(const struct measure_case *c, size_t i, struct kp_diag *diag)
{
	const char *name = c->family.roles[i].name;
	struct kp_walk walk = kp_walk_start(&c->memory[i]);
	bool any = false;

	while (kp_walk_next(&walk)) {
		if (!is_poison(c->layouts[i].element, walk.at))
			return 0;
		any = true;
	}
	return any ? kp_diag_set(diag, "wrong", name, "%s: nothing was written", name)
		   : 0;
}

/* Elements are made what the bytes between them are: what then differs was written. */
static int check_gaps(const struct measure_case *c, size_t i, struct kp_diag *diag)
{
	const char *name = c->family.roles[i].name;
	const unsigned char *data = c->memory[i].data;
	struct kp_walk walk = kp_walk_start(&c->memory[i]);

	if (!measure_case_has_gaps(c, i))
		return 0;
	while (kp_walk_next(&walk))
		memset(walk.at, MEASURE_GAP, walk.bytes);
	for (size_t at = 0; at < c->layouts[i].bytes; at++)
		if (data[at] != MEASURE_GAP)
			return kp_diag_set(diag, "out_of_bounds", name,
				"wrote between the elements of %s (at byte %zu)", name,
				at);
	return 0;
}

int measure_result_check(struct measure_case *c, struct kp_diag *diag)
{
	const unsigned char *expected = c->expected;

	if (fences_check(&c->fences, diag) < 0 || measure_case_pull(c, diag) < 0)
		return -1;
	for (size_t i = 0; i < c->family.n_roles; i++) {
		if (!measure_case_is_output(c, i))
			continue;
		int failed = expected ? compare(c, i, expected, diag)
				      : look_for_poison(c, i, diag);
		if (failed || check_gaps(c, i, diag) < 0)
			return -1;
		if (expected)
			expected += c->plain[i].bytes;
	}
	return 0;
}

const char *measure_verdict(const struct kp_diag *diag)
{
	static const char *const verdicts[] = {
		"wrong", "out_of_bounds", "unavailable", "unsupported"};

	for (size_t i = 0; i < KP_COUNT(verdicts); i++)
		if (strcmp(diag->code, verdicts[i]) == 0)
			return verdicts[i];
	return "error";
}

json_t *measure_number(double value, bool known)
{
	return known && isfinite(value) ? json_real(value) : json_null();
}
