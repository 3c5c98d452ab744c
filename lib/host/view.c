/* SPDX-License-Identifier: MIT */
/* Mapping, checking and counting of views. */
#include "lib/host/view.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/base/json.h"
#include "lib/base/owned.h"
#include "lib/base/trust.h"
#include "lib/table/table_layout.h"
#include "lib/table/table_read.h"

enum { VIEW_SEALS = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE };

static int bad(const char *what, struct kp_diag *diag)
{
	return kp_diag_set(
		diag, "bad_view", "view", "what plugind published is no view: %s", what);
}

struct kp_view *kp_view_use(struct kp_view *view)
{
	if (view)
		(void)__atomic_add_fetch(&view->references, 1, __ATOMIC_RELAXED);
	return view;
}

void kp_view_drop(struct kp_view *view)
{
	if (!view || __atomic_sub_fetch(&view->references, 1, __ATOMIC_ACQ_REL) > 0)
		return;
	(void)munmap(view->map, view->size);
	json_decref(view->without);
	free(view);
}

void kp_view_set_without(struct kp_view *view, const json_t *without)
{
	if (json_array_size(without) > 0)
		view->without = json_incref((json_t *)(uintptr_t)without);
}

const char *kp_view_without(
	const struct kp_view *view, const struct kp_table *table, size_t kernel)
{
	char id[KP_KERNEL_ID_BYTES];

	if (!view->without)
		return NULL;
	(void)kp_table_kernel_id(table, kernel, id, sizeof(id));
	for (size_t i = 0; i < json_array_size(view->without); i++) {
		const json_t *item = json_array_get(view->without, i);
		const char *name = kp_json_text(item, "kernel");
		const char *message = kp_json_text(item, "message");
		if (name && message && strcmp(name, id) == 0)
			return message;
	}
	return NULL;
}

/* Takes the mapping, also on failure. table: how much of it is the table's. */
static struct kp_view *make(void *map, size_t size, size_t table, struct kp_diag *diag)
{
	struct kp_view *new = calloc(1, sizeof(*new));
	struct kp_diag why;

	if (!new) {
		(void)munmap(map, size);
		(void)kp_diag_no_memory(diag);
		return NULL;
	}
	*new = (struct kp_view){.references = 1, .map = map, .size = size};
	if (kp_table_open(map, table, &new->table, &why) < 0) {
		kp_view_drop(new);
		(void)(strcmp(why.code, "no_memory") == 0 ? kp_diag_no_memory(diag)
							  : bad(why.message, diag));
		return NULL;
	}
	new->generation = kp_table_generation(&new->table);
	new->count = kp_table_kernels(&new->table);
	return new;
}

static int find_numbers(struct kp_view *view, struct kp_diag *diag)
{
	size_t at = kp_view_numbers_at(view->table.size);
	size_t bytes = view->count * sizeof(*view->numbers);

	if (at > view->size || view->size - at != bytes)
		return bad("there is not one number for each kernel", diag);
	view->numbers = (const uint32_t *)(const void *)((const char *)view->map + at);
	return 0;
}

int kp_view_map(int fd, struct kp_view **view, struct kp_diag *diag)
{
	struct stat st;
	int seals = fcntl(fd, F_GET_SEALS);

	if (seals < 0 || (seals & VIEW_SEALS) != VIEW_SEALS)
		return bad("it is not sealed", diag);
	if (fstat(fd, &st) < 0 || st.st_size < KP_TABLE_HEADER ||
		st.st_size > KP_TABLE_MOST)
		return bad("its size is none of a table", diag);
	size_t size = (size_t)st.st_size;
	unsigned char *map = mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0);
	if (map == MAP_FAILED)
		return kp_diag_no_memory(diag);
	uint64_t table = kp_load64(map + KP_HEADER_SIZE);
	if (table > size) {
		(void)munmap(map, size);
		return bad("its table is cut off", diag);
	}
	struct kp_view *made = make(map, size, (size_t)table, diag);
	if (!made)
		return -1;
	if (find_numbers(made, diag) < 0) {
		kp_view_drop(made);
		return -1;
	}
	*view = made;
	return 0;
}

/* ---- from the disk ------------------------------------------------------------- */

static bool is_same(const struct kp_view_stamp *a, const struct kp_view_stamp *b)
{
	return a->dev == b->dev && a->ino == b->ino && a->size == b->size &&
	       a->changed.tv_sec == b->changed.tv_sec &&
	       a->changed.tv_nsec == b->changed.tv_nsec;
}

static bool read_whole(int fd, unsigned char *into, size_t size)
{
	size_t done = 0;

	while (done < size) {
		ssize_t n = read(fd, into + done, size - done);
		if (n == 0 || (n < 0 && errno != EINTR))
			return false;
		done += n > 0 ? (size_t)n : 0;
	}
	return true;
}

/* Copied: a file may be cut while it is mapped. */
static int read_table(int fd, size_t size, struct kp_view **view, struct kp_diag *diag)
{
	void *map = mmap(
		NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (map == MAP_FAILED)
		return kp_diag_no_memory(diag);
	if (!read_whole(fd, map, size) || mprotect(map, size, PROT_READ) < 0) {
		(void)munmap(map, size);
		return bad("its file cannot be read", diag);
	}
	struct kp_view *made = make(map, size, size, diag);
	if (!made)
		return -1;
	*view = made;
	return 0;
}

int kp_view_read(const char *path, uid_t owner, struct kp_view_stamp *stamp,
	struct kp_view **view, struct kp_diag *diag)
{
	const struct kp_trust trust = {.owner = owner, .group = KP_TRUST_NO_GROUP};
	struct stat st;
	owned_fd fd = kp_file_open(AT_FDCWD, path, &st, diag);

	if (fd < 0)
		return -1;
	struct kp_view_stamp now = {st.st_dev, st.st_ino, st.st_size, st.st_mtim};
	if (is_same(stamp, &now)) {
		*view = NULL;
		return 0;
	}
	*stamp = now;
	if (kp_trust_file(&trust, fd, &st, path, diag) < 0)
		return -1;
	if (st.st_size < KP_TABLE_HEADER || st.st_size > KP_TABLE_MOST)
		return bad("its size is none of a table", diag);
	return read_table(fd, (size_t)st.st_size, view, diag);
}
