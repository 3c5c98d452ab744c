/* SPDX-License-Identifier: MIT */
/* Finds and opens cuBLASLt. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "cublaslt.h"

#include <dlfcn.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "failure.h"
#include "symbols.h"

enum { PATH_BYTES = 4096 };

static const char variable[] = "KPLUG_CUBLASLT";
static const char *const sonames[] = {"libcublasLt.so.13", "libcublasLt.so.12"};
enum { SONAMES = sizeof(sonames) / sizeof(sonames[0]) };

/* Folders below a root that the environment names; a pattern may have wildcards. */
static const struct {
	const char *variable, *preset, *folder;
} places[] = {
	{"CUDA_HOME", NULL, "lib64"},
	{"CUDA_HOME", "/usr/local/cuda", "lib64"},
	{"VIRTUAL_ENV", NULL, "lib/python3*/site-packages/nvidia/cu13/lib"},
	{"VIRTUAL_ENV", NULL, "lib/python3*/site-packages/nvidia/cublas/lib"},
	{NULL, "/usr/local", "lib/python3*/dist-packages/nvidia/cu13/lib"},
	{NULL, "/usr/local", "lib/python3*/dist-packages/nvidia/cublas/lib"},
	{NULL, "/usr/local", "lib/python3*/site-packages/nvidia/cu13/lib"},
	{NULL, "/usr/local", "lib/python3*/site-packages/nvidia/cublas/lib"},
};
enum { PLACES = sizeof(places) / sizeof(places[0]) };

static const struct symbol functions[] = {
	{"cublasLtCreate", offsetof(struct cublaslt, create)},
	{"cublasLtDestroy", offsetof(struct cublaslt, destroy)},
	{"cublasLtGetStatusName", offsetof(struct cublaslt, status_name)},
	{"cublasLtMatrixLayoutInit_internal", offsetof(struct cublaslt, layout_init)},
	{"cublasLtMatmulDescInit_internal", offsetof(struct cublaslt, operation_init)},
	{"cublasLtMatmulDescSetAttribute", offsetof(struct cublaslt, operation_set)},
	{"cublasLtMatmulPreferenceInit_internal",
		offsetof(struct cublaslt, preference_init)},
	{"cublasLtMatmulPreferenceSetAttribute",
		offsetof(struct cublaslt, preference_set)},
	{"cublasLtMatmulAlgoGetHeuristic", offsetof(struct cublaslt, choose)},
	{"cublasLtMatmul", offsetof(struct cublaslt, multiply)},
};
enum { FUNCTIONS = sizeof(functions) / sizeof(functions[0]) };

/* The path in this place, or false. */
static bool look_in(size_t place, char path[PATH_BYTES])
{
	const char *root =
		places[place].variable ? secure_getenv(places[place].variable) : NULL;
	bool found = false;

	if (!root)
		root = places[place].preset;
	if (!root || *root != '/')
		return false;
	for (size_t i = 0; i < SONAMES && !found; i++) {
		glob_t matches = {0};

		if (snprintf(path, PATH_BYTES, "%s/%s/%s", root, places[place].folder,
			    sonames[i]) >= PATH_BYTES)
			continue;
		if (glob(path, 0, NULL, &matches) == 0 &&
			strlen(matches.gl_pathv[0]) < PATH_BYTES) {
			memcpy(path, matches.gl_pathv[0],
				strlen(matches.gl_pathv[0]) + 1);
			found = access(path, R_OK) == 0;
		}
		globfree(&matches);
	}
	return found;
}

static void *open_by_loader(void)
{
	void *handle = NULL;

	for (size_t i = 0; i < SONAMES && !handle; i++)
		handle = dlopen(sonames[i], RTLD_LAZY | RTLD_LOCAL);
	return handle;
}

static int missing(struct kp_error *error)
{
	return failure(error, KP_UNAVAILABLE, 0,
		"cuBLASLt is not found: neither %s nor %s, by the loader, in "
		"$CUDA_HOME/lib64 or in a Python environment; %s can name it",
		sonames[0], sonames[1], variable);
}

int cublaslt_find(struct kp_error *error)
{
	const char *named = secure_getenv(variable);
	char path[PATH_BYTES];

	if (named && access(named, R_OK) == 0)
		return KP_OK;
	if (named)
		return failure(error, KP_UNAVAILABLE, 0,
			"%s names %s, which cannot be read", variable, named);
	for (size_t i = 0; i < PLACES; i++)
		if (look_in(i, path))
			return KP_OK;
	void *handle = open_by_loader();

	if (!handle)
		return missing(error);
	dlclose(handle);
	return KP_OK;
}

/* By a path that somebody named: no other is taken instead. */
static int open_named(struct cublaslt *library, const char *path, const char *who,
	struct kp_error *error)
{
	library->library = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
	if (library->library)
		return KP_OK;
	return failure(error, KP_UNAVAILABLE, 0,
		"%s names %s, which cannot be opened: %s", who, path, dlerror());
}

static int open_library(
	struct cublaslt *library, const struct config *config, struct kp_error *error)
{
	const char *named = secure_getenv(variable);
	char path[PATH_BYTES];

	if (named && *named)
		return open_named(library, named, variable, error);
	if (config && *config->cublaslt)
		return open_named(library, config->cublaslt, "config: cublaslt", error);
	library->library = open_by_loader();
	for (size_t i = 0; i < PLACES && !library->library; i++)
		if (look_in(i, path))
			library->library = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
	return library->library ? KP_OK : missing(error);
}

static int find_functions(struct cublaslt *library, struct kp_error *error)
{
	const char *missing =
		symbols_find(library->library, functions, FUNCTIONS, library);

	if (!missing)
		return KP_OK;
	return failure(error, KP_UNAVAILABLE, 0, "cuBLASLt has no function %s", missing);
}

int cublaslt_open(
	struct cublaslt *library, const struct config *config, struct kp_error *error)
{
	int status;

	memset(library, 0, sizeof(*library));
	status = open_library(library, config, error);
	if (status == KP_OK)
		status = find_functions(library, error);
	if (status == KP_OK) {
		cublaslt_result result = library->create(&library->handle);

		if (result != CUBLASLT_OK) {
			library->handle = NULL;
			status = cublaslt_failure(
				library, result, error, "cublasLtCreate");
		}
	}
	if (status != KP_OK)
		cublaslt_close(library);
	return status;
}

void cublaslt_close(struct cublaslt *library)
{
	if (library->handle)
		(void)library->destroy(library->handle);
	library->handle = NULL;
	if (library->library)
		dlclose(library->library);
	library->library = NULL;
}

/* By the numbers of cublasStatus_t. */
static int status_of(cublaslt_result result)
{
	switch (result) {
	case CUBLASLT_OK:
		return KP_OK;
	case 3: /* allocation failed */
		return KP_NO_MEMORY;
	case 7: /* invalid value */
	case 8: /* architecture mismatch */
	case CUBLASLT_NOT_SUPPORTED:
		return KP_UNSUPPORTED;
	case 1: /* not initialized: no device, or a driver that is too old */
		return KP_UNAVAILABLE;
	default:
		return KP_RUNTIME;
	}
}

int cublaslt_failure(const struct cublaslt *library, cublaslt_result result,
	struct kp_error *error, const char *what)
{
	return failure(error, status_of(result), result, "%s: %s (%d)", what,
		library->status_name(result), result);
}
