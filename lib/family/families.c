/* SPDX-License-Identifier: MIT */
/* A directory of families; a wrong file leaves the others alone. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/file.h"
#include "lib/base/json.h"
#include "lib/base/text.h"
#include "lib/family/family.h"

enum { FAMILIES_MOST = 4096 };

static int is_family(const struct dirent *entry)
{
	return entry->d_name[0] != '.' && kp_text_ends_with(entry->d_name, ".json");
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

static int by_operation(const void *a, const void *b)
{
	const struct kp_family *left = a;
	const struct kp_family *right = b;
	return strcmp(left->operation, right->operation);
}

/* gemm/mm is in gemm.mm.json, so that a name says what is inside. */
static int check_name(
	const struct kp_family *family, const char *path, struct kp_diag *diag)
{
	char wanted[160];
	const char *slash = strrchr(path, '/');

	(void)snprintf(wanted, sizeof(wanted), "%s.json", family->operation);
	wanted[strcspn(wanted, "/")] = '.';
	if (strcmp(slash ? slash + 1 : path, wanted) == 0)
		return 0;
	kp_diag_set(diag, "bad_family", "operation", "the file of %s must be named %s",
		family->operation, wanted);
	return kp_diag_at(diag, path, 0, 0);
}

/* Two spellings of a name cannot meet: gemm.x/y and gemm/x.y have one file name. */
static int read_family(const char *path, struct kp_family *family, struct kp_diag *diag)
{
	char *text = NULL;
	size_t size = 0;

	if (kp_file_read(AT_FDCWD, path, KP_JSON_BYTES, &text, &size, diag) < 0)
		return -1;
	int rc = kp_family_parse(text, size, path, family, diag);
	free(text);
	if (rc == 0 && check_name(family, path, diag) < 0) {
		kp_family_finish(family);
		return -1;
	}
	return rc;
}

/* Adds it to the problems, so that no family is left out unseen. */
static int report(struct kp_diags *problems, const struct kp_diag *diag)
{
	size_t before = problems->count;
	if (strcmp(diag->code, "no_memory") == 0)
		return -1;
	kp_diags_add(problems, diag);
	return problems->count == before ? -1 : 0;
}

static int read_all(const char *dir, struct dirent **entries, size_t count,
	struct kp_families *families, struct kp_diags *problems)
{
	families->items = calloc(count ? count : 1, sizeof(*families->items));
	if (!families->items)
		return -1;
	for (size_t i = 0; i < count; i++) {
		struct kp_diag diag = {0};
		char *path = NULL;
		if (asprintf(&path, "%s/%s", dir, entries[i]->d_name) < 0)
			return -1;
		int rc = read_family(path, &families->items[families->count], &diag);
		free(path);
		if (rc == 0)
			families->count++;
		else if (report(problems, &diag) < 0)
			return -1;
	}
	qsort(families->items, families->count, sizeof(*families->items), by_operation);
	return 0;
}

static int cannot_list(const char *dir, struct kp_diags *problems)
{
	struct kp_diag diag;
	if (errno == ENOMEM)
		return -1;
	kp_diag_set(&diag, errno == ENOENT ? "missing_directory" : "io_error", dir,
		"the directory of families %s cannot be read: %s", dir, strerror(errno));
	return report(problems, &diag);
}

int kp_families_read(
	const char *dir, struct kp_families *families, struct kp_diags *problems)
{
	struct kp_families made = {0};
	struct dirent **entries = NULL;
	int count = scandir(dir, &entries, is_family, by_name);

	if (count < 0) {
		if (cannot_list(dir, problems) < 0)
			return -1;
		*families = made;
		return 0;
	}
	size_t most = count < FAMILIES_MOST ? (size_t)count : FAMILIES_MOST;
	int rc = read_all(dir, entries, most, &made, problems);
	for (int i = 0; i < count; i++)
		free(entries[i]);
	free(entries);
	if (rc < 0)
		kp_families_finish(&made);
	else
		*families = made;
	return rc;
}
