/* SPDX-License-Identifier: MIT */
/* A small open-addressed table behind a sequence. */
#include "lib/host/entries.h"

#include <string.h>

static unsigned place_of(const struct kp_entry_key *key)
{
	uint64_t hash =
		(key->mask ^ (uintptr_t)key->choice) * UINT64_C(0x9e3779b97f4a7c15);
	return (unsigned)(hash >> 59) % KP_ENTRIES;
}

/* Readers look at the sequence before and after: odd, or another one, is no answer. */
static void begin_entries(struct kp_inner_site *site)
{
	__atomic_store_n(&site->sequence, site->sequence + 1, __ATOMIC_RELAXED);
	__atomic_thread_fence(__ATOMIC_RELEASE);
}

static void end_entries(struct kp_inner_site *site)
{
	__atomic_store_n(&site->sequence, site->sequence + 1, __ATOMIC_RELEASE);
}

static void put_entry(struct kp_entry_of *entry, const struct kp_entry_key *key,
	const struct kp_inner_rung *rung, bool used)
{
	__atomic_store_n(&entry->ladder, key->ladder, __ATOMIC_RELAXED);
	__atomic_store_n(&entry->mask, key->mask, __ATOMIC_RELAXED);
	__atomic_store_n(&entry->choice, key->choice, __ATOMIC_RELAXED);
	__atomic_store_n(&entry->rung, rung, __ATOMIC_RELAXED);
	__atomic_store_n(&entry->used, used, __ATOMIC_RELAXED);
}

void kp_entries_clear(struct kp_inner_site *site)
{
	const struct kp_entry_key none = {NULL, 0, NULL};

	/* A new site's are memory that nobody has touched yet. */
	if (site->n_entries == 0)
		return;
	begin_entries(site);
	for (size_t i = 0; i < KP_ENTRIES; i++)
		if (site->entries[i].used)
			put_entry(&site->entries[i], &none, NULL, false);
	site->n_entries = 0;
	end_entries(site);
}

void kp_entries_add(struct kp_inner_site *site, const struct kp_entry_key *key,
	const int64_t *dims, const struct kp_inner_rung *rung)
{
	if (site->n_entries >= KP_ENTRIES * 3 / 4)
		kp_entries_clear(site);
	begin_entries(site);
	unsigned i = place_of(key);
	while (site->entries[i].used)
		i = (i + 1) % KP_ENTRIES;
	if (dims)
		memcpy(site->entries[i].dims, dims, site->check.n_dims * sizeof(*dims));
	put_entry(&site->entries[i], key, rung, true);
	site->n_entries++;
	end_entries(site);
}

static bool is_entry(const struct kp_entry_of *entry, const struct kp_entry_key *key)
{
	return __atomic_load_n(&entry->ladder, __ATOMIC_RELAXED) == key->ladder &&
	       __atomic_load_n(&entry->mask, __ATOMIC_RELAXED) == key->mask &&
	       __atomic_load_n(&entry->choice, __ATOMIC_RELAXED) == key->choice;
}

const struct kp_inner_rung *kp_entries_find(
	const struct kp_inner_site *site, const struct kp_entry_key *key)
{
	unsigned before = __atomic_load_n(&site->sequence, __ATOMIC_ACQUIRE);
	unsigned i = place_of(key);
	const struct kp_inner_rung *rung = NULL;

	for (unsigned n = 0; n < KP_ENTRIES && !rung; n++, i = (i + 1) % KP_ENTRIES) {
		const struct kp_entry_of *entry = &site->entries[i];
		if (!__atomic_load_n(&entry->used, __ATOMIC_RELAXED))
			return NULL;
		if (is_entry(entry, key))
			rung = __atomic_load_n(&entry->rung, __ATOMIC_RELAXED);
	}
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	bool steady = !(before & 1) &&
		      __atomic_load_n(&site->sequence, __ATOMIC_RELAXED) == before;
	return steady ? rung : NULL;
}
