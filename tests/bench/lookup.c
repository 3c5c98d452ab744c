/* SPDX-License-Identifier: MIT */
/*
 * Selection in a process against a hash table of strings: 100 signatures of one
 * operation with 100 kernels each, and as many entries by (family, mode, dtype).
 * Requests are drawn uniformly. Prints pairs of nanoseconds a look-up.
 *
 * hit: the first kernel of its signature runs. miss: a trait excludes all 100.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "lib/base/hash.h"
#include "lib/select/select.h"
#include "lib/table/table_build.h"

enum {
	FORMATS = 10,
	SIGNATURES = FORMATS * FORMATS,
	KERNELS = 100, /* of each signature, one a plugin */
	ENTRIES = SIGNATURES * KERNELS,
	SLOTS = 32768,
	DRAWS = 4000,
	SLICES = 8, /* of a sample, in turn */
	TEXT = 48,
};

static const char *const formats[FORMATS] = {
	"f64", "f32", "f16", "bf16", "f8_e4m3fn", "f8_e5m2", "i8", "u8", "i16", "i32"};

/* Of this thread alone: who else runs on the machine takes none of it. */
static int64_t now_ns(void)
{
	struct timespec t;
	(void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static uint32_t draw(uint64_t *state, uint32_t below)
{
	*state ^= *state >> 12;
	*state ^= *state << 25;
	*state ^= *state >> 27;
	return (uint32_t)((*state * 0x2545f4914f6cdd1d >> 32) * below >> 32);
}

static _Noreturn void die(const char *what)
{
	(void)fprintf(stderr, "lookup: %s\n", what);
	exit(1);
}

/* ---- ours ---- */

static void write_signature(char text[TEXT], unsigned i)
{
	(void)snprintf(text, TEXT, "a=%s,b=%s,c=f32", formats[i / FORMATS],
		formats[i % FORMATS]);
}

/* Kernel `i` of plugin `p`: what it asks of the extents depends on both. */
static void add_kernel(struct kp_build *build, unsigned p, unsigned i)
{
	static const char *const dims[] = {"k", "m", "n"};
	struct kp_trait traits[3];
	char name[TEXT], text[TEXT];
	const char *signature = text;
	struct kp_spec spec = {
		.name = name,
		.operation = "gemm/mm",
		.revision = 1,
		.priority = (int)((p * 7 + i) % KP_PRIORITY_END),
		.signatures = {1, &signature},
		.capability = {.device = KP_CPU},
		.n_traits = 3,
		.traits = traits,
	};

	(void)snprintf(name, sizeof(name), "mm%02u", i);
	write_signature(text, i);
	for (unsigned t = 0; t < 3; t++)
		traits[t] = (struct kp_trait){.name = dims[t],
			.has_min = true,
			.min = 1 + (p / 8 + t) % 4,
			.has_multiple = true,
			.multiple_of = 2 << (p + t) % 6};
	kp_build_kernel(build, &spec,
		&(struct kp_kernel_facts){
			.plugin = p, .policy = 10, .state = KP_STATE_ACTIVE});
}

static void make_table(struct kp_table *table, const char *families_dir)
{
	struct kp_build build = {0};
	struct kp_families families = {0};
	struct kp_platform platform;
	struct kp_diags problems = {0};
	struct kp_diag diag;
	void *bytes;
	size_t size;

	if (kp_families_read(families_dir, &families, &problems) < 0 ||
		!kp_families_find(&families, "gemm/mm") ||
		kp_platform_named("x86-64-v3", &platform, &diag) < 0)
		die("no family gemm/mm");
	kp_build_families(&build, &families);
	kp_build_platform(&build, &platform);
	for (unsigned p = 0; p < KERNELS; p++) {
		char name[TEXT];
		(void)snprintf(name, sizeof(name), "p%02u", p);
		kp_build_plugin(&build, &(struct kp_plugin_facts){.name = name,
						.state = KP_STATE_ACTIVE,
						.verdict = KP_STATE_ACTIVE});
	}
	for (unsigned p = 0; p < KERNELS; p++)
		for (unsigned i = 0; i < SIGNATURES; i++)
			add_kernel(&build, p, i);
	if (kp_build_finish(&build, 1, &bytes, &size, &diag) < 0 ||
		kp_table_open(bytes, size, table, &diag) < 0)
		die(diag.message);
	kp_families_finish(&families);
	kp_platform_finish(&platform);
	kp_diags_finish(&problems);
}

struct asked {
	struct kp_request request;
	char signature[TEXT];
};

static struct asked *make_requests(const struct kp_table *table, bool hit)
{
	static const char *const dims[] = {"m", "n", "k"};
	struct asked *all = calloc(SIGNATURES, sizeof(*all));

	if (!all)
		die("memory is exhausted");
	for (unsigned i = 0; i < SIGNATURES; i++) {
		struct kp_request *request = &all[i].request;
		struct kp_decision decision;
		struct kp_diag diag;
		write_signature(all[i].signature, i);
		request->operation = "gemm/mm";
		request->signature = all[i].signature;
		request->shape.count = 3;
		for (unsigned d = 0; d < 3; d++) {
			request->shape.dims[d].name = dims[d];
			request->shape.dims[d].extent = hit ? 4096 : 4095;
		}
		if (kp_select(table, request, &decision, &diag) < 0)
			die(diag.message);
		if ((decision.selected != SIZE_MAX) != hit)
			die("the requests are not what they should be");
		kp_decision_finish(&decision);
	}
	return all;
}

static size_t select_all(
	const struct kp_table *table, const struct asked *requests, const uint32_t *order)
{
	size_t sum = 0;

	for (size_t i = 0; i < DRAWS; i++) {
		struct kp_decision decision;
		struct kp_diag diag;
		if (kp_select(table, &requests[order[i] % SIGNATURES].request, &decision,
			    &diag) < 0)
			die(diag.message);
		sum += decision.selected;
		kp_decision_finish(&decision);
	}
	return sum;
}

/* ---- the peer ---- */

struct entry {
	char family[16], mode[16], dtype[16];
	size_t value;
};

struct hash {
	struct entry entries[ENTRIES];
	struct {
		uint64_t hash;
		const struct entry *entry;
	} slots[SLOTS];
};

static uint64_t key_of(const char *family, const char *mode, const char *dtype)
{
	uint64_t hash = kp_hash_bytes(KP_HASH_START, family, strlen(family) + 1);
	hash = kp_hash_bytes(hash, mode, strlen(mode) + 1);
	return kp_hash_bytes(hash, dtype, strlen(dtype));
}

static size_t find(
	const struct hash *table, const char *family, const char *mode, const char *dtype)
{
	uint64_t hash = key_of(family, mode, dtype);

	for (size_t at = hash % SLOTS; table->slots[at].entry; at = (at + 1) % SLOTS) {
		const struct entry *entry = table->slots[at].entry;
		if (table->slots[at].hash == hash && strcmp(entry->family, family) == 0 &&
			strcmp(entry->mode, mode) == 0 &&
			strcmp(entry->dtype, dtype) == 0)
			return entry->value;
	}
	return 0;
}

static struct hash *make_hash(void)
{
	struct hash *table = calloc(1, sizeof(*table));

	if (!table)
		die("memory is exhausted");
	for (unsigned i = 0; i < ENTRIES; i++) {
		struct entry *entry = &table->entries[i];
		(void)snprintf(
			entry->family, sizeof(entry->family), "family_%03u", i / 100);
		(void)snprintf(entry->mode, sizeof(entry->mode), "mode%u", i / 10 % 10);
		(void)snprintf(
			entry->dtype, sizeof(entry->dtype), "%s", formats[i % FORMATS]);
		entry->value = i;
		uint64_t hash = key_of(entry->family, entry->mode, entry->dtype);
		size_t at = hash % SLOTS;
		while (table->slots[at].entry)
			at = (at + 1) % SLOTS;
		table->slots[at].hash = hash;
		table->slots[at].entry = entry;
	}
	return table;
}

static size_t find_all(const struct hash *table, const uint32_t *order)
{
	size_t sum = 0;

	for (size_t i = 0; i < DRAWS; i++) {
		const struct entry *key = &table->entries[order[i]];
		sum += find(table, key->family, key->mode, key->dtype);
	}
	return sum;
}

int main(int argc, char **argv)
{
	long pairs = argc == 4 ? strtol(argv[2], NULL, 10) : 0;
	bool hit = pairs > 0 && strcmp(argv[1], "hit") == 0;
	uint64_t state = 0x9e3779b97f4a7c15;
	struct kp_table table;

	if (pairs < 1 || (!hit && strcmp(argv[1], "miss") != 0))
		return fputs("usage: lookup hit|miss PAIRS FAMILIES\n", stderr), 2;
	make_table(&table, argv[3]);
	struct asked *requests = make_requests(&table, hit);
	struct hash *hash = make_hash();
	uint32_t *order = calloc(DRAWS, sizeof(*order));
	if (!order)
		die("memory is exhausted");
	puts("ns");
	/* One more than asked: the first warms up. */
	for (long round = 0; round <= pairs; round++) {
		int64_t ours = 0, peer = 0;
		for (int slice = 0; slice < SLICES; slice++) {
			for (size_t i = 0; i < DRAWS; i++)
				order[i] = draw(&state, ENTRIES);
			int64_t start = now_ns();
			volatile size_t sum = select_all(&table, requests, order);
			int64_t middle = now_ns();
			sum += find_all(hash, order);
			peer += now_ns() - middle;
			ours += middle - start;
		}
		if (round > 0)
			printf("%.1f %.1f\n", (double)ours / SLICES / DRAWS,
				(double)peer / SLICES / DRAWS);
	}
	free(order);
	free(hash);
	free(requests);
	free((void *)(uintptr_t)table.bytes);
	return 0;
}
