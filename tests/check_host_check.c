/* SPDX-License-Identifier: MIT */
/* What a site works out in advance says of every call what the slow check says. */
#include "lib/family/argument.h"
#include "lib/host/check.h"
#include "tests/support/suite.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/file.h"
#include "lib/family/element.h"

enum { TRIES = 20000, MEMORY = 1 << 16 };

static const struct kp_device cpu = {KP_SIZED(struct kp_device), .type = KP_DEVICE_CPU};

struct call {
	struct kp_family family;
	struct kp_signature signature;
	struct kp_check check;
	struct kp_tensor tensors[KP_FAMILY_ROLES];
	const struct kp_tensor *list[KP_FAMILY_ROLES];
	int64_t shapes[KP_FAMILY_ROLES][KP_FAMILY_RANK + 1];
	int64_t strides[KP_FAMILY_ROLES][KP_FAMILY_RANK + 1];
	uint32_t count;
	char *memory;
};

static uint64_t state;

static uint32_t draw(uint32_t below)
{
	state ^= state >> 12;
	state ^= state << 25;
	state ^= state >> 27;
	return (uint32_t)((state * UINT64_C(0x2545f4914f6cdd1d) >> 32) * below >> 32);
}

static void read_family(struct call *call, const char *name)
{
	char path[512], *text;
	size_t size;
	struct kp_diag diag;
	const char *build = getenv("KPLUG_BUILD");

	snprintf(
		path, sizeof(path), "%s/families/%s.json", build ? build : "build", name);
	ck_assert_int_eq(kp_file_read(-100, path, 1 << 20, &text, &size, &diag), 0);
	ck_assert_int_eq(kp_family_parse(text, size, path, &call->family, &diag), 0);
	free(text);
	ck_assert_int_eq(
		kp_signature_parse(call->family.signature, &call->signature, &diag), 0);
	kp_check_init(&call->check, &call->family, &call->signature, &cpu);
	call->memory = calloc(1, MEMORY);
	ck_assert_ptr_nonnull(call->memory);
}

static int64_t extent_of(
	const struct call *call, const struct kp_factor *factor, const int64_t *dims)
{
	for (size_t i = 0; factor->name && i < call->family.dims.count; i++)
		if (strcmp(call->family.dims.items[i], factor->name) == 0)
			return dims[i];
	return (int64_t)factor->number;
}

/* A call as it should be: each tensor in a part of the memory of its own. */
static void make_right(struct call *call)
{
	int64_t dims[KP_FAMILY_DIMS];
	size_t at = 0;

	for (size_t i = 0; i < call->family.dims.count; i++)
		dims[i] = draw(5);
	call->count = (uint32_t)call->family.n_roles;
	for (size_t r = 0; r < call->family.n_roles; r++) {
		const struct kp_role *role = &call->family.roles[r];
		struct kp_format format;
		int64_t step = 1;
		bool has = kp_family_format(role, &call->signature, &format);
		for (size_t d = role->rank; d-- > 0;) {
			call->shapes[r][d] = extent_of(call, &role->dims[d], dims);
			call->strides[r][d] = step;
			step *= call->shapes[r][d] > 0 ? call->shapes[r][d] : 1;
		}
		call->tensors[r] = (struct kp_tensor){.data = call->memory + at,
			.device = {KP_DEVICE_CPU, 0},
			.ndim = (int32_t)role->rank,
			.dtype = kp_element_dtype(has ? format.element : KP_F32),
			.shape = call->shapes[r],
			.strides = call->strides[r]};
		at += (size_t)step * 8 + 64;
		ck_assert_uint_lt(at, MEMORY);
		call->list[r] = has ? &call->tensors[r] : NULL;
	}
}

/* Something is wrong, or looks as if it were. */
static void spoil(struct call *call)
{
	size_t r = draw((uint32_t)call->family.n_roles);
	size_t other = draw((uint32_t)call->family.n_roles);
	struct kp_tensor *tensor = &call->tensors[r];
	size_t d = tensor->ndim > 0 ? draw((uint32_t)tensor->ndim) : 0;

	switch (draw(16)) {
	case 0:
		call->list[r] = NULL;
		break;
	case 1:
		call->list[r] = tensor;
		break;
	case 2:
		call->count = draw(call->count + 2);
		break;
	case 3:
		call->shapes[r][d] += (int64_t)draw(3) - 1;
		break;
	case 4:
		call->strides[r][d] = 0;
		break;
	case 5:
		call->strides[r][d] = -call->strides[r][d];
		break;
	case 6:
		call->strides[r][d] = (int64_t)draw(40) - 20;
		break;
	case 7:
		tensor->data = call->tensors[other].data;
		break;
	case 8:
		tensor->data = NULL;
		break;
	case 9:
		tensor->dtype = kp_element_dtype((enum kp_element)draw(KP_ELEMENTS));
		break;
	case 10:
		tensor->ndim += (int32_t)draw(3) - 1;
		break;
	case 11:
		tensor->byte_offset = draw(2) * 4;
		break;
	case 12:
		tensor->shape = NULL;
		break;
	case 13:
		tensor->strides = NULL;
		break;
	case 14:
		call->strides[r][d] = INT64_MAX / 2;
		break;
	default:
		tensor->dtype.lanes = (uint16_t)draw(3);
		break;
	}
}

static void agree(const struct call *call)
{
	int64_t dims[KP_FAMILY_DIMS];
	struct kp_diag fast = {.code = "ok"}, slow = {.code = "ok"};
	struct kp_shape shape = {0};
	int ours = kp_check_tensors(&call->check, call->list, call->count, dims, &fast);
	int theirs = kp_arguments_check(
		&call->family, &call->signature, call->list, call->count, &shape, &slow);

	ck_assert_msg(ours == theirs, "%s against %s: %s", fast.code, slow.code,
		theirs ? slow.message : fast.message);
	if (ours < 0) {
		ck_assert_str_eq(fast.code, slow.code);
		ck_assert_str_eq(fast.message, slow.message);
		return;
	}
	for (size_t i = 0; i < call->family.dims.count; i++)
		ck_assert_int_eq(
			dims[i], kp_shape_get(&shape, call->family.dims.items[i]));
}

static void agree_for(const char *name)
{
	struct call *call = calloc(1, sizeof(*call));
	int right = 0;

	ck_assert_ptr_nonnull(call);
	state = 88172645463325252U;
	read_family(call, name);
	for (int i = 0; i < TRIES; i++) {
		uint32_t faults = draw(3);
		make_right(call);
		for (uint32_t f = 0; f < faults; f++)
			spoil(call);
		agree(call);
		right += faults == 0;
	}
	ck_assert_int_gt(right, TRIES / 10);
	kp_family_finish(&call->family);
	free(call->memory);
	free(call);
}

START_TEST(calls_of_products_are_judged_alike)
{
	agree_for("gemm.mm");
}
END_TEST

START_TEST(calls_with_optional_and_aliased_roles_are_judged_alike)
{
	agree_for("norm.rms");
}
END_TEST

START_TEST(calls_of_many_ranks_and_dtypes_are_judged_alike)
{
	agree_for("attention.decode");
}
END_TEST

START_TEST(a_tensor_of_another_device_is_refused)
{
	struct call *call = calloc(1, sizeof(*call));
	int64_t dims[KP_FAMILY_DIMS];
	struct kp_diag diag;

	ck_assert_ptr_nonnull(call);
	state = 1;
	read_family(call, "gemm.mm");
	make_right(call);
	call->tensors[1].device = (struct kp_place){KP_DEVICE_CUDA, 0};
	ck_assert_int_lt(
		kp_check_tensors(&call->check, call->list, call->count, dims, &diag), 0);
	ck_assert_str_eq(diag.code, "wrong_device");
	ck_assert_str_eq(diag.object, "b");
	kp_family_finish(&call->family);
	free(call->memory);
	free(call);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("host_check");
	TCase *tcase = tcase_create("check");
	tcase_add_test(tcase, calls_of_products_are_judged_alike);
	tcase_add_test(tcase, calls_with_optional_and_aliased_roles_are_judged_alike);
	tcase_add_test(tcase, calls_of_many_ranks_and_dtypes_are_judged_alike);
	tcase_add_test(tcase, a_tensor_of_another_device_is_refused);
	suite_add_tcase(suite, tcase);
	return suite_run(suite);
}
