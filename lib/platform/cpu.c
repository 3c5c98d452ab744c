/* SPDX-License-Identifier: MIT */
/* Features of CPUs by the bits that announce them; asks no CPU itself. */
#include "lib/platform/cpu.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/text.h"

static const char x86[] = "x86-64";
static const char aarch64[] = "aarch64";

/* State that the operating system must save: bits of XCR0. */
enum { SAVED_NONE = 0, SAVED_AVX = 0x6, SAVED_AVX512 = 0xe6, SAVED_AMX = 0x60000 };

/* level: the lowest x86-64-vN that guarantees it, 0 for none. */
static const struct {
	const char *name;
	enum kp_x86_word word;
	unsigned bit;
	uint64_t saved;
	unsigned level;
} x86_features[] = {
	{"cx8", KP_X86_1_EDX, 8, SAVED_NONE, 1},
	{"cmov", KP_X86_1_EDX, 15, SAVED_NONE, 1},
	{"mmx", KP_X86_1_EDX, 23, SAVED_NONE, 1},
	{"fxsr", KP_X86_1_EDX, 24, SAVED_NONE, 1},
	{"sse", KP_X86_1_EDX, 25, SAVED_NONE, 1},
	{"sse2", KP_X86_1_EDX, 26, SAVED_NONE, 1},
	{"sse3", KP_X86_1_ECX, 0, SAVED_NONE, 2},
	{"pclmulqdq", KP_X86_1_ECX, 1, SAVED_NONE, 0},
	{"ssse3", KP_X86_1_ECX, 9, SAVED_NONE, 2},
	{"fma", KP_X86_1_ECX, 12, SAVED_AVX, 3},
	{"cx16", KP_X86_1_ECX, 13, SAVED_NONE, 2},
	{"sse4_1", KP_X86_1_ECX, 19, SAVED_NONE, 2},
	{"sse4_2", KP_X86_1_ECX, 20, SAVED_NONE, 2},
	{"movbe", KP_X86_1_ECX, 22, SAVED_NONE, 3},
	{"popcnt", KP_X86_1_ECX, 23, SAVED_NONE, 2},
	{"aes", KP_X86_1_ECX, 25, SAVED_NONE, 0},
	{"xsave", KP_X86_1_ECX, 26, SAVED_NONE, 3},
	{"avx", KP_X86_1_ECX, 28, SAVED_AVX, 3},
	{"f16c", KP_X86_1_ECX, 29, SAVED_AVX, 3},
	{"bmi1", KP_X86_7_EBX, 3, SAVED_NONE, 3},
	{"avx2", KP_X86_7_EBX, 5, SAVED_AVX, 3},
	{"bmi2", KP_X86_7_EBX, 8, SAVED_NONE, 3},
	{"erms", KP_X86_7_EBX, 9, SAVED_NONE, 0},
	{"avx512f", KP_X86_7_EBX, 16, SAVED_AVX512, 4},
	{"avx512dq", KP_X86_7_EBX, 17, SAVED_AVX512, 4},
	{"adx", KP_X86_7_EBX, 19, SAVED_NONE, 0},
	{"avx512ifma", KP_X86_7_EBX, 21, SAVED_AVX512, 0},
	{"avx512cd", KP_X86_7_EBX, 28, SAVED_AVX512, 4},
	{"sha_ni", KP_X86_7_EBX, 29, SAVED_NONE, 0},
	{"avx512bw", KP_X86_7_EBX, 30, SAVED_AVX512, 4},
	{"avx512vl", KP_X86_7_EBX, 31, SAVED_AVX512, 4},
	{"avx512vbmi", KP_X86_7_ECX, 1, SAVED_AVX512, 0},
	{"avx512_vbmi2", KP_X86_7_ECX, 6, SAVED_AVX512, 0},
	{"gfni", KP_X86_7_ECX, 8, SAVED_NONE, 0},
	{"vaes", KP_X86_7_ECX, 9, SAVED_AVX, 0},
	{"vpclmulqdq", KP_X86_7_ECX, 10, SAVED_AVX, 0},
	{"avx512_vnni", KP_X86_7_ECX, 11, SAVED_AVX512, 0},
	{"avx512_bitalg", KP_X86_7_ECX, 12, SAVED_AVX512, 0},
	{"avx512_vpopcntdq", KP_X86_7_ECX, 14, SAVED_AVX512, 0},
	{"avx512_vp2intersect", KP_X86_7_EDX, 8, SAVED_AVX512, 0},
	{"amx_bf16", KP_X86_7_EDX, 22, SAVED_AMX, 0},
	{"avx512_fp16", KP_X86_7_EDX, 23, SAVED_AVX512, 0},
	{"amx_tile", KP_X86_7_EDX, 24, SAVED_AMX, 0},
	{"amx_int8", KP_X86_7_EDX, 25, SAVED_AMX, 0},
	{"avx_vnni", KP_X86_7_1_EAX, 4, SAVED_AVX, 0},
	{"avx512_bf16", KP_X86_7_1_EAX, 5, SAVED_AVX512, 0},
	{"amx_fp16", KP_X86_7_1_EAX, 21, SAVED_AMX, 0},
	{"avx_ifma", KP_X86_7_1_EAX, 23, SAVED_AVX, 0},
	{"avx_vnni_int8", KP_X86_7_1_EDX, 4, SAVED_AVX, 0},
	{"avx_ne_convert", KP_X86_7_1_EDX, 5, SAVED_AVX, 0},
	{"amx_complex", KP_X86_7_1_EDX, 8, SAVED_AMX, 0},
	{"avx_vnni_int16", KP_X86_7_1_EDX, 10, SAVED_AVX, 0},
	{"lahf_lm", KP_X86_EXTENDED_1_ECX, 0, SAVED_NONE, 2},
	{"lzcnt", KP_X86_EXTENDED_1_ECX, 5, SAVED_NONE, 3},
	{"sse4a", KP_X86_EXTENDED_1_ECX, 6, SAVED_NONE, 0},
	{"prefetchw", KP_X86_EXTENDED_1_ECX, 8, SAVED_NONE, 0},
};
enum { X86_FEATURES = sizeof(x86_features) / sizeof(x86_features[0]) };
_Static_assert((int)X86_FEATURES <= (int)KP_CPU_FEATURES, "a CPU may have them all");

/* Bits of AT_HWCAP (second 0) and AT_HWCAP2 (second 1), asm/hwcap.h of Linux. */
static const struct {
	const char *name;
	unsigned second, bit;
	bool least; /* of every aarch64 that runs Linux */
} aarch64_features[] = {
	{"fp", 0, 0, true},
	{"asimd", 0, 1, true},
	{"aes", 0, 3, false},
	{"pmull", 0, 4, false},
	{"sha1", 0, 5, false},
	{"sha2", 0, 6, false},
	{"crc32", 0, 7, false},
	{"atomics", 0, 8, false},
	{"fphp", 0, 9, false},
	{"asimdhp", 0, 10, false},
	{"asimdrdm", 0, 12, false},
	{"jscvt", 0, 13, false},
	{"fcma", 0, 14, false},
	{"lrcpc", 0, 15, false},
	{"sha3", 0, 17, false},
	{"asimddp", 0, 20, false},
	{"dotprod", 0, 20, false},
	{"sha512", 0, 21, false},
	{"sve", 0, 22, false},
	{"asimdfhm", 0, 23, false},
	{"sve2", 1, 1, false},
	{"sveaes", 1, 2, false},
	{"svepmull", 1, 3, false},
	{"svebitperm", 1, 4, false},
	{"frint", 1, 8, false},
	{"svei8mm", 1, 9, false},
	{"svef32mm", 1, 10, false},
	{"svef64mm", 1, 11, false},
	{"svebf16", 1, 12, false},
	{"i8mm", 1, 13, false},
	{"bf16", 1, 14, false},
	{"sme", 1, 23, false},
	{"smei16i64", 1, 24, false},
	{"smef64f64", 1, 25, false},
	{"smei8i32", 1, 26, false},
	{"smef16f32", 1, 27, false},
	{"smeb16f32", 1, 28, false},
	{"smef32f32", 1, 29, false},
	{"smefa64", 1, 30, false},
	{"ebf16", 1, 32, false},
	{"sve2p1", 1, 36, false},
	{"sme2", 1, 37, false},
};
enum { AARCH64_FEATURES = sizeof(aarch64_features) / sizeof(aarch64_features[0]) };
_Static_assert((int)AARCH64_FEATURES <= (int)KP_CPU_FEATURES, "a CPU may have them all");

static void sort(struct kp_cpu *cpu)
{
	qsort(cpu->features, cpu->n_features, sizeof(cpu->features[0]), kp_text_compare);
}

static bool has(const struct kp_x86_facts *facts, size_t i)
{
	return facts->words[x86_features[i].word] >> x86_features[i].bit & 1 &&
	       (facts->xcr0 & x86_features[i].saved) == x86_features[i].saved;
}

/* The highest level all of whose features, and those of the levels below, are there. */
static unsigned level_of(const struct kp_x86_facts *facts)
{
	unsigned level = KP_X86_LEVELS;
	for (size_t i = 0; i < X86_FEATURES; i++)
		if (x86_features[i].level && x86_features[i].level <= level &&
			!has(facts, i))
			level = x86_features[i].level - 1;
	return level;
}

void kp_cpu_decode_x86(const struct kp_x86_facts *facts, struct kp_cpu *cpu)
{
	*cpu = (struct kp_cpu){.vendor = x86, .level = level_of(facts)};
	for (size_t i = 0; i < X86_FEATURES; i++)
		if (has(facts, i))
			cpu->features[cpu->n_features++] = x86_features[i].name;
	sort(cpu);
}

void kp_cpu_decode_aarch64(uint64_t hwcap, uint64_t hwcap2, struct kp_cpu *cpu)
{
	*cpu = (struct kp_cpu){.vendor = aarch64};
	for (size_t i = 0; i < AARCH64_FEATURES; i++) {
		uint64_t bits = aarch64_features[i].second ? hwcap2 : hwcap;
		if (bits >> aarch64_features[i].bit & 1)
			cpu->features[cpu->n_features++] = aarch64_features[i].name;
	}
	sort(cpu);
}

bool kp_cpu_least(const char *vendor, unsigned level, struct kp_cpu *cpu)
{
	if (strcmp(vendor, aarch64) == 0 && level == 0) {
		*cpu = (struct kp_cpu){.vendor = aarch64};
		for (size_t i = 0; i < AARCH64_FEATURES; i++)
			if (aarch64_features[i].least)
				cpu->features[cpu->n_features++] =
					aarch64_features[i].name;
		sort(cpu);
		return true;
	}
	if (strcmp(vendor, x86) != 0 || level < 1 || level > KP_X86_LEVELS)
		return false;
	*cpu = (struct kp_cpu){.vendor = x86, .level = level};
	for (size_t i = 0; i < X86_FEATURES; i++)
		if (x86_features[i].level && x86_features[i].level <= level)
			cpu->features[cpu->n_features++] = x86_features[i].name;
	sort(cpu);
	return true;
}

size_t kp_cpu_feature_names(const char *vendor, const char **names, size_t size)
{
	bool arm = strcmp(vendor, aarch64) == 0;
	if (!arm && strcmp(vendor, x86) != 0)
		return 0;
	size_t count = arm ? AARCH64_FEATURES : X86_FEATURES;
	size_t n = 0;
	for (; n < count && n < size; n++)
		names[n] = arm ? aarch64_features[n].name : x86_features[n].name;
	return n;
}
