/* SPDX-License-Identifier: MIT */
/* Tensors of a call, laid out, filled and poisoned. */
#include "daemon/worker/measure_case.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/worker/measure_layout.h"
#include "lib/family/element.h"
#include "lib/base/json.h"
#include "lib/family/fill.h"

/* ---- reading the job ------------------------------------------------------------- */

static int read_family(struct measure_case *c, const json_t *job, struct kp_diag *diag)
{
	char *text = kp_json_dumps(json_object_get(job, "family"), JSON_COMPACT);

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

enum { BOUNDARY = 64 }; /* bytes: one element behind it is as misaligned as can be */

bool measure_case_is_output(const struct measure_case *c, size_t role)
{
	return c->tensors[role] && c->family.roles[role].direction != KP_IN;
}

static size_t element_bytes(const struct measure_case *c, size_t i)
{
	return kp_element_bytes(c->plain[i].element);
}

bool measure_case_has_gaps(const struct measure_case *c, size_t role)
{
	const struct kp_layout *layout = &c->layouts[role];

	return layout->bytes > layout->elements * element_bytes(c, role);
}

static int read_role(struct measure_case *c, size_t i, struct kp_diag *diag)
{
	const struct kp_role *role = &c->family.roles[i];
	struct kp_format format;

	if (role->repeat)
		return kp_diag_set(diag, "unsupported_role", role->name,
			"%s repeats: such calls cannot be measured", role->name);
	if (!kp_family_format(role, &c->signature, &format))
		return 0;
	if (kp_layout_of_role(role, &c->shape, &format, &c->plain[i], diag) < 0)
		return -1;
	c->tensors[i] = &c->passed[i];
	return 0;
}

/* Half of this machine's: the rest is for those who live here. */
static size_t memory_most(void)
{
	const long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);

	return pages > 0 ? (size_t)pages / 2 * (size_t)page : SIZE_MAX;
}

int measure_case_check_room(const struct measure_case *c, const char *name, size_t bytes,
	struct kp_diag *diag)
{
	const size_t most = memory_most();
	size_t total = bytes;

	for (size_t i = 0; i < c->fences.count; i++)
		if (__builtin_add_overflow(total, c->fences.items[i].bytes, &total))
			total = SIZE_MAX;
	if (total <= most)
		return 0;
	return kp_diag_set(diag, "too_large", name,
		"need asks for %zu bytes of %s: with the tensors that is more than half "
		"of "
		"this machine's memory (%zu MiB)",
		bytes, name, most >> 20);
}

static int check_memory(const struct measure_case *c, struct kp_diag *diag)
{
	const size_t most = memory_most();
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

int measure_case_init(struct measure_case *c, const json_t *job, struct device *device,
	struct kp_diag *diag)
{
	c->device = device;
	if (read_job(c, job, diag) < 0)
		return -1;
	for (size_t i = 0; i < c->family.n_roles; i++)
		if (read_role(c, i, diag) < 0)
			return -1;
	memcpy(c->layouts, c->plain, sizeof(c->layouts));
	return check_memory(c, diag);
}

/* A role may be for the host whatever the device. */
static const struct device_kind *kind_of(const struct measure_case *c, size_t i)
{
	return c->family.roles[i].space == KP_SPACE_HOST ? &device_host : c->device->kind;
}

/* Kernels may rely on the alignment of an element, and on no more. */
static int map_tensor(struct measure_case *c, size_t i, const struct kp_placement *layout,
	struct kp_diag *diag)
{
	size_t bytes = element_bytes(c, i), shift = layout->shifted ? bytes : 0;
	size_t align = layout->shifted ? BOUNDARY : bytes;

	c->places[i] = fence_add(&c->fences, c->family.roles[i].name,
		c->layouts[i].bytes + shift, align, diag);
	if (!c->places[i])
		return -1;
	c->memory[i] =
		kp_layout_tensor(&c->layouts[i], (char *)c->places[i]->data + shift);
	c->pieces[i] = (struct device_piece){.name = c->family.roles[i].name,
		.host = c->places[i]->data,
		.bytes = c->places[i]->bytes,
		.align = align};
	if (kind_of(c, i)->place(c->device, &c->pieces[i], diag) < 0)
		return -1;
	c->passed[i] = c->memory[i];
	c->passed[i].data = (char *)c->pieces[i].address + shift;
	if (!kind_of(c, i)->is_host)
		c->passed[i].device = c->device->place;
	return 0;
}

static void drop_pieces(struct measure_case *c)
{
	for (size_t i = 0; i < c->family.n_roles; i++)
		if (c->pieces[i].address)
			kind_of(c, i)->drop(c->device, &c->pieces[i]);
	while (c->n_more > 0)
		c->device->kind->drop(c->device, &c->more[--c->n_more]);
}

struct device_piece *measure_case_add(struct measure_case *c, const char *name,
	size_t bytes, size_t align, struct kp_diag *diag)
{
	struct device_piece *piece = &c->more[c->n_more];

	if (c->n_more == MEASURE_PIECES) {
		kp_diag_set(diag, "error", name, "more than %d pieces of memory",
			MEASURE_PIECES);
		return NULL;
	}
	struct fence *fence = fence_add(&c->fences, name, bytes, align, diag);
	if (!fence)
		return NULL;
	*piece = (struct device_piece){
		.name = fence->name, .host = fence->data, .bytes = bytes, .align = align};
	if (c->device->kind->place(c->device, piece, diag) < 0)
		return NULL;
	c->n_more++;
	return piece;
}

int measure_case_map(
	struct measure_case *c, const struct kp_placement *layout, struct kp_diag *diag)
{
	drop_pieces(c);
	fences_clear(&c->fences);
	c->drifts = false;
	for (size_t i = 0; i < c->family.n_roles; i++)
		if (c->tensors[i] &&
			measure_layout_of(layout, c, i, &c->layouts[i], diag) < 0)
			return -1;
	if (check_memory(c, diag) < 0)
		return -1;
	for (size_t i = 0; i < c->family.n_roles; i++) {
		c->owners[i] = measure_layout_owner(layout, c, i);
		c->drifts |=
			c->owners[i] != i || c->family.roles[i].direction == KP_INOUT;
		if (c->tensors[i] && c->owners[i] == i &&
			map_tensor(c, i, layout, diag) < 0)
			return -1;
	}
	for (size_t i = 0; i < c->family.n_roles; i++)
		if (c->tensors[i] && c->owners[i] != i) {
			c->memory[i] = c->memory[c->owners[i]];
			c->passed[i] = c->passed[c->owners[i]];
		}
	return 0;
}

/* ---- contents ---------------------------------------------------------------------- */

static bool is_shared(const struct measure_case *c, size_t i)
{
	for (size_t j = 0; j < c->family.n_roles; j++)
		if (c->tensors[j] && j != i && c->owners[j] == i)
			return true;
	return false;
}

/* What lies between elements: no number for who reads it, a mark for who writes it. */
static void fill_gaps(struct measure_case *c, size_t i)
{
	if (measure_case_has_gaps(c, i))
		memset(c->memory[i].data,
			measure_case_is_output(c, i) ? MEASURE_GAP : 0xff,
			c->layouts[i].bytes);
}

static int fill(struct measure_case *c, size_t i, struct kp_diag *diag)
{
	fill_gaps(c, i);
	return kp_fill(
		&c->family, &c->family.roles[i], &c->shape, c->seed, &c->memory[i], diag);
}

int measure_case_fill(struct measure_case *c, uint64_t seed, struct kp_diag *diag)
{
	c->seed = seed;
	for (size_t i = 0; i < c->family.n_roles; i++) {
		if (!c->tensors[i] || c->family.roles[i].direction == KP_OUT)
			continue;
		fence_open(c->places[i]);
		if (fill(c, i, diag) < 0)
			return -1;
		if (!measure_case_is_output(c, i) && !is_shared(c, i))
			fence_close(c->places[i]);
		if (kind_of(c, i)->push(c->device, &c->pieces[i], diag) < 0)
			return -1;
	}
	return 0;
}

static int poison(struct measure_case *c, size_t i, struct kp_diag *diag)
{
	bool is_filled = c->family.roles[i].direction == KP_INOUT || is_shared(c, i);

	if (!c->tensors[i] || c->owners[i] != i ||
		(c->family.roles[i].direction == KP_IN && !is_filled))
		return 0;
	if (!is_filled)
		fill_gaps(c, i);
	if ((is_filled ? fill(c, i, diag) : kp_fill_poison(&c->memory[i], diag)) < 0)
		return -1;
	return kind_of(c, i)->push(c->device, &c->pieces[i], diag);
}

int measure_case_poison(struct measure_case *c, struct kp_diag *diag)
{
	for (size_t i = 0; i < c->family.n_roles; i++)
		if (poison(c, i, diag) < 0)
			return -1;
	return 0;
}

int measure_case_pull(struct measure_case *c, struct kp_diag *diag)
{
	for (size_t i = 0; i < c->family.n_roles; i++) {
		const struct device_piece *piece = &c->pieces[i];
		bool is_input = !measure_case_is_output(c, i) && !is_shared(c, i);
		if (!c->tensors[i] || c->owners[i] != i)
			continue;
		if (kind_of(c, i)->check(c->device, piece, is_input, diag) < 0 ||
			(!is_input && kind_of(c, i)->pull(c->device, piece, diag) < 0))
			return -1;
	}
	for (size_t i = 0; i < c->n_more; i++)
		if (c->device->kind->check(c->device, &c->more[i], false, diag) < 0)
			return -1;
	return 0;
}
