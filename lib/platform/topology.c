/* SPDX-License-Identifier: MIT */
/* Reading of sysfs: whatever is missing or odd there is not known. */
#include "lib/platform/topology.h"

#include <ctype.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/owned.h"

enum { TEXT_BYTES = 4096, INDEXES = 16 };

static bool read_text(int dir, const char *path, char text[TEXT_BYTES])
{
	owned_fd fd = openat(dir, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	ssize_t n = fd < 0 ? 0 : read(fd, text, TEXT_BYTES - 1);

	if (n <= 0)
		return false;
	text[n] = '\0';
	text[strcspn(text, "\n")] = '\0';
	return true;
}

static unsigned read_number(int dir, const char *path)
{
	char text[TEXT_BYTES];

	return read_text(dir, path, text) ? (unsigned)strtoul(text, NULL, 10) : 0;
}

/* The next range of "0-3,8,10-11"; moves *at behind it. */
static bool next_range(const char **at, unsigned *first, unsigned *last)
{
	char *end;

	if (!isdigit((unsigned char)**at))
		return false;
	unsigned long low = strtoul(*at, &end, 10);
	unsigned long high = low;
	if (*end == '-' && isdigit((unsigned char)end[1]))
		high = strtoul(end + 1, &end, 10);
	if (low > high || high >= KP_CPUS)
		return false;
	*first = (unsigned)low;
	*last = (unsigned)high;
	*at = *end == ',' ? end + 1 : end;
	return true;
}

/* How many CPUs a list has; *leader is its first. */
static unsigned count_list(const char *list, unsigned *leader)
{
	unsigned first, last, count = 0;

	while (next_range(&list, &first, &last)) {
		if (count == 0)
			*leader = first;
		count += last - first + 1;
	}
	return count;
}

/* "32K", "105M"; 0 for anything else. */
static uint64_t read_size(int dir, const char *path)
{
	char text[TEXT_BYTES];
	char *end;

	if (!read_text(dir, path, text) || !isdigit((unsigned char)text[0]))
		return 0;
	uint64_t size = strtoul(text, &end, 10);
	unsigned shift = *end == 'K' ? 10 : *end == 'M' ? 20 : *end == 'G' ? 30 : 0;
	return size <= UINT64_MAX >> 30 ? size << shift : 0;
}

static bool is_same(const struct kp_cache *a, const struct kp_cache *b)
{
	return a->level == b->level && a->bytes == b->bytes &&
	       a->shared_by == b->shared_by && strcmp(a->kind, b->kind) == 0;
}

static void add_cache(struct kp_topology *topology, const struct kp_cache *cache)
{
	for (size_t i = 0; i < topology->n_caches; i++) {
		if (!is_same(&topology->caches[i], cache))
			continue;
		topology->caches[i].count++;
		return;
	}
	if (topology->n_caches == KP_CACHES)
		return;
	topology->caches[topology->n_caches] = *cache;
	topology->caches[topology->n_caches++].count = 1;
}

/* A cache is counted at the first of the CPUs that share it. */
static void read_cache(
	struct kp_topology *topology, int dir, unsigned cpu, unsigned index)
{
	struct kp_cache cache = {0};
	char path[64];
	char text[TEXT_BYTES];
	unsigned leader = 0;

	(void)snprintf(path, sizeof(path), "cpu%u/cache/index%u", cpu, index);
	owned_fd at = openat(dir, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (at < 0 || !read_text(at, "shared_cpu_list", text))
		return;
	cache.shared_by = count_list(text, &leader);
	if (cache.shared_by == 0 || leader != cpu)
		return;
	cache.level = read_number(at, "level");
	cache.bytes = read_size(at, "size");
	if (!read_text(at, "type", text) || cache.level == 0 || cache.bytes == 0)
		return;
	(void)snprintf(cache.kind, sizeof(cache.kind), "%.15s", text);
	cache.kind[0] = (char)tolower((unsigned char)cache.kind[0]);
	add_cache(topology, &cache);
}

static void read_cpu(struct kp_topology *topology, int dir, unsigned cpu)
{
	char path[64];
	char text[TEXT_BYTES];
	unsigned leader = cpu;

	topology->threads++;
	(void)snprintf(path, sizeof(path), "cpu%u/topology/thread_siblings_list", cpu);
	if (read_text(dir, path, text) && count_list(text, &leader) > 0 && leader == cpu)
		topology->cores++;
	for (unsigned index = 0; index < INDEXES; index++)
		read_cache(topology, dir, cpu, index);
}

static int compare(const void *a, const void *b)
{
	const struct kp_cache *x = a, *y = b;

	return x->level != y->level ? (x->level > y->level ? 1 : -1)
				    : strcmp(x->kind, y->kind);
}

void kp_topology_read(const char *root, struct kp_topology *topology)
{
	owned_text path = NULL;
	char text[TEXT_BYTES];
	const char *at = text;
	unsigned first, last;

	*topology = (struct kp_topology){0};
	if (asprintf(&path, "%s/sys/devices/system/cpu", root) < 0) {
		path = NULL;
		return;
	}
	owned_fd dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0 || !read_text(dir, "online", text))
		return;
	while (next_range(&at, &first, &last))
		for (unsigned cpu = first; cpu <= last; cpu++)
			read_cpu(topology, dir, cpu);
	qsort(topology->caches, topology->n_caches, sizeof(*topology->caches), compare);
}
