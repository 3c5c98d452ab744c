/* SPDX-License-Identifier: MIT */
/* Reading of a directory, one stat a file. */
#include "daemon/scan/sighting.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "lib/base/text.h"

/* FNV-1a, a word at a time. */
static const uint64_t seed = 0xcbf29ce484222325;

static uint64_t mix(uint64_t hash, uint64_t word)
{
	return (hash ^ word) * 0x100000001b3;
}

/* A sum over entries: the order of a directory means nothing. */
static uint64_t sum_of(const char *name, const struct stat *st)
{
	uint64_t hash = seed;

	for (const char *c = name; *c; c++)
		hash = mix(hash, (unsigned char)*c);
	if (!st)
		return hash;
	const uint64_t facts[] = {st->st_dev, st->st_ino, (uint64_t)st->st_size,
		(uint64_t)st->st_mtim.tv_sec, (uint64_t)st->st_mtim.tv_nsec,
		(uint64_t)st->st_ctim.tv_sec, (uint64_t)st->st_ctim.tv_nsec, st->st_mode};
	for (size_t i = 0; i < sizeof(facts) / sizeof(facts[0]); i++)
		hash = mix(hash, facts[i]);
	return hash;
}

/* Who may write there counts: files in it are trusted by that. */
static uint64_t sum_of_owner(int dir)
{
	struct stat st = {0};
	(void)fstat(dir, &st);
	return mix(mix(seed, st.st_uid), st.st_mode);
}

bool sighting_is_old(const struct stamp *stamp, int64_t now_ns)
{
	const int64_t settle = (int64_t)SIGHTING_SETTLE_MS * 1000000;
	return !stamp->exists || (stamp_age(now_ns, stamp->ctime) >= settle &&
					 stamp_age(now_ns, stamp->mtime) >= settle);
}

/* Without memory it has not been seen: then it is looked at in another way. */
static void add(struct sightings *sightings, const struct dirent *entry,
	const struct stat *st, int64_t now)
{
	if (sightings->count == sightings->room) {
		size_t room = sightings->room ? sightings->room * 2 : 64;
		struct sighting *items =
			reallocarray(sightings->items, room, sizeof(*items));
		if (!items)
			return;
		sightings->items = items;
		sightings->room = room;
	}
	struct sighting *item = &sightings->items[sightings->count];
	*item = (struct sighting){
		.name = strdup(entry->d_name), .is_plain = entry->d_type == DT_REG};
	if (!item->name)
		return;
	stamp_from_stat(st, &item->stamp);
	item->is_old = sighting_is_old(&item->stamp, now);
	sightings->count++;
}

static int by_name(const void *a, const void *b)
{
	const struct sighting *x = a;
	const struct sighting *y = b;
	return strcmp(x->name, y->name);
}

uint64_t sightings_read(const char *path, const char *end, struct sightings *sightings)
{
	DIR *dir = opendir(path);
	int64_t now = stamp_now();
	const struct dirent *entry;

	if (!dir)
		return 0;
	uint64_t sum = sum_of_owner(dirfd(dir));
	while ((entry = readdir(dir))) {
		struct stat st;
		if (!kp_text_ends_with(entry->d_name, end))
			continue;
		bool is_there = fstatat(dirfd(dir), entry->d_name, &st, 0) == 0;
		sum += sum_of(entry->d_name, is_there ? &st : NULL);
		if (is_there && sightings)
			add(sightings, entry, &st, now);
	}
	(void)closedir(dir);
	if (sightings && sightings->count)
		qsort(sightings->items, sightings->count, sizeof(*sightings->items),
			by_name);
	return sum;
}

static int compare_name(const void *name, const void *item)
{
	return strcmp(name, ((const struct sighting *)item)->name);
}

const struct sighting *sightings_find(const struct sightings *sightings, const char *name)
{
	if (!sightings->count)
		return NULL;
	return bsearch(name, sightings->items, sightings->count,
		sizeof(*sightings->items), compare_name);
}

void sightings_finish(struct sightings *sightings)
{
	for (size_t i = 0; i < sightings->count; i++)
		free(sightings->items[i].name);
	free(sightings->items);
	*sightings = (struct sightings){0};
}
