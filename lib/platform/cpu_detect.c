/* SPDX-License-Identifier: MIT */
/* Asks the CPU that this runs on; what the answers mean is in cpu.c. */
#include "lib/platform/cpu.h"

#include <string.h>

#if defined(__x86_64__)
#include <cpuid.h>

enum { OSXSAVE = 1 << 27, BRAND_FIRST = 0x80000002, BRAND_LEAVES = 3 };

/* xgetbv faults unless OSXSAVE is set; the mnemonic needs no compiler flag. */
static uint64_t read_xcr0(void)
{
	uint32_t low;
	uint32_t high;
	__asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
	return (uint64_t)high << 32 | low;
}

static void read_facts(struct kp_x86_facts *facts)
{
	uint32_t a = 0;
	uint32_t b = 0;
	uint32_t c = 0;
	uint32_t d = 0;

	*facts = (struct kp_x86_facts){0};
	if (__get_cpuid(1, &a, &b, &c, &d)) {
		facts->words[KP_X86_1_ECX] = c;
		facts->words[KP_X86_1_EDX] = d;
		if (c & OSXSAVE)
			facts->xcr0 = read_xcr0();
	}
	if (__get_cpuid_count(7, 0, &a, &b, &c, &d)) {
		uint32_t last = a;
		facts->words[KP_X86_7_EBX] = b;
		facts->words[KP_X86_7_ECX] = c;
		facts->words[KP_X86_7_EDX] = d;
		if (last >= 1 && __get_cpuid_count(7, 1, &a, &b, &c, &d)) {
			facts->words[KP_X86_7_1_EAX] = a;
			facts->words[KP_X86_7_1_EDX] = d;
		}
	}
	if (__get_cpuid(0x80000001, &a, &b, &c, &d))
		facts->words[KP_X86_EXTENDED_1_ECX] = c;
}

/* The brand text of the CPU: 48 bytes, padded with blanks on either side. */
static void read_name(char *name, size_t size)
{
	char text[BRAND_LEAVES * 16 + 1] = "";
	uint32_t words[4];

	for (unsigned i = 0; i < BRAND_LEAVES; i++) {
		if (!__get_cpuid(
			    BRAND_FIRST + i, &words[0], &words[1], &words[2], &words[3]))
			return;
		memcpy(text + i * sizeof(words), words, sizeof(words));
	}
	const char *from = text + strspn(text, " ");
	size_t length = strlen(from);
	while (length > 0 && from[length - 1] == ' ')
		length--;
	if (length >= size)
		length = size - 1;
	memcpy(name, from, length);
	name[length] = '\0';
}

void kp_cpu_detect(struct kp_cpu *cpu)
{
	struct kp_x86_facts facts;
	read_facts(&facts);
	kp_cpu_decode_x86(&facts, cpu);
	read_name(cpu->name, sizeof(cpu->name));
}

#elif defined(__aarch64__)
#include <sys/auxv.h>

void kp_cpu_detect(struct kp_cpu *cpu)
{
	kp_cpu_decode_aarch64(getauxval(AT_HWCAP), getauxval(AT_HWCAP2), cpu);
}

#else

void kp_cpu_detect(struct kp_cpu *cpu)
{
	*cpu = (struct kp_cpu){.vendor = "unknown"};
}

#endif
