/* SPDX-License-Identifier: MIT */
/* A family: one that is taken answers every question about shapes and signatures. */
#include "tests/fuzz/target.h"

#include <stdlib.h>

#include "lib/family/family.h"

static void measure(const struct kp_family *family, const struct kp_shape *shape)
{
	double value;

	for (size_t i = 0; i < family->dims.count; i++)
		(void)kp_family_value(family, shape, family->dims.items[i], &value);
	for (size_t i = 0; i < family->n_derived; i++)
		(void)kp_family_value(family, shape, family->derived[i].name, &value);
	for (size_t i = 0; i < family->n_roles; i++)
		(void)kp_family_touched(family, shape, &family->roles[i]);
	(void)kp_family_work(family, shape, &family->flops);
}

/* Its own shapes were looked at when it was read. */
static void take_shapes(const struct kp_family *family, const json_t *list)
{
	const json_t *item;
	size_t i;

	json_array_foreach ((json_t *)(uintptr_t)list, i, item) {
		struct kp_shape shape;
		struct kp_diag diag;
		if (kp_shape_from_json(item, family, &shape, &diag) < 0)
			target_is_refused(&diag);
		else
			measure(family, &shape);
	}
}

static void look(const struct kp_family *family)
{
	struct kp_signature signature;
	struct kp_diag diag;

	target_claim(family->n_roles <= KP_FAMILY_ROLES);
	target_claim(family->dims.count <= KP_FAMILY_DIMS);
	for (size_t i = 0; i < family->n_roles; i++)
		target_claim(kp_family_role(family, family->roles[i].name) ==
			     &family->roles[i]);
	take_shapes(family, json_object_get(family->shapes, "default"));
	take_shapes(family, json_object_get(family->shapes, "edge"));
	if (!family->signature)
		return;
	target_claim(kp_signature_parse(family->signature, &signature, &diag) == 0);
	target_claim(kp_family_check_signature(family, &signature, &diag) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	char *text = target_copy(bytes, size);
	struct kp_family family;
	struct kp_diag diag;

	if (kp_family_parse(text, size, "some.json", &family, &diag) < 0) {
		target_is_refused(&diag);
	} else {
		look(&family);
		kp_family_finish(&family);
	}
	free(text);
	return 0;
}
