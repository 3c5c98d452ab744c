/* SPDX-License-Identifier: MIT */
/*
 * What a CPU can do, asked of the CPU itself (cpuid, xgetbv) or of the kernel's
 * auxiliary vector. Knows nothing of platforms, files or JSON; nothing here
 * allocates.
 *
 * Features have the names of /proc/cpuinfo, except sse3 (pni there), lzcnt (abm)
 * and prefetchw (3dnowprefetch); dotprod is another name of asimddp. A feature
 * whose registers the operating system does not save is absent.
 */
#ifndef KP_LIB_CPU_H
#define KP_LIB_CPU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { KP_CPU_FEATURES = 64, KP_X86_LEVELS = 4 };

struct kp_cpu {
	const char *vendor; /* "x86-64", "aarch64" or "unknown"; static */
	unsigned level;	    /* N of x86-64-vN; 0 elsewhere */
	char name[96];	    /* model for people, or "" */
	size_t n_features;
	const char *features[KP_CPU_FEATURES]; /* static texts, in byte order */
};

/* The registers of cpuid that are read; 0 where a leaf does not exist. */
enum kp_x86_word {
	KP_X86_1_ECX,
	KP_X86_1_EDX,
	KP_X86_7_EBX,
	KP_X86_7_ECX,
	KP_X86_7_EDX,
	KP_X86_7_1_EAX,
	KP_X86_7_1_EDX,
	KP_X86_EXTENDED_1_ECX,
	KP_X86_WORDS
};
struct kp_x86_facts {
	uint32_t words[KP_X86_WORDS];
	uint64_t xcr0; /* of xgetbv; 0 without OSXSAVE */
};

/* This CPU. */
void kp_cpu_detect(struct kp_cpu *cpu);

/* The CPU that these answers describe; the name stays empty. */
void kp_cpu_decode_x86(const struct kp_x86_facts *facts, struct kp_cpu *cpu);
void kp_cpu_decode_aarch64(uint64_t hwcap, uint64_t hwcap2, struct kp_cpu *cpu);

/*
 * The least CPU of a kind: what x86-64-vN (level 1 to 4) or aarch64 (level 0)
 * guarantees. false for another vendor or level.
 */
bool kp_cpu_least(const char *vendor, unsigned level, struct kp_cpu *cpu);

/* All names of features of a vendor that kplug knows; the count, at most `size`. */
size_t kp_cpu_feature_names(const char *vendor, const char **names, size_t size);

#endif
