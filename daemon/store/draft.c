/* SPDX-License-Identifier: MIT */
/* Drafts: copying into the store, and making an entry of the copies. */
#include "daemon/store/store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "daemon/scan/path.h"
#include "daemon/store/store_entry.h"
#include "daemon/store/tree.h"
#include "lib/base/file.h"
#include "lib/base/trust.h"

static const uint64_t file_most = (uint64_t)STORE_FILE_MIB << 20;

/*
 * The copies are files ".copy-0", ... of the directory until it is kept, and becomes the
 * entry itself: file systems do not like a directory made and removed for each plugin.
 * It is ours alone: what a library reaches may be anything, and is not published before
 * it is known to be a library.
 */
enum { COPY_NAME = 32 };

struct draft {
	struct store *store;
	char name[16]; /* of the directory in the store, or "" */
	int fd;
	bool doubts;
	struct trace *kept; /* of the entry it became */
	size_t count;
	struct draft_file files[STORE_FILES];
};

static int make_dir(struct draft *draft, struct kp_diag *diag)
{
	char *path;
	int n = asprintf(&path, "%s/.new-XXXXXX", draft->store->dir);

	if (n < 0)
		return kp_diag_no_memory(diag);
	if (!mkdtemp(path)) {
		kp_diag_set(diag, "write_failed", draft->store->dir,
			"cannot make a directory in the store %s: %s", draft->store->dir,
			strerror(errno));
		free(path);
		return -1;
	}
	(void)snprintf(draft->name, sizeof(draft->name), "%s", strrchr(path, '/') + 1);
	free(path);
	draft->fd = openat(draft->store->fd, draft->name,
		O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (draft->fd < 0)
		return kp_diag_set(diag, "write_failed", draft->store->dir,
			"cannot use a directory of the store %s: %s", draft->store->dir,
			strerror(errno));
	return 0;
}

struct draft *draft_new(struct store *store, struct kp_diag *diag)
{
	struct draft *draft = calloc(1, sizeof(*draft));

	if (!draft) {
		kp_diag_no_memory(diag);
		return NULL;
	}
	draft->store = store;
	draft->fd = -1;
	if (make_dir(draft, diag) < 0) {
		draft_free(draft);
		return NULL;
	}
	return draft;
}

void draft_doubt(struct draft *draft)
{
	draft->doubts = true;
}

static void file_finish(struct draft_file *file)
{
	free(file->from);
	free(file->at);
}

void draft_free(struct draft *draft)
{
	if (!draft)
		return;
	kp_file_close(&draft->fd);
	trace_unref(draft->kept);
	if (draft->name[0])
		(void)tree_remove(draft->store->fd, draft->name);
	for (size_t i = 0; i < draft->count; i++)
		file_finish(&draft->files[i]);
	free(draft);
}

size_t draft_count(const struct draft *draft)
{
	return draft->count;
}

const struct draft_file *draft_file(const struct draft *draft, size_t i)
{
	return &draft->files[i];
}

static bool has_normal(const struct draft *draft, const char *at)
{
	for (size_t i = 0; i < draft->count; i++)
		if (strcmp(draft->files[i].at, at) == 0)
			return true;
	return false;
}

bool draft_has(const struct draft *draft, const char *path)
{
	char *at = path_normal(path);
	bool has = at && has_normal(draft, at);

	free(at);
	return has;
}

/* Length of the directory that holds all files, told from the start of each `at`. */
static size_t root_length(const struct draft *draft)
{
	const char *first = draft->files[0].at;
	size_t root = (size_t)(strrchr(first, '/') - first);

	for (size_t i = 1; i < draft->count; i++)
		root = path_common(draft->files[i].at, first, root);
	return root;
}

static unsigned ups(const struct draft *draft)
{
	unsigned slashes = 0;

	for (const char *c = draft->files[0].at + root_length(draft); *c; c++)
		slashes += *c == '/';
	return slashes - 1;
}

static int dangling(const char *path, struct kp_diag *diag)
{
	char target[256];
	ssize_t n = readlink(path, target, sizeof(target) - 1);

	if (n < 0)
		return -1;
	target[n] = '\0';
	return kp_diag_set(diag, "dangling_link", path,
		"%s is a link to %s, which does not exist", path, target);
}

static int open_source(const struct store *store, const char *path, struct stat *st,
	struct kp_diag *diag)
{
	const struct kp_trust *trust = store->wish.trust;
	struct kp_diag own;
	int fd = trust ? kp_trust_open(trust, path, st, &own)
		       : kp_file_open(AT_FDCWD, path, st, &own);

	if (fd >= 0)
		return fd;
	if (strcmp(own.code, "missing_file") == 0)
		(void)dangling(path, &own);
	*diag = own;
	return -1;
}

static void name_copy(char name[COPY_NAME], size_t i)
{
	(void)snprintf(name, COPY_NAME, ".copy-%zu", i);
}

/* A copy that was begun before the file changed gives way. */
static int create(const struct draft *draft, const char *name)
{
	const int flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
	int fd = openat(draft->fd, name, flags, 0444);

	if (fd >= 0 || errno != EEXIST)
		return fd;
	(void)unlinkat(draft->fd, name, 0);
	return openat(draft->fd, name, flags, 0444);
}

static int copy(
	struct draft *draft, int from, struct draft_file *file, struct kp_diag *diag)
{
	char name[COPY_NAME];

	name_copy(name, draft->count);
	int to = create(draft, name);
	if (to < 0)
		return kp_diag_set(diag, "write_failed", file->from,
			"cannot make a file in the store: %s", strerror(errno));
	int failed = digest_copy(
		from, to, file_most, file->from, file->digest, &file->size, diag);
	/* Not the caller's umask, but this. */
	if (!failed && fchmod(to, 0444) < 0)
		failed = kp_diag_set(diag, "write_failed", file->from,
			"cannot write a file in the store: %s", strerror(errno));
	kp_file_close(&to);
	return failed;
}

/* The file is what it was when it was opened, or somebody is writing it. */
static enum draft_result copy_settled(struct draft *draft, int from,
	struct draft_file *file, unsigned *wait_ms, struct kp_diag *diag)
{
	struct stat st;
	struct stamp after;

	*wait_ms = stamp_settles_in(&file->stamp, stamp_now());
	if (*wait_ms > 0)
		return DRAFT_YOUNG;
	if (copy(draft, from, file, diag) < 0)
		return DRAFT_WRONG;
	if (fstat(from, &st) < 0) {
		kp_diag_set(diag, "io_error", file->from, "cannot stat %s: %s",
			file->from, strerror(errno));
		return DRAFT_WRONG;
	}
	stamp_from_stat(&st, &after);
	if (!stamp_equal(&after, &file->stamp)) {
		*wait_ms = STAMP_SETTLE_MS;
		return DRAFT_YOUNG;
	}
	return DRAFT_ADDED;
}

/* May everybody have it? */
static int check_for_all(const struct stat *st, const char *path, struct kp_diag *diag)
{
	if (st->st_mode & S_IROTH)
		return 0;
	return kp_diag_set(diag, "not_world_readable", path,
		"%s has mode %04o: what is not readable by everybody is not copied to "
		"where it would be; `chmod a+r %s` if everybody may read it",
		path, (unsigned)st->st_mode & 07777, path);
}

static enum draft_result add(struct draft *draft, struct draft_file *file,
	unsigned *wait_ms, struct kp_diag *diag)
{
	struct stat st;
	int from = open_source(draft->store, file->from, &st, diag);

	if (from < 0)
		return DRAFT_WRONG;
	stamp_from_stat(&st, &file->stamp);
	enum draft_result result = DRAFT_WRONG;
	if ((uint64_t)st.st_size > file_most)
		kp_diag_set(diag, "file_too_large", file->from,
			"%s has %lld bytes; %d MiB are the most", file->from,
			(long long)st.st_size, STORE_FILE_MIB);
	else if (!draft->store->wish.for_all || check_for_all(&st, file->from, diag) == 0)
		result = copy_settled(draft, from, file, wait_ms, diag);
	kp_file_close(&from);
	return result;
}

static int check_room(const struct draft *draft, const char *path, struct kp_diag *diag)
{
	if (draft->count == STORE_FILES)
		return kp_diag_set(diag, "too_many_files", path,
			"the library reaches more than %d files by $ORIGIN", STORE_FILES);
	return 0;
}

static int check_ups(const struct draft *draft, const char *path, struct kp_diag *diag)
{
	if (ups(draft) > STORE_UPS)
		return kp_diag_set(diag, "outside", path,
			"%s is more than %d directories above the library", path,
			STORE_UPS);
	return 0;
}

enum draft_result draft_add(
	struct draft *draft, const char *path, unsigned *wait_ms, struct kp_diag *diag)
{
	if (check_room(draft, path, diag) < 0)
		return DRAFT_WRONG;
	struct draft_file *file = &draft->files[draft->count];
	*file = (struct draft_file){.from = strdup(path), .at = path_normal(path)};
	enum draft_result result = DRAFT_WRONG;
	if (!file->from || !file->at)
		kp_diag_no_memory(diag);
	else
		result = add(draft, file, wait_ms, diag);
	if (result == DRAFT_ADDED) {
		draft->count++;
		if (check_ups(draft, path, diag) == 0)
			return DRAFT_ADDED;
		draft->count--;
		result = DRAFT_WRONG;
	}
	file_finish(file);
	return result;
}

int draft_open(const struct draft *draft, size_t i, struct kp_diag *diag)
{
	char name[COPY_NAME];

	name_copy(name, i);
	return kp_file_open(draft->fd, name, NULL, diag);
}

struct trace *draft_kept(struct draft *draft)
{
	return draft->kept ? trace_ref(draft->kept) : NULL;
}

static int closure_of(const struct draft *draft, size_t root, char closure[DIGEST_TEXT])
{
	struct tree_lines lines = {0};
	int failed = 0;

	for (size_t i = 0; i < draft->count && !failed; i++)
		failed = tree_lines_add(
			&lines, draft->files[i].digest, draft->files[i].at + root + 1);
	if (!failed)
		failed = tree_lines_digest(&lines, closure);
	tree_lines_finish(&lines);
	return failed;
}

/* Makes the directories of "a/b/c" that are above its last part. */
static int make_parents(int dir, char *path)
{
	for (char *slash = strchr(path, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		int failed = mkdirat(dir, path, 0755) < 0 && errno != EEXIST;
		*slash = '/';
		if (failed)
			return -1;
	}
	return 0;
}

/* Never onto a copy that has yet to move, whatever a library is called. */
static int plant(const struct draft *draft, size_t i, size_t root)
{
	char name[COPY_NAME];
	char *path = strdup(draft->files[i].at + root + 1);

	name_copy(name, i);
	if (!path)
		return -1;
	int failed = make_parents(draft->fd, path) < 0 ||
		     renameat2(draft->fd, name, draft->fd, path, RENAME_NOREPLACE) < 0;
	free(path);
	return failed ? -1 : 0;
}

/*
 * Another run of the same content may have been quicker: its entry is as good.
 * Sealed after the move: then everybody may see it.
 */
static int make_entry(
	struct draft *draft, size_t root, const char *closure, struct kp_diag *diag)
{
	struct store *store = draft->store;
	int failed = 0;

	for (size_t i = 0; i < draft->count && !failed; i++)
		failed = plant(draft, i, root);
	if (!failed && renameat(store->fd, draft->name, store->fd, closure) == 0) {
		draft->name[0] = '\0';
		(void)tree_publish(store->fd, closure);
		store_mark(store, closure, &draft->kept);
		return 0;
	}
	if (!failed && (errno == EEXIST || errno == ENOTEMPTY) &&
		store_keeps(store, closure, NULL, &draft->kept))
		return 0;
	return kp_diag_set(diag, "write_failed", store->dir,
		"cannot make an entry of the store %s: %s", store->dir, strerror(errno));
}

int draft_keep(struct draft *draft, char closure[DIGEST_TEXT], char **entry,
	bool *damaged, struct kp_diag *diag)
{
	char text[DIGEST_TEXT];
	size_t root = root_length(draft);
	char *name = strdup(draft->files[0].at + root + 1);

	if (!name || closure_of(draft, root, text) < 0) {
		free(name);
		return kp_diag_no_memory(diag);
	}
	if (draft->doubts)
		store_doubt(draft->store, text);
	if (!store_keeps(draft->store, text, damaged, &draft->kept) &&
		make_entry(draft, root, text, diag) < 0) {
		free(name);
		return -1;
	}
	memcpy(closure, text, sizeof(text));
	*entry = name;
	return 0;
}
