/* SPDX-License-Identifier: MIT */
/* Asks the processor for AVX2 and FMA; on other architectures there is none. */
#include "processor.h"

#include <stdio.h>

int processor_fail(struct kp_error *error, int status, const char *text)
{
	if (error && KP_COVERS(error, text)) {
		error->status = status;
		snprintf(error->text, sizeof(error->text), "%s", text);
	}
	return status;
}

int processor_available(const struct kp_device *device, struct kp_error *error)
{
	if (device && device->type != KP_DEVICE_CPU)
		return processor_fail(
			error, KP_UNAVAILABLE, "this kernel runs on a CPU only");
#if defined(__x86_64__)
	__builtin_cpu_init();
	if (!__builtin_cpu_supports("avx2"))
		return processor_fail(error, KP_UNAVAILABLE,
			"this processor has no AVX2 (feature avx2)");
	if (!__builtin_cpu_supports("fma"))
		return processor_fail(
			error, KP_UNAVAILABLE, "this processor has no FMA (feature fma)");
	return KP_OK;
#else
	return processor_fail(
		error, KP_UNAVAILABLE, "built for another architecture than x86-64");
#endif
}
