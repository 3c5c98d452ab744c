/* SPDX-License-Identifier: MIT */
/* Comparing stamps of an index with those of now. */
#include "daemon/scan/index_look.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "daemon/scan/index.h"
#include "lib/base/file.h"
#include "lib/base/trust.h"

/* What every library needs is looked at once. */
enum { SHARED_MOST = 32 };

struct looking {
	const struct index_look *look;
	size_t plugin_dir; /* length */
	int store;
	struct kp_trust_look trust;
	size_t count;
	struct {
		const char *path;
		struct stamp stamp;
	} shared[SHARED_MOST];
};

/* The name of a file right inside of the plugin directory; or NULL. */
static const char *name_in_plugin_dir(const struct looking *looking, const char *path)
{
	size_t length = looking->plugin_dir;

	if (strncmp(path, looking->look->plugin_dir, length) != 0 || path[length] != '/')
		return NULL;
	return strchr(path + length + 1, '/') ? NULL : path + length + 1;
}

static void stamp_of(struct looking *looking, const char *path, struct stamp *stamp)
{
	const char *name = name_in_plugin_dir(looking, path);
	const struct sighting *seen =
		name ? sightings_find(looking->look->libraries, name) : NULL;

	if (seen) {
		*stamp = seen->stamp;
		return;
	}
	for (size_t i = 0; i < looking->count; i++) {
		if (strcmp(looking->shared[i].path, path) != 0)
			continue;
		*stamp = looking->shared[i].stamp;
		return;
	}
	stamp_take(path, stamp);
	if (looking->count == SHARED_MOST)
		return;
	looking->shared[looking->count].path = path;
	looking->shared[looking->count++].stamp = *stamp;
}

static bool is_trusted(struct looking *looking, const struct traced *file)
{
	return !file->stamp.exists || kp_trust_look(&looking->trust, file->path);
}

static bool files_hold(struct looking *looking, const struct trace *trace)
{
	for (size_t i = 0; i < trace->count; i++) {
		struct stamp now;
		stamp_of(looking, trace->items[i].path, &now);
		if (!stamp_equal(&now, &trace->items[i].stamp) ||
			!is_trusted(looking, &trace->items[i]))
			return false;
	}
	return trace->count > 0;
}

/* What was added to a directory of the entry gave it another time. */
static bool entry_holds(const struct looking *looking, const struct trace *kept)
{
	for (size_t i = 0; i < kept->count; i++) {
		struct stamp now;
		struct stat st;
		if (fstatat(looking->store, kept->items[i].path, &st,
			    AT_SYMLINK_NOFOLLOW) < 0)
			return false;
		stamp_from_stat(&st, &now);
		if (!stamp_equal(&now, &kept->items[i].stamp))
			return false;
	}
	return kept->count > 1;
}

void index_look(struct index *index, const struct index_look *look)
{
	struct looking looking = {.look = look,
		.plugin_dir = strlen(look->plugin_dir),
		.trust = {.trust = look->trust},
		.store = open(look->store_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC)};

	for (size_t i = 0; looking.store >= 0 && i < index->count; i++) {
		struct index_item *item = &index->items[i];
		item->holds = item->is_known && entry_holds(&looking, item->kept) &&
			      files_hold(&looking, item->trace);
	}
	kp_trust_look_finish(&looking.trust);
	kp_file_close(&looking.store);
}
