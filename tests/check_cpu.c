/* SPDX-License-Identifier: MIT */
/* What the bits that a CPU answers with mean. */
#include "lib/platform/cpu.h"

#include <check.h>
#include <string.h>

#include "lib/platform/platform.h"
#include "tests/support/suite.h"

static bool cpu_has(const struct kp_cpu *cpu, const char *feature)
{
	for (size_t i = 0; i < cpu->n_features; i++)
		if (strcmp(cpu->features[i], feature) == 0)
			return true;
	return false;
}

static const uint64_t saved_avx = 0x7, saved_avx512 = 0xe7, saved_amx = 0x600e7;

START_TEST(avx_counts_only_where_the_system_saves_its_registers)
{
	struct kp_x86_facts facts = {.xcr0 = 0};
	struct kp_cpu cpu;
	memset(facts.words, 0xff, sizeof(facts.words));
	kp_cpu_decode_x86(&facts, &cpu);
	ck_assert(!cpu_has(&cpu, "avx"));
	ck_assert(!cpu_has(&cpu, "fma"));
	ck_assert(cpu_has(&cpu, "sse4_2"));
	ck_assert(cpu_has(&cpu, "bmi2"));
	ck_assert_uint_eq(cpu.level, 2);
	facts.xcr0 = saved_avx;
	kp_cpu_decode_x86(&facts, &cpu);
	ck_assert(cpu_has(&cpu, "avx2"));
	ck_assert(!cpu_has(&cpu, "avx512f"));
	ck_assert_uint_eq(cpu.level, 3);
	facts.xcr0 = saved_avx512;
	kp_cpu_decode_x86(&facts, &cpu);
	ck_assert(cpu_has(&cpu, "avx512_bf16"));
	ck_assert(!cpu_has(&cpu, "amx_tile"));
	ck_assert_uint_eq(cpu.level, 4);
	facts.xcr0 = saved_amx;
	kp_cpu_decode_x86(&facts, &cpu);
	ck_assert(cpu_has(&cpu, "amx_int8"));
}
END_TEST

START_TEST(a_level_needs_all_of_the_levels_below)
{
	struct kp_x86_facts facts = {.xcr0 = saved_avx512};
	struct kp_cpu cpu;
	memset(facts.words, 0xff, sizeof(facts.words));
	facts.words[KP_X86_1_ECX] &= ~(1u << 9); /* ssse3 */
	kp_cpu_decode_x86(&facts, &cpu);
	ck_assert_uint_eq(cpu.level, 1);
	ck_assert(cpu_has(&cpu, "avx2"));
	facts.words[KP_X86_1_ECX] = ~(1u << 22); /* movbe */
	kp_cpu_decode_x86(&facts, &cpu);
	ck_assert_uint_eq(cpu.level, 2);
	facts.words[KP_X86_1_ECX] = ~0u;
	facts.words[KP_X86_7_EBX] = ~(1u << 28); /* avx512cd */
	kp_cpu_decode_x86(&facts, &cpu);
	ck_assert_uint_eq(cpu.level, 3);
	facts = (struct kp_x86_facts){0};
	kp_cpu_decode_x86(&facts, &cpu);
	ck_assert_uint_eq(cpu.level, 0);
	ck_assert_uint_eq(cpu.n_features, 0);
}
END_TEST

START_TEST(hwcap_bits_are_features_of_aarch64)
{
	struct kp_cpu cpu;
	kp_cpu_decode_aarch64(1 << 1 | 1 << 9 | 1 << 20 | 1 << 22,
		1 << 1 | 1 << 13 | 1 << 14 | UINT64_C(1) << 37, &cpu);
	static const char *const has[] = {"asimd", "fphp", "asimddp", "dotprod", "sve",
		"sve2", "i8mm", "bf16", "sme2"};
	ck_assert_uint_eq(cpu.n_features, sizeof(has) / sizeof(has[0]));
	for (size_t i = 0; i < cpu.n_features; i++)
		ck_assert_msg(cpu_has(&cpu, has[i]), "%s", has[i]);
	ck_assert_uint_eq(cpu.level, 0);
}
END_TEST

START_TEST(every_feature_of_a_cpu_fits_a_device)
{
	static const char *const vendors[] = {"x86-64", "aarch64"};
	for (size_t v = 0; v < 2; v++) {
		const char *names[256];
		size_t count = kp_cpu_feature_names(vendors[v], names, 256);
		ck_assert_uint_gt(count, 30);
		ck_assert_uint_le(count, KP_DEVICE_FEATURES);
		for (size_t i = 0; i < count; i++)
			ck_assert_uint_lt(strlen(names[i]),
				sizeof(((struct kp_device_facts *)0)->features[0]));
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("cpu");
	TCase *tcase = tcase_create("cpu");
	tcase_add_test(tcase, avx_counts_only_where_the_system_saves_its_registers);
	tcase_add_test(tcase, a_level_needs_all_of_the_levels_below);
	tcase_add_test(tcase, hwcap_bits_are_features_of_aarch64);
	tcase_add_test(tcase, every_feature_of_a_cpu_fits_a_device);
	suite_add_tcase(suite, tcase);
	return suite_run(suite);
}
