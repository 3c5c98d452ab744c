/* SPDX-License-Identifier: MIT */
/* Reads layered directories of manifests: which file counts for each name. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "lib/base/owned.h"
#include "lib/base/text.h"
#include "lib/base/trust.h"
#include "lib/plugin/manifest.h"

static const char SUFFIX[] = ".json";
static const char NOTHING[] = "/dev/null";
enum { SUFFIX_LENGTH = sizeof(SUFFIX) - 1 };

/* A file of one layer. name is safe text, file the raw name. */
struct entry {
	char *name;
	char *file;
	size_t layer;
};

/* A directory; what is wrong with it is wrong with all that is in it. */
struct layer {
	int fd;			 /* or -1 */
	struct kp_trust_dir dir; /* where trust is asked for */
	struct kp_diag *untrusted;
};

struct scan {
	const char *const *dirs;
	size_t n_dirs;
	struct layer *layers;	      /* one a directory */
	const struct kp_trust *trust; /* NULL: whoever may write, is believed */
	kp_manifest_known_fn *known;  /* or NULL */
	void *context;
	struct entry *entries;
	size_t count, room;
};

static void scan_finish(struct scan *scan)
{
	for (size_t i = 0; i < scan->count; i++) {
		free(scan->entries[i].name);
		free(scan->entries[i].file);
	}
	for (size_t i = 0; scan->layers && i < scan->n_dirs; i++) {
		kp_file_close(&scan->layers[i].fd);
		kp_trust_dir_close(&scan->layers[i].dir);
		free(scan->layers[i].untrusted);
	}
	free(scan->entries);
	free(scan->layers);
}

static int scan_init(struct scan *scan, const char *const *dirs, size_t count,
	const struct kp_trust *trust)
{
	*scan = (struct scan){.dirs = dirs, .n_dirs = count, .trust = trust};
	scan->layers = calloc(count + 1, sizeof(*scan->layers));
	if (!scan->layers)
		return -1;
	for (size_t i = 0; i < count; i++)
		scan->layers[i].fd = -1;
	return 0;
}

/* Editors' files start with a dot or end otherwise. */
static bool is_manifest(const char *file)
{
	return file[0] != '.' && kp_text_ends_with(file, SUFFIX);
}

static char *clean_name(const char *file)
{
	size_t length = strlen(file) - SUFFIX_LENGTH;
	char *name = malloc(length * 4 + 1);
	if (name)
		kp_text_clean_bytes(file, length, name, length * 4 + 1);
	return name;
}

static int add(struct scan *scan, const char *file, size_t layer)
{
	if (scan->count == scan->room) {
		size_t room = scan->room ? scan->room * 2 : 64;
		struct entry *entries =
			reallocarray(scan->entries, room, sizeof(*entries));
		if (!entries)
			return -1;
		scan->entries = entries;
		scan->room = room;
	}
	struct entry entry = {clean_name(file), strdup(file), layer};
	scan->entries[scan->count++] = entry;
	return entry.name && entry.file ? 0 : -1;
}

static void warn_unreadable(struct kp_diags *warnings, const char *dir, int error)
{
	struct kp_diag diag;
	kp_diag_set(&diag, "unreadable_directory", dir,
		"cannot read the manifest directory %s: %s", dir, strerror(error));
	kp_diags_add(warnings, &diag);
}

/* -1 only when memory is exhausted. */
static int scan_stream(
	struct scan *scan, DIR *stream, size_t layer, struct kp_diags *warnings)
{
	struct dirent *file;

	while (errno = 0, (file = readdir(stream)))
		if (is_manifest(file->d_name) && add(scan, file->d_name, layer) < 0)
			return -1;
	if (errno)
		warn_unreadable(warnings, scan->dirs[layer], errno);
	return 0;
}

static int keep_diag(struct kp_diag **kept, const struct kp_diag *diag)
{
	*kept = malloc(sizeof(**kept));
	if (!*kept)
		return -1;
	**kept = *diag;
	return 0;
}

/* Others must not add files either: here no stickiness helps. -1: memory. */
static int judge_layer(struct scan *scan, size_t layer)
{
	struct layer *its = &scan->layers[layer];
	const char *path = scan->dirs[layer];
	struct kp_diag diag;
	struct stat st;

	if (kp_trust_dir_open(&its->dir, scan->trust, path, &diag) < 0) {
		its->dir = (struct kp_trust_dir){0};
		return strcmp(diag.code, "missing_file") == 0
			       ? 0
			       : keep_diag(&its->untrusted, &diag);
	}
	if (fstat(its->dir.fd, &st) < 0)
		kp_diag_set(&diag, "io_error", path, "cannot look at %s: %s", path,
			strerror(errno));
	else if (kp_trust_file(scan->trust, its->dir.fd, &st, path, &diag) == 0)
		return 0;
	return keep_diag(&its->untrusted, &diag);
}

/* What was judged is what is read. */
static int open_layer(const struct scan *scan, size_t layer)
{
	const struct kp_trust_dir *judged = &scan->layers[layer].dir;

	return judged->path ? openat(judged->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
			    : open(scan->dirs[layer], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static int scan_layer(struct scan *scan, size_t layer, struct kp_diags *warnings)
{
	const char *dir = scan->dirs[layer];

	if (scan->trust && judge_layer(scan, layer) < 0)
		return -1;
	int fd = open_layer(scan, layer);
	if (fd < 0) {
		if (errno != ENOENT)
			warn_unreadable(warnings, dir, errno);
		return 0;
	}
	/* Files are opened below this one, even if a link to it is swapped. */
	scan->layers[layer].fd = fd;
	int own = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	DIR *stream = own >= 0 ? fdopendir(own) : NULL;
	if (!stream) {
		warn_unreadable(warnings, dir, errno);
		kp_file_close(&own);
		return 0;
	}
	int result = scan_stream(scan, stream, layer, warnings);
	(void)closedir(stream);
	return result;
}

static int compare_entries(const void *a, const void *b)
{
	const struct entry *one = a;
	const struct entry *other = b;
	int order = strcmp(one->name, other->name);
	if (order)
		return order;
	if (one->layer != other->layer)
		return one->layer < other->layer ? -1 : 1;
	return strcmp(one->file, other->file);
}

static bool is_masked(int dir, const char *file)
{
	struct stat st;
	char target[sizeof(NOTHING)];

	/* Where there is no /dev, the link's text still says what is meant. */
	ssize_t n = readlinkat(dir, file, target, sizeof(target));
	if (n == (ssize_t)sizeof(NOTHING) - 1 && memcmp(target, NOTHING, (size_t)n) == 0)
		return true;
	return fstatat(dir, file, &st, 0) == 0 && S_ISCHR(st.st_mode) &&
	       st.st_rdev == makedev(1, 3);
}

static bool is_gone(int dir, const char *file)
{
	struct stat st;
	return fstatat(dir, file, &st, AT_SYMLINK_NOFOLLOW) < 0 && errno == ENOENT;
}

static int set_error(struct kp_manifest *manifest, const struct kp_diag *diag)
{
	if (keep_diag(&manifest->error, diag) == 0)
		return 0;
	kp_manifest_finish(manifest);
	return -1;
}

/* A manifest that cannot be read: its digest changes with the reason. */
static int set_unread(
	struct kp_manifest *manifest, const char *path, struct kp_diag *diag)
{
	kp_diag_at(diag, path, 0, 0);
	if (kp_manifest_begin(
		    diag->message, strlen(diag->message), path, manifest, diag) < 0)
		return -1;
	return set_error(manifest, diag);
}

static int set_text(
	struct kp_manifest *manifest, const char *path, const char *text, size_t size)
{
	struct kp_diag diag;

	if (size > 0 && kp_manifest_parse(text, size, path, manifest, &diag) == 0)
		return 0;
	if (kp_manifest_begin(text, size, path, manifest, NULL) < 0)
		return -1;
	manifest->masked = size == 0;
	return size == 0 ? 0 : set_error(manifest, &diag);
}

enum outcome { NO_MEMORY = -1, GONE, READ };

static enum outcome read_unread(const struct scan *scan, const struct entry *entry,
	const char *path, struct kp_diag *diag, struct kp_manifest *manifest)
{
	if (is_gone(scan->layers[entry->layer].fd, entry->file))
		return GONE;
	return set_unread(manifest, path, diag) < 0 ? NO_MEMORY : READ;
}

/* What others may have put there is not even known. */
static int check_trust(const struct layer *layer, const char *file, struct kp_diag *diag)
{
	if (layer->untrusted) {
		*diag = *layer->untrusted;
		return -1;
	}
	return layer->dir.path ? kp_trust_path_at(&layer->dir, file, diag) : 0;
}

static int read_text(const struct layer *layer, const char *file, char **text,
	size_t *size, struct kp_diag *diag)
{
	owned_fd fd = layer->dir.path ? kp_trust_open_at(&layer->dir, file, NULL, diag)
				      : kp_file_open(layer->fd, file, NULL, diag);

	return fd < 0 ? -1
		      : kp_file_read_open(fd, file, KP_MANIFEST_BYTES, text, size, diag);
}

static enum outcome read_file(const struct scan *scan, const struct entry *entry,
	const char *path, struct kp_manifest *manifest)
{
	const struct layer *layer = &scan->layers[entry->layer];
	struct kp_diag diag;
	char *text;
	size_t size;
	bool trusted = check_trust(layer, entry->file, &diag) == 0;

	if (trusted && scan->known &&
		scan->known(scan->context, entry->layer, entry->file, manifest))
		return READ;
	/* Whose link it is does not matter where nobody else can put any. */
	if (!layer->untrusted && is_masked(layer->fd, entry->file))
		return set_text(manifest, path, "", 0) < 0 ? NO_MEMORY : READ;
	if (!trusted)
		return read_unread(scan, entry, path, &diag, manifest);
	if (read_text(layer, entry->file, &text, &size, &diag) < 0)
		return read_unread(scan, entry, path, &diag, manifest);
	int result = set_text(manifest, path, text, size);
	free(text);
	return result < 0 ? NO_MEMORY : READ;
}

static enum outcome read_entry(
	const struct scan *scan, const struct entry *entry, struct kp_manifest *manifest)
{
	struct kp_diag diag;
	enum outcome outcome;
	char *path;

	if (asprintf(&path, "%s/%s%s", scan->dirs[entry->layer], entry->name, SUFFIX) < 0)
		return NO_MEMORY;
	if (kp_text_is_name(entry->name)) {
		outcome = read_file(scan, entry, path, manifest);
	} else {
		kp_diag_set(&diag, "bad_name", entry->name,
			"\"%.100s\" is not a name for a plugin: %s", entry->name,
			kp_text_name_rule);
		outcome = set_unread(manifest, path, &diag) < 0 ? NO_MEMORY : READ;
	}
	free(path);
	if (outcome == READ)
		manifest->layer = entry->layer;
	return outcome;
}

static void warn_too_many(struct kp_manifests *out, const char *first)
{
	struct kp_diag diag;
	kp_diag_set(&diag, "too_many", first,
		"more than %d manifests: %s and those behind it are ignored",
		KP_MANIFESTS, first);
	kp_diags_add(&out->warnings, &diag);
}

/* Entries are sorted: of one name the first that can be read counts. */
static int read_entries(const struct scan *scan, struct kp_manifests *out)
{
	const char *last = NULL;

	out->items = calloc(scan->count + 1, sizeof(*out->items));
	if (!out->items)
		return -1;
	for (size_t i = 0; i < scan->count; i++) {
		const struct entry *entry = &scan->entries[i];
		if (last && strcmp(entry->name, last) == 0)
			continue;
		if (out->count == KP_MANIFESTS) {
			warn_too_many(out, entry->name);
			break;
		}
		enum outcome outcome = read_entry(scan, entry, &out->items[out->count]);
		if (outcome == NO_MEMORY)
			return -1;
		if (outcome == GONE)
			continue;
		last = entry->name;
		out->count++;
	}
	return 0;
}

int kp_manifests_read_known(const char *const *dirs, size_t count,
	const struct kp_trust *trust, kp_manifest_known_fn *known, void *context,
	struct kp_manifests *out, struct kp_diag *diag)
{
	struct kp_manifests read = {0};
	struct scan scan;
	int result = scan_init(&scan, dirs, count, trust);

	scan.known = known;
	scan.context = context;
	for (size_t i = 0; result == 0 && i < count; i++)
		result = scan_layer(&scan, i, &read.warnings);
	if (result == 0 && scan.count)
		qsort(scan.entries, scan.count, sizeof(*scan.entries), compare_entries);
	if (result == 0)
		result = read_entries(&scan, &read);
	scan_finish(&scan);
	if (result < 0) {
		kp_manifests_finish(&read);
		return kp_diag_no_memory(diag);
	}
	*out = read;
	return 0;
}

int kp_manifests_read(const char *const *dirs, size_t count, struct kp_manifests *out,
	struct kp_diag *diag)
{
	return kp_manifests_read_known(dirs, count, NULL, NULL, NULL, out, diag);
}

int kp_manifests_read_trusted(const char *const *dirs, size_t count,
	const struct kp_trust *trust, struct kp_manifests *out, struct kp_diag *diag)
{
	return kp_manifests_read_known(dirs, count, trust, NULL, NULL, out, diag);
}

static int compare_to_name(const void *name, const void *manifest)
{
	return strcmp(name, ((const struct kp_manifest *)manifest)->name);
}

const struct kp_manifest *kp_manifests_find(
	const struct kp_manifests *manifests, const char *name)
{
	if (!manifests->count)
		return NULL;
	return bsearch(name, manifests->items, manifests->count,
		sizeof(*manifests->items), compare_to_name);
}

void kp_manifests_finish(struct kp_manifests *manifests)
{
	if (!manifests)
		return;
	for (size_t i = 0; i < manifests->count; i++)
		kp_manifest_finish(&manifests->items[i]);
	free(manifests->items);
	kp_diags_finish(&manifests->warnings);
	*manifests = (struct kp_manifests){0};
}
