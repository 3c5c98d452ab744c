/* SPDX-License-Identifier: MIT */
/* CPU, cores, memory and kernel, and the fingerprint of those that make it fast. */
#include "daemon/bench/machine.h"

#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "lib/base/hash.h"
#include "lib/base/json.h"

static const struct kp_device_facts *find_cpu(const struct kp_platform *platform)
{
	for (size_t i = 0; i < platform->n_devices; i++)
		if (platform->devices[i].kind == KP_CPU)
			return &platform->devices[i];
	return NULL;
}

static uint64_t add_text(uint64_t hash, const char *text)
{
	return kp_hash_bytes(hash, text, strlen(text) + 1);
}

static uint64_t hash_features(const struct kp_device_facts *cpu)
{
	uint64_t hash = KP_HASH_START;

	for (size_t i = 0; cpu && i < cpu->n_features; i++)
		hash = add_text(hash, cpu->features[i]);
	return hash;
}

static const char *print(uint64_t hash, char text[KP_HASH_TEXT])
{
	(void)snprintf(text, KP_HASH_TEXT, "%016llx", (unsigned long long)hash);
	return text;
}

/* The memory of one machine differs a little from boot to boot. */
static long long whole_gib(long long bytes)
{
	return (bytes + (1LL << 29)) >> 30;
}

json_t *machine_json(const struct kp_platform *platform)
{
	const struct kp_device_facts *cpu = find_cpu(platform);
	const char *name = cpu ? cpu->name : "", *vendor = cpu ? cpu->vendor : "";
	long cores = sysconf(_SC_NPROCESSORS_ONLN);
	long long memory =
		(long long)sysconf(_SC_PHYS_PAGES) * (long long)sysconf(_SC_PAGESIZE);
	uint64_t features = hash_features(cpu), hash = add_text(features, name);
	char number[64], fingerprint[KP_HASH_TEXT], digest[KP_HASH_TEXT];
	struct utsname system = {.release = ""};

	(void)uname(&system);
	(void)snprintf(number, sizeof(number), "%ld %lld", cores, whole_gib(memory));
	hash = add_text(add_text(hash, vendor), number);
	return json_pack("{s:s, s:o, s:o, s:I, s:s, s:I, s:o}", "fingerprint",
		print(hash, fingerprint), "cpu", kp_json_clean_or_null(name), "vendor",
		kp_json_clean_or_null(vendor), "cores", (json_int_t)cores, "features",
		print(features, digest), "memory", (json_int_t)memory, "kernel",
		kp_json_clean_or_null(system.release));
}
