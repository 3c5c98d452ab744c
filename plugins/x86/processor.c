/* SPDX-License-Identifier: MIT */
/* Asks the processor for its features; on other architectures there is none. */
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

#if defined(__x86_64__)

/* In a macro, since the compiler wants the name of a feature as a literal. */
#define NEED(feature, name)                                                              \
	if (!__builtin_cpu_supports(feature))                                            \
	return processor_fail(error, KP_UNAVAILABLE,                                     \
		"this processor has no " name " (feature " feature ")")

static int check_avx2(struct kp_error *error)
{
	__builtin_cpu_init();
	NEED("avx2", "AVX2");
	NEED("fma", "FMA");
	return KP_OK;
}

static int check_avx512(struct kp_error *error)
{
	NEED("avx512f", "AVX-512");
	NEED("avx512bw", "AVX-512 for bytes and words");
	NEED("avx512dq", "AVX-512 for doublewords and quadwords");
	NEED("avx512vl", "AVX-512 for shorter vectors");
	return KP_OK;
}

/* The compiler and the rest of the world write its name differently. */
static int check_bf16(struct kp_error *error)
{
	if (__builtin_cpu_supports("avx512bf16"))
		return KP_OK;
	return processor_fail(error, KP_UNAVAILABLE,
		"this processor has no AVX-512 for bf16 (feature avx512_bf16)");
}

#else

static int check_avx2(struct kp_error *error)
{
	return processor_fail(
		error, KP_UNAVAILABLE, "built for another architecture than x86-64");
}

static int check_avx512(struct kp_error *error)
{
	return check_avx2(error);
}

static int check_bf16(struct kp_error *error)
{
	return check_avx2(error);
}

#endif

int processor_available(const struct kp_device *device, struct kp_error *error)
{
	if (device && device->type != KP_DEVICE_CPU)
		return processor_fail(
			error, KP_UNAVAILABLE, "this kernel runs on a CPU only");
	return check_avx2(error);
}

int processor_available_avx512(const struct kp_device *device, struct kp_error *error)
{
	int status = processor_available(device, error);

	return status == KP_OK ? check_avx512(error) : status;
}

int processor_available_avx512_bf16(
	const struct kp_device *device, struct kp_error *error)
{
	int status = processor_available_avx512(device, error);

	return status == KP_OK ? check_bf16(error) : status;
}
