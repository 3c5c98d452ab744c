/* SPDX-License-Identifier: MIT */
/* Reading of layers and of the plugin directory. */
#include "daemon/scan/survey.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "daemon/scan/index.h"
#include "daemon/scan/index_look.h"
#include "lib/base/text.h"
#include "lib/base/trust.h"

static const char library_end[] = ".so";
static const char manifest_end[] = ".json";

/* ---- the stamp ---- */

/* FNV-1a, a word at a time. */
static const uint64_t seed = 0xcbf29ce484222325;

static uint64_t mix(uint64_t hash, uint64_t word)
{
	return (hash ^ word) * 0x100000001b3;
}

/* NULL: only the stamp is wanted. `layers` has one for each directory. */
static uint64_t see(const struct survey_places *places, struct sightings *layers,
	struct sightings *libraries)
{
	uint64_t hash = seed;
	for (size_t i = 0; i < places->n_manifest_dirs; i++) {
		const char *dir = places->manifest_dirs[i];
		hash = mix(hash,
			sightings_read(dir, manifest_end, layers ? &layers[i] : NULL));
		if (places->trust)
			hash = mix(hash, kp_trust_path(places->trust, dir, NULL) == 0);
	}
	return mix(hash, sightings_read(places->plugin_dir, library_end, libraries));
}

uint64_t survey_stamp(const struct survey_places *places)
{
	return see(places, NULL, NULL);
}

/* ---- directories to watch ---- */

static int add_dir(struct survey *survey, const char *path, unsigned kinds)
{
	for (size_t i = 0; i < survey->n_dirs; i++) {
		if (strcmp(survey->dirs[i].path, path) != 0)
			continue;
		survey->dirs[i].kinds |= kinds;
		return 0;
	}
	if (survey->n_dirs >= SURVEY_DIRS)
		return 0;
	struct watch_dir *dirs =
		reallocarray(survey->dirs, survey->n_dirs + 1, sizeof(*dirs));
	if (!dirs)
		return -1;
	survey->dirs = dirs;
	dirs[survey->n_dirs].path = strdup(path);
	dirs[survey->n_dirs].kinds = kinds;
	return dirs[survey->n_dirs].path ? (survey->n_dirs++, 0) : -1;
}

/* The directory, or the nearest above it that is there and can bring it. */
static int add_or_ancestor(struct survey *survey, const char *path, unsigned kinds)
{
	struct stat st;
	char *at = strdup(path);
	int result = at ? 0 : -1;

	while (at && (stat(at, &st) < 0 || !S_ISDIR(st.st_mode))) {
		char *slash = strrchr(at, '/');
		if (!slash)
			break;
		slash[slash == at ? 1 : 0] = '\0';
		kinds = WATCH_ANCESTOR;
		if (slash == at)
			break;
	}
	if (at && at[0] == '/')
		result = add_dir(survey, at, kinds);
	free(at);
	return result;
}

/* Cuts the path to its directory. */
static int add_dir_of(struct survey *survey, char *path)
{
	char *slash = strrchr(path, '/');
	if (slash && slash != path)
		*slash = '\0';
	return add_or_ancestor(survey, path, WATCH_LIBRARIES);
}

/* Is it a file of the plugin directory, and not a link? find_dirs has followed that. */
static bool is_plain(const struct survey *survey, const char *library)
{
	const struct sighting *seen = sightings_find(&survey->libraries, library);
	return seen && seen->is_plain;
}

static int add_parent(struct survey *survey, const struct survey_places *places,
	const struct kp_manifest *manifest)
{
	struct kp_diag diag;
	char *path;

	if (manifest->error || manifest->masked || !manifest->library ||
		is_plain(survey, manifest->library) ||
		kp_manifest_library(manifest, places->plugin_dir, &path, &diag) < 0)
		return 0;
	/* Where it is named, and where a link leads. */
	char *real = realpath(path, NULL);
	int result = add_dir_of(survey, path);
	if (result == 0 && real)
		result = add_dir_of(survey, real);
	free(real);
	free(path);
	return result;
}

static int add_real(struct survey *survey, const char *dir)
{
	char *real = survey->libraries.count ? realpath(dir, NULL) : NULL;
	int result = real ? add_or_ancestor(survey, real, WATCH_LIBRARIES) : 0;
	free(real);
	return result;
}

static int find_dirs(struct survey *survey, const struct survey_places *places)
{
	for (size_t i = 0; i < places->n_manifest_dirs; i++)
		if (add_or_ancestor(survey, places->manifest_dirs[i], WATCH_MANIFESTS) <
			0)
			return -1;
	if (places->keys_dir &&
		add_or_ancestor(survey, places->keys_dir, WATCH_LIBRARIES) < 0)
		return -1;
	if (add_or_ancestor(survey, places->plugin_dir, WATCH_LIBRARIES) < 0 ||
		add_real(survey, places->plugin_dir) < 0)
		return -1;
	for (size_t i = 0; i < survey->manifests.count; i++)
		if (add_parent(survey, places, &survey->manifests.items[i]) < 0)
			return -1;
	return 0;
}

/* ---- libraries without a manifest ---- */

/* NAME.so with a manifest NAME is claimed even where that one names nothing (masked). */
static bool is_namesake(const struct survey *survey, const char *file)
{
	char name[256];
	size_t length = strlen(file) - (sizeof(library_end) - 1);
	if (length >= sizeof(name))
		return false;
	memcpy(name, file, length);
	name[length] = '\0';
	return kp_manifests_find(&survey->manifests, name) != NULL;
}

struct identity {
	dev_t dev;
	ino_t ino;
};

static size_t claimed(const struct survey *survey, const struct survey_places *places,
	struct identity *ids)
{
	size_t n = 0;
	for (size_t i = 0; i < survey->manifests.count; i++) {
		const struct kp_manifest *m = &survey->manifests.items[i];
		struct kp_diag diag;
		struct stat st;
		char *path;
		if (m->error || m->masked || !m->library ||
			kp_manifest_library(m, places->plugin_dir, &path, &diag) < 0)
			continue;
		if (stat(path, &st) == 0)
			ids[n++] = (struct identity){st.st_dev, st.st_ino};
		free(path);
	}
	return n;
}

static bool is_claimed(const struct identity *ids, size_t n, const struct stat *st)
{
	for (size_t i = 0; i < n; i++)
		if (ids[i].dev == st->st_dev && ids[i].ino == st->st_ino)
			return true;
	return false;
}

static int add_unclaimed(struct survey *survey, const char *name)
{
	if (survey->n_unclaimed >= SURVEY_UNCLAIMED)
		return 0;
	char **all =
		reallocarray(survey->unclaimed, survey->n_unclaimed + 1, sizeof(*all));
	if (!all)
		return -1;
	survey->unclaimed = all;
	all[survey->n_unclaimed] = strdup(name);
	return all[survey->n_unclaimed] ? (survey->n_unclaimed++, 0) : -1;
}

static int add_if_unclaimed(struct survey *survey, const struct survey_places *places,
	struct identity **ids, size_t *n, const char *name, const struct stat *st)
{
	if (!*ids) {
		*ids = calloc(survey->manifests.count + 1, sizeof(**ids));
		if (!*ids)
			return -1;
		*n = claimed(survey, places, *ids);
	}
	return is_claimed(*ids, *n, st) ? 0 : add_unclaimed(survey, name);
}

static int find_unclaimed(struct survey *survey, const struct survey_places *places)
{
	DIR *dir = opendir(places->plugin_dir);
	struct identity *ids = NULL; /* of all that are claimed, once they are needed */
	size_t n = 0;
	int result = 0;

	while (dir && result == 0) {
		struct stat st;
		const struct dirent *e = readdir(dir);
		if (!e)
			break;
		if (e->d_name[0] != '.' && kp_text_ends_with(e->d_name, library_end) &&
			!is_namesake(survey, e->d_name) &&
			fstatat(dirfd(dir), e->d_name, &st, 0) == 0 &&
			S_ISREG(st.st_mode))
			result = add_if_unclaimed(
				survey, places, &ids, &n, e->d_name, &st);
	}
	if (dir)
		(void)closedir(dir);
	free(ids);
	if (survey->n_unclaimed)
		qsort(survey->unclaimed, survey->n_unclaimed, sizeof(char *),
			kp_text_compare);
	return result;
}

/* ---- all of it ---- */

struct knowing {
	const struct survey *survey;
	struct index *index;
};

/* One that has the stamp of an earlier run, which was old enough then, is not read. */
static bool is_known(
	void *context, size_t layer, const char *file, struct kp_manifest *manifest)
{
	const struct knowing *knowing = context;
	const struct sighting *seen =
		sightings_find(&knowing->survey->layers[layer], file);
	char name[256];

	(void)snprintf(name, sizeof(name), "%.*s",
		(int)(strlen(file) - (sizeof(manifest_end) - 1)), file);
	struct index_item *item = seen ? index_find(knowing->index, name) : NULL;
	if (!item || item->manifest.layer != layer ||
		!stamp_equal(&item->stamp, &seen->stamp) ||
		kp_manifest_copy(&item->manifest, manifest) < 0)
		return false;
	item->is_known = true;
	return true;
}

static int read_manifests(const struct survey_places *places, struct index *index,
	struct survey *survey, struct kp_diag *diag)
{
	struct knowing knowing = {survey, index};

	return kp_manifests_read_known(places->manifest_dirs, places->n_manifest_dirs,
		places->trust, index ? is_known : NULL, &knowing, &survey->manifests,
		diag);
}

static int read_all(const struct survey_places *places, struct index *index,
	struct survey *survey, struct kp_diag *diag)
{
	survey->layers = calloc(places->n_manifest_dirs + 1, sizeof(*survey->layers));
	if (!survey->layers)
		return kp_diag_no_memory(diag);
	survey->n_layers = places->n_manifest_dirs;
	/* Before anything is read: what changes meanwhile has another stamp. */
	survey->stamp = see(places, survey->layers, &survey->libraries);
	if (read_manifests(places, index, survey, diag) < 0) {
		survey->manifests = (struct kp_manifests){0};
		return -1;
	}
	if (find_dirs(survey, places) < 0 || find_unclaimed(survey, places) < 0)
		return kp_diag_no_memory(diag);
	return 0;
}

int survey_read_known(const struct survey_places *places, struct index *index,
	struct survey *survey, struct kp_diag *diag)
{
	*survey = (struct survey){.stamp = 0};
	if (read_all(places, index, survey, diag) < 0) {
		survey_finish(survey);
		return -1;
	}
	if (index)
		index_look(index, &(struct index_look){.plugin_dir = places->plugin_dir,
					  .store_dir = places->store_dir,
					  .libraries = &survey->libraries,
					  .trust = places->trust});
	sightings_finish(&survey->libraries);
	return 0;
}

int survey_read(
	const struct survey_places *places, struct survey *survey, struct kp_diag *diag)
{
	return survey_read_known(places, NULL, survey, diag);
}

bool survey_stamp_of(const struct survey *survey, const struct kp_manifest *manifest,
	struct stamp *stamp)
{
	const char *slash = strrchr(manifest->path, '/');
	const struct sighting *seen =
		slash && manifest->layer < survey->n_layers
			? sightings_find(&survey->layers[manifest->layer], slash + 1)
			: NULL;

	if (!seen || !seen->is_old)
		return false;
	*stamp = seen->stamp;
	return true;
}

void survey_finish(struct survey *survey)
{
	kp_manifests_finish(&survey->manifests);
	for (size_t i = 0; i < survey->n_layers; i++)
		sightings_finish(&survey->layers[i]);
	free(survey->layers);
	sightings_finish(&survey->libraries);
	for (size_t i = 0; i < survey->n_unclaimed; i++)
		free(survey->unclaimed[i]);
	free(survey->unclaimed);
	for (size_t i = 0; i < survey->n_dirs; i++)
		free(survey->dirs[i].path);
	free(survey->dirs);
	*survey = (struct survey){0};
}
