/* SPDX-License-Identifier: MIT */
/*
 * Results of the families that come with kplug, computed here in double by their
 * definitions. Shares no code and no formula with a plugin.
 */
#ifndef TESTS_SUPPORT_ORACLE_H
#define TESTS_SUPPORT_ORACLE_H

#include <stdbool.h>

#include "kplug/plugin.h"

/*
 * The output of an operation for these inputs: its last tensor's elements, in
 * row-major order, in a new array; only the shape of that tensor is looked at. NULL
 * for an operation that is not known here. Ends the test without memory.
 */
double *oracle_compute(const char *operation, const struct kp_tensor *const *tensors,
	uint32_t n_tensors, const union kp_value *attributes);

#endif
