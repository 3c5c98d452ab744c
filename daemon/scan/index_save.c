/* SPDX-License-Identifier: MIT */
/* What a running daemon knows, as an index; and which index is of use to it. */
#include "daemon/scan/index_save.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "daemon/daemon.h"
#include "daemon/options.h"
#include "daemon/pipeline/pipeline.h"
#include "daemon/scan/index.h"
#include "daemon/scan/scan.h"
#include "daemon/scan/sighting.h"
#include "daemon/state/state.h"
#include "kplug/plugin.h"
#include "lib/base/build.h"
#include "lib/base/file.h"
#include "lib/base/hash.h"
#include "lib/base/version.h"
#include "lib/table/table_layout.h"

enum { CALM_MS = 1000, BOOT_MOST = 128 };

struct index_save {
	struct daemon *daemon;
	uv_timer_t calm;
	bool closing, wanted;
};

/* ---- the circumstances ---------------------------------------------------------- */

static void print_stamp(FILE *out, const char *path)
{
	struct stamp stamp;

	stamp_take(path, &stamp);
	fprintf(out, "%s %d %llu %llu %lld %lld %lld\n", path, stamp.exists,
		(unsigned long long)stamp.dev, (unsigned long long)stamp.ino,
		(long long)stamp.size, (long long)stamp.mtime, (long long)stamp.ctime);
}

static void print_families(FILE *out, const char *dir)
{
	struct sightings files = {0};

	print_stamp(out, dir);
	(void)sightings_read(dir, ".json", &files);
	for (size_t i = 0; i < files.count; i++) {
		const struct stamp *stamp = &files.items[i].stamp;
		fprintf(out, "%s %llu %llu %lld %lld %lld\n", files.items[i].name,
			(unsigned long long)stamp->dev, (unsigned long long)stamp->ino,
			(long long)stamp->size, (long long)stamp->mtime,
			(long long)stamp->ctime);
	}
	sightings_finish(&files);
}

/* Without it a mark of the store says nothing: then there is no index. */
static bool print_boot(FILE *out)
{
	static const char path[] = "/proc/sys/kernel/random/boot_id";
	char *text;
	size_t size;

	if (kp_file_read(AT_FDCWD, path, BOOT_MOST, &text, &size, NULL) < 0)
		return false;
	fprintf(out, "%s", text);
	free(text);
	return size > 0;
}

static bool print_key(const struct daemon *daemon, FILE *out)
{
	const struct options *options = daemon->options;

	fprintf(out, "%s %u.%u %d\n", kp_build_version, KP_ABI_MAJOR, KP_ABI_MINOR,
		options->system);
	for (size_t i = 0; i < options->n_manifest_dirs; i++)
		fprintf(out, "%s\n", options->manifest_dirs[i]);
	fprintf(out, "%s\n%s\n%s\n", options->plugin_dir, options->state_dir,
		daemon->platform_text);
	fprintf(out, "%d %d\n", daemon->confinement.filter, daemon->confinement.landlock);
	kp_signing_print(&options->signing, out);
	fprintf(out, "%s\n", options->signing.trusted);
	print_stamp(out, options->worker);
	print_families(out, options->families_dir);
	return print_boot(out);
}

/* Malloc'ed; NULL: no memory, or no boot. */
static char *make_key(const struct daemon *daemon, const struct kp_table *table)
{
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return NULL;
	bool good = print_key(daemon, out);
	fprintf(out, "%llx\n",
		(unsigned long long)kp_load64(table->bytes + KP_HEADER_CHECKSUM));
	if (fclose(out) == 0 && good)
		return text;
	free(text);
	return NULL;
}

/* Of those that hold until a restart no text tells: there are more than it says. */
static char *print_decisions(const struct kp_decisions *decisions)
{
	char *all = kp_decisions_print(decisions);
	char *text = NULL;
	char sum[KP_HASH_TEXT];

	if (!all ||
		asprintf(&text, "%s %zu %zu %zu", kp_hash_print(all, strlen(all), sum),
			decisions->n_disabled, decisions->n_pins, decisions->n_rules) < 0)
		text = NULL;
	free(all);
	return text;
}

/* ---- writing -------------------------------------------------------------------- */

static bool is_old(const struct trace *trace, int64_t now)
{
	for (size_t i = 0; i < trace->count; i++)
		if (!sighting_is_old(&trace->items[i].stamp, now))
			return false;
	return true;
}

/* What is young, odd or unknown is left out, and goes the whole way at the next start. */
static void add_plugin(const struct daemon *daemon, const char *name, int64_t now,
	struct index_text *text)
{
	const struct kp_registry *registry = daemon->registry;
	const struct kp_manifest *manifest = kp_registry_manifest(registry, name);
	struct index_item item = {.told = NULL};
	struct kp_library library;

	if (!manifest || !scan_stamp_of(daemon->scan, manifest, &item.stamp) ||
		!pipeline_rests_on(daemon->pipeline, name, &item.trace, &item.kept) ||
		!is_old(item.trace, now) ||
		!kp_registry_library(registry, name, &library))
		return;
	item.manifest = *manifest;
	item.digest = library.digest;
	item.closure = library.closure;
	item.told = library.told;
	item.bytes = library.bytes;
	index_add(text, &item);
}

/* Of no use without the very table that was written last. */
static void write_now(struct index_save *save)
{
	struct daemon *daemon = save->daemon;
	struct index_text text;
	size_t size;

	if (!save->wanted || daemon->kept != daemon->generation.number ||
		kp_registry_is_dirty(daemon->registry))
		return;
	save->wanted = false;
	char *key = make_key(daemon, &daemon->generation.table);
	char *decisions = print_decisions(&daemon->decisions);
	if (!key || !decisions) {
		free(key);
		free(decisions);
		return;
	}
	index_begin(&text, key, decisions, daemon->generation.number);
	for (size_t i = 0; i < kp_registry_count(daemon->registry); i++)
		add_plugin(daemon, kp_registry_name(daemon->registry, i), stamp_now(),
			&text);
	void *bytes = index_end(&text, &size);
	if (bytes)
		state_keep_index(daemon->state, bytes, size);
	free(key);
	free(decisions);
}

static void on_calm(uv_timer_t *timer)
{
	write_now(timer->data);
}

struct index_save *index_save_new(struct daemon *daemon)
{
	struct index_save *save = calloc(1, sizeof(*save));

	if (!save)
		return NULL;
	save->daemon = daemon;
	(void)uv_timer_init(&daemon->loop, &save->calm);
	save->calm.data = save;
	return save;
}

void index_save_later(struct index_save *save)
{
	save->wanted = true;
	if (!save->closing && !uv_is_active((uv_handle_t *)&save->calm))
		(void)uv_timer_start(&save->calm, on_calm, CALM_MS, 0);
}

void index_save_close(struct index_save *save)
{
	if (!save || save->closing)
		return;
	save->closing = true;
	if (save->daemon->pipeline)
		write_now(save);
	uv_close((uv_handle_t *)&save->calm, NULL);
}

void index_save_free(struct index_save *save)
{
	free(save);
}

/* ---- reading -------------------------------------------------------------------- */

static bool is_of_use(const struct daemon *daemon, const struct index *index,
	const struct kp_table *table)
{
	char *key = make_key(daemon, table);
	bool same = key && strcmp(key, index->key) == 0;

	free(key);
	return same;
}

struct index *index_load(struct daemon *daemon, const struct kp_table *table)
{
	struct kp_diag diag;
	size_t size = 0;
	void *bytes = state_index(daemon->state, &size, &daemon->warnings);

	if (!bytes)
		return NULL;
	struct index *index = index_read(bytes, size, &diag);
	if (!index) {
		state_index_is_damaged(daemon->state, &diag, &daemon->warnings);
		return NULL;
	}
	if (is_of_use(daemon, index, table))
		return index;
	log_line(&daemon->log, LOG_INFO,
		"the index of the last run was made for another table, platform, worker "
		"or boot: every plugin is looked at");
	index_free(index);
	return NULL;
}

void index_adopt(struct daemon *daemon, const struct index *index)
{
	char *decisions = print_decisions(&daemon->decisions);

	/* Whoever has asked meanwhile had another table made. */
	if (index && decisions && strcmp(decisions, index->decisions) == 0 &&
		daemon->generation.number == index->generation && !daemon->is_behind &&
		kp_registry_adopt(daemon->registry))
		daemon->kept = daemon->generation.number;
	free(decisions);
}
