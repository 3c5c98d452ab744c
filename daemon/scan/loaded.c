/* SPDX-License-Identifier: MIT */
/* The directory of loaded libraries. */
#include "daemon/scan/loaded.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "daemon/store/digest.h"
#include "daemon/store/tree.h"
#include "lib/base/file.h"
#include "lib/base/json.h"
#include "lib/base/text.h"
#include "lib/base/trust.h"

enum { NAME_BYTES = 96, COMPLETE_S = 60 };
static const uint64_t file_most = (uint64_t)DIGEST_FILE_MIB << 20;

/* ---- the directory ----------------------------------------------------------- */

char *loaded_open(const char *state_dir, struct kp_diag *diag)
{
	char *whole = realpath(state_dir, NULL);
	char *dir = NULL;

	if (!whole || asprintf(&dir, "%s/loaded", whole) < 0) {
		free(whole);
		kp_diag_no_memory(diag);
		return NULL;
	}
	free(whole);
	if (tree_remove(AT_FDCWD, dir) == 0 || errno == ENOENT) {
		if (kp_file_make_dirs(dir, 0700, diag) == 0)
			return dir;
	} else {
		kp_diag_set(diag, "write_failed", dir, "cannot empty %s: %s", dir,
			strerror(errno));
	}
	free(dir);
	return NULL;
}

static size_t count_of(const char *dir)
{
	DIR *stream = opendir(dir);
	struct dirent *item;
	size_t count = 0;

	while (stream && (item = readdir(stream)))
		count += kp_text_ends_with(item->d_name, ".json");
	if (stream)
		(void)closedir(stream);
	return count;
}

/* ---- what comes -------------------------------------------------------------- */

static const char *kind_of(mode_t mode)
{
	return S_ISDIR(mode)	? "a directory"
	       : S_ISFIFO(mode) ? "a pipe"
	       : S_ISSOCK(mode) ? "a socket"
	       : S_ISLNK(mode)	? "a symbolic link"
				: "a device or such";
}

/* The path is for people: it may be another file's by now. */
static const char *path_of(int fd, char *path, size_t size)
{
	char link[64];

	(void)snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	ssize_t n = readlink(link, path, size - 1);
	path[n > 0 ? n : 0] = '\0';
	return path;
}

static int check_kind(
	int fd, const struct stat *st, const char *path, struct kp_diag *diag)
{
	int flags = fcntl(fd, F_GETFL);

	if (flags < 0 || flags & O_PATH || (flags & O_ACCMODE) == O_WRONLY)
		return kp_diag_set(diag, "not_readable", path,
			"%s: the descriptor was opened %s, and cannot be read", path,
			flags >= 0 && flags & O_PATH ? "with O_PATH"
						     : "for writing only");
	if (!S_ISREG(st->st_mode))
		return kp_diag_set(diag, "not_regular_file", path,
			"%s is %s, not a regular file", path, kind_of(st->st_mode));
	/* Nobody can say who may write it, and whose it is. */
	if (st->st_nlink == 0)
		return kp_diag_set(diag, "unlinked_file", path,
			"%s has no name in any directory (memfd or removed): load a file "
			"that has one",
			path);
	if ((uint64_t)st->st_size > file_most)
		return kp_diag_set(diag, "file_too_large", path,
			"%s has %lld bytes; %d MiB are the most", path,
			(long long)st->st_size, DIGEST_FILE_MIB);
	return 0;
}

int loaded_check(int fd, bool for_all, const struct kp_trust *trust, struct kp_diag *diag)
{
	char path[PATH_MAX];
	struct stat st;

	path_of(fd, path, sizeof(path));
	if (fstat(fd, &st) < 0)
		return kp_diag_set(diag, "io_error", path, "cannot stat %s: %s", path,
			strerror(errno));
	if (check_kind(fd, &st, path, diag) < 0)
		return -1;
	if (for_all && !(st.st_mode & S_IROTH))
		return kp_diag_set(diag, "not_world_readable", path,
			"%s has mode %04o: what is not readable by everybody is not "
			"copied to where it would be; `chmod a+r %s` if everybody may "
			"read it",
			path, (unsigned)st.st_mode & 07777, path);
	return trust ? kp_trust_file(trust, fd, &st, path, diag) : 0;
}

void loaded_name(int fd, char *name, size_t size)
{
	char path[PATH_MAX];

	path_of(fd, path, sizeof(path));
	size_t length;
	const char *base = kp_text_stem(path, ".so", &length);
	(void)snprintf(name, size, "%.*s", (int)length, base);
	if (length >= size || !kp_text_is_name(name))
		name[0] = '\0';
}

/* ---- copies ------------------------------------------------------------------ */

static int failed(const char *what, const char *name, struct kp_diag *diag)
{
	return kp_diag_set(diag, "write_failed", name, "%s: cannot %s: %s", name, what,
		strerror(errno));
}

/* It is complete: nobody need wait to see whether more is written. */
static int copy(
	int dir, const char *name, const char *file, int from, struct kp_diag *diag)
{
	const struct timespec then = {.tv_sec = time(NULL) - COMPLETE_S};
	const struct timespec times[2] = {then, then};
	char digest[DIGEST_TEXT];
	__attribute__((cleanup(kp_file_close))) int to = openat(
		dir, file, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);

	if (to < 0)
		return errno == EEXIST ? kp_diag_set(diag, "name_taken", name,
						 "%s is just being loaded", name)
				       : failed("make a copy", name, diag);
	if (digest_copy(from, to, file_most, name, digest, NULL, diag) < 0)
		return -1;
	/* Not the umask, but this. */
	return fchmod(to, 0644) < 0 || futimens(to, times) < 0
		       ? failed("finish the copy", name, diag)
		       : 0;
}

static int write_manifest(
	int dir, const char *path, const char *name, struct kp_diag *diag)
{
	char file[NAME_BYTES];
	char *text;

	(void)snprintf(file, sizeof(file), "%s.json", name);
	json_t *manifest = json_sprintf("%s/%s.so", path, name);
	json_t *object = json_pack("{s:o}", "library", manifest);
	text = object ? kp_json_dumps(object, JSON_COMPACT) : NULL;
	json_decref(object);
	if (!text)
		return kp_diag_no_memory(diag);
	int result = kp_file_replace(dir, file, text, strlen(text), 0644, false, diag);
	free(text);
	return result;
}

static int add(int dir, const char *path, const char *name, int fd, struct kp_diag *diag)
{
	char new[NAME_BYTES], file[NAME_BYTES];

	(void)snprintf(new, sizeof(new), ".%s.so.new", name);
	(void)snprintf(file, sizeof(file), "%s.so", name);
	if (faccessat(dir, file, F_OK, 0) == 0)
		return kp_diag_set(diag, "name_taken", name,
			"%s is loaded already; unload it, or give another name with "
			"--name",
			name);
	int result = copy(dir, name, new, fd, diag);
	if (result == 0 && renameat(dir, new, dir, file) < 0)
		result = failed("name the copy", name, diag);
	if (result == 0)
		result = write_manifest(dir, path, name, diag);
	if (result < 0 && strcmp(diag->code, "name_taken") != 0) {
		(void)unlinkat(dir, new, 0);
		(void)unlinkat(dir, file, 0);
	}
	return result;
}

int loaded_add(const char *dir, const char *name, int fd, struct kp_diag *diag)
{
	__attribute__((cleanup(kp_file_close))) int at =
		open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (at < 0)
		return failed("open the directory of loaded plugins", name, diag);
	if (count_of(dir) >= LOADED_MOST)
		return kp_diag_set(diag, "too_many", name,
			"%d plugins are loaded, which is the most: unload one, or "
			"install it",
			LOADED_MOST);
	return add(at, dir, name, fd, diag);
}

bool loaded_remove(const char *dir, const char *name)
{
	char file[NAME_BYTES];
	__attribute__((cleanup(kp_file_close))) int at =
		open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	(void)snprintf(file, sizeof(file), "%s.json", name);
	if (at < 0 || unlinkat(at, file, 0) < 0)
		return false;
	(void)snprintf(file, sizeof(file), "%s.so", name);
	(void)unlinkat(at, file, 0);
	return true;
}
