/* SPDX-License-Identifier: MIT */
/*
 * Values of elements of tensors, of every dtype that kplug names: what a CPU has
 * no type for is converted here. Knows no tensor.
 */
#ifndef KP_LIB_ELEMENT_H
#define KP_LIB_ELEMENT_H

#include <stdbool.h>

#include "kplug/plugin.h"
#include "lib/family/format.h"

/* Floating point, as against integers and bool? */
bool kp_element_is_real(enum kp_element element);

/* The dtype of a tensor of these, and back; false for what kplug has no name for. */
struct kp_dtype kp_element_dtype(enum kp_element element);
bool kp_element_of_dtype(struct kp_dtype dtype, enum kp_element *element);

/* The value at `at`, which need not be aligned. Integers beyond 2^53 are rounded. */
double kp_element_load(enum kp_element element, const void *at);

/*
 * Stores the nearest value, ties to even. What is beyond the largest becomes
 * infinity, or NaN where the dtype has no infinity (f8_e4m3fn); an integer is
 * rounded and held within its dtype, a NaN there is 0; bool is value != 0.
 */
void kp_element_store(enum kp_element element, void *at, double value);

#endif
