/* SPDX-License-Identifier: MIT */
/* Tensors of a call, filled, poisoned and compared. */
#include "daemon/worker/measure_case.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/file.h"
#include "lib/element.h"
#include "lib/fill.h"

/* ---- reading the job ------------------------------------------------------------- */

static int read_family(struct measure_case *c, const json_t *job, struct kp_diag *diag)
{
	char *text = json_dumps(json_object_get(job, "family"), JSON_COMPACT);

	if (!text)
		return kp_diag_set(diag, "bad_job", NULL, "the job has no family");
	int failed = kp_family_parse(text, strlen(text), "family", &c->family, diag);
	free(text);
	return failed;
}

static const json_t *asked_attribute(const json_t *job, const char *name)
{
	return json_object_get(json_object_get(job, "attributes"), name);
}

static int read_attributes(
	struct measure_case *c, const json_t *job, struct kp_diag *diag)
{
	if (c->family.n_attributes > MEASURE_ATTRIBUTES)
		return kp_diag_set(diag, "too_large", NULL,
			"the family has %zu attributes", c->family.n_attributes);
	for (size_t i = 0; i < c->family.n_attributes; i++) {
		const struct kp_attribute *attribute = &c->family.attributes[i];
		const json_t *asked = asked_attribute(job, attribute->name);
		double value = json_is_number(asked)  ? json_number_value(asked)
			       : json_is_true(asked)  ? 1
			       : json_is_false(asked) ? 0
						      : attribute->preset;
		if (attribute->type == KP_ATTRIBUTE_FLOAT)
			c->attributes[i].f = value;
		else
			c->attributes[i].i = (int64_t)value;
	}
	return 0;
}

static int read_job(struct measure_case *c, const json_t *job, struct kp_diag *diag)
{
	const char *signature = json_string_value(json_object_get(job, "signature"));

	c->seed = (uint64_t)json_integer_value(json_object_get(job, "seed"));
	if (read_family(c, job, diag) < 0 || read_attributes(c, job, diag) < 0)
		return -1;
	if (!signature)
		return kp_diag_set(diag, "bad_job", NULL, "the job has no signature");
	if (kp_signature_parse(signature, &c->signature, diag) < 0 ||
		kp_family_check_signature(&c->family, &c->signature, diag) < 0)
		return -1;
	return kp_shape_from_json(
		json_object_get(job, "shape"), &c->family, &c->shape, diag);
}

/* ---- tensors ----------------------------------------------------------------------- */

static bool is_output(const struct kp_role *role)
{
	return role->direction != KP_IN;
}

static int lay_out(struct measure_case *c, size_t i, struct kp_diag *diag)
{
	const struct kp_role *role = &c->family.roles[i];
	struct kp_format format;

	if (role->repeat)
		return kp_diag_set(diag, "unsupported_role", role->name,
			"%s repeats: such calls cannot be measured", role->name);
	if (!kp_family_format(role, &c->signature, &format))
		return 0;
	if (kp_layout_of_role(role, &c->shape, &format, &c->layouts[i], diag) < 0)
		return -1;
	c->tensors[i] = &c->memory[i];
	c->drifts |= role->direction == KP_INOUT;
	return 0;
}

static int check_memory(const struct measure_case *c, struct kp_diag *diag)
{
	const long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
	size_t most = pages > 0 ? (size_t)pages / 2 * (size_t)page : SIZE_MAX;
	size_t total = 0;

	for (size_t i = 0; i < c->family.n_roles; i++)
		if (__builtin_add_overflow(total, c->layouts[i].bytes, &total) ||
			total > most)
			return kp_diag_set(diag, "too_large", c->family.roles[i].name,
				"the tensors need more than half of this machine's "
				"memory (%zu MiB)",
				most >> 20);
	return 0;
}

static int fill(struct measure_case *c, size_t i, struct kp_diag *diag)
{
	return kp_fill(
		&c->family, &c->family.roles[i], &c->shape, c->seed, &c->memory[i], diag);
}

/* Kernels may rely on the alignment of an element, and on no more. */
static int map_tensor(struct measure_case *c, size_t i, struct kp_diag *diag)
{
	const struct kp_role *role = &c->family.roles[i];
	struct kp_layout *layout = &c->layouts[i];
	struct fence *fence = fence_add(&c->fences, role->name, layout->bytes,
		kp_element_bytes(layout->element), diag);

	if (!fence)
		return -1;
	c->memory[i] = kp_layout_tensor(layout, fence->data);
	if (role->direction != KP_OUT && fill(c, i, diag) < 0)
		return -1;
	if (!is_output(role))
		fence_close(fence);
	return 0;
}

int measure_case_init(struct measure_case *c, const json_t *job, struct kp_diag *diag)
{
	if (read_job(c, job, diag) < 0)
		return -1;
	for (size_t i = 0; i < c->family.n_roles; i++)
		if (lay_out(c, i, diag) < 0)
			return -1;
	if (check_memory(c, diag) < 0)
		return -1;
	for (size_t i = 0; i < c->family.n_roles; i++)
		if (c->tensors[i] && map_tensor(c, i, diag) < 0)
			return -1;
	return measure_case_poison(c, diag);
}

int measure_case_poison(struct measure_case *c, struct kp_diag *diag)
{
	for (size_t i = 0; i < c->family.n_roles; i++) {
		const struct kp_role *role = &c->family.roles[i];
		int failed = 0;
		if (!c->tensors[i])
			continue;
		if (role->direction == KP_OUT)
			failed = kp_fill_poison(&c->memory[i], diag);
		else if (role->direction == KP_INOUT)
			failed = fill(c, i, diag);
		if (failed)
			return -1;
	}
	return 0;
}

/* ---- results ----------------------------------------------------------------------- */

static int write_failed(struct kp_diag *diag)
{
	return kp_diag_set(diag, "write_failed", NULL,
		"cannot hand over the reference's results: %s", strerror(errno));
}

int measure_case_write_expected(
	const struct measure_case *c, int fd, struct kp_diag *diag)
{
	for (size_t i = 0; i < c->family.n_roles; i++)
		if (c->tensors[i] && is_output(&c->family.roles[i]) &&
			kp_file_write(fd, c->memory[i].data, c->layouts[i].bytes) < 0)
			return write_failed(diag);
	return 0;
}

static size_t bytes_of_results(const struct measure_case *c)
{
	size_t bytes = 0;

	for (size_t i = 0; i < c->family.n_roles; i++)
		if (c->tensors[i] && is_output(&c->family.roles[i]))
			bytes += c->layouts[i].bytes;
	return bytes;
}

int measure_case_map_expected(struct measure_case *c, int fd, struct kp_diag *diag)
{
	static const unsigned char nothing[1];
	struct stat st;
	size_t bytes = bytes_of_results(c);

	if (fstat(fd, &st) < 0 || st.st_size != (off_t)bytes)
		return kp_diag_set(diag, "bad_job", NULL,
			"the reference's results are not as long as those of this call");
	c->expected = nothing;
	if (bytes == 0)
		return 0;
	void *map = mmap(NULL, bytes, PROT_READ, MAP_SHARED, fd, 0);
	if (map == MAP_FAILED)
		return kp_diag_set(diag, "no_memory", NULL,
			"cannot map the reference's results: %s", strerror(errno));
	c->expected = map;
	c->expected_size = bytes;
	return 0;
}

static int compare(struct measure_case *c, size_t i, const unsigned char *expected,
	struct kp_diag *diag)
{
	struct kp_layout layout = c->layouts[i];
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

int measure_case_check(struct measure_case *c, struct kp_diag *diag)
{
	const unsigned char *expected = c->expected;

	if (fences_check(&c->fences, diag) < 0)
		return -1;
	for (size_t i = 0; i < c->family.n_roles; i++) {
		if (!c->tensors[i] || !is_output(&c->family.roles[i]))
			continue;
		int failed = expected ? compare(c, i, expected, diag)
				      : look_for_poison(c, i, diag);
		if (failed)
			return -1;
		if (expected)
			expected += c->layouts[i].bytes;
	}
	return 0;
}
