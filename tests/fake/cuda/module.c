/* SPDX-License-Identifier: MIT */
/* Modules, their functions, and launches. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "tests/fake/cuda/fake.h"
#include "tests/fake/cuda/query.h"

/* A fatbin: a header, then entries with a header of their own. */
enum { MAGIC_AT = 0, HEADER_AT = 6, SIZE_AT = 8, FATBIN_HEADER = 16 };
enum { KIND_AT = 0, ENTRY_HEADER_AT = 4, PAYLOAD_AT = 8, ARCH_AT = 28, ENTRY_LEAST = 32 };
enum { PACKED_AT = 16 };
enum { KIND_PTX = 1, KIND_SASS = 2 };
static const uint32_t magic = 0xba55ed50;

struct fake_function {
	struct fake_function *next;
	struct fake_module *module;
	const struct fake_twin *twin;
	int shared_most;
};

struct fake_module {
	struct fake_module *next;
	const unsigned char *image;
	uint64_t bytes;
	struct fake_function *functions;
};

static struct fake_twin *twins;
static struct fake_module *modules;

void fake_add_twin(struct fake_twin *twin)
{
	twin->next = twins;
	twins = twin;
}

static void drop_module(struct fake_module **at)
{
	struct fake_module *module = *at;

	*at = module->next;
	while (module->functions) {
		struct fake_function *function = module->functions;

		module->functions = function->next;
		free(function);
	}
	free(module);
}

void fake_module_reset(void)
{
	while (modules)
		drop_module(&modules);
}

unsigned fake_cuda_modules(void)
{
	unsigned count = 0;

	for (const struct fake_module *module = modules; module; module = module->next)
		count++;
	return count;
}

static uint64_t number(const unsigned char *at, size_t bytes)
{
	uint64_t value = 0;

	for (size_t i = 0; i < bytes; i++)
		value |= (uint64_t)at[i] << (8 * i);
	return value;
}

/* Names can be found in what is not compressed. */
static bool is_packed(const struct fake_module *module)
{
	return number(module->image + number(module->image + HEADER_AT, 2) + PACKED_AT,
		       4) != 0;
}

/* Code for this arch: machine code of its major version, or text of it or an older one.
 */
static bool fits(const unsigned char *entry)
{
	const struct fake_settings *settings = fake_settings();
	int arch = (int)number(entry + ARCH_AT, 4);
	int here = settings->major * 10 + settings->minor;

	if (number(entry + KIND_AT, 2) == KIND_SASS)
		return arch / 10 == settings->major && arch <= here;
	return number(entry + KIND_AT, 2) == KIND_PTX && arch <= here;
}

static int check_image(const unsigned char *image, uint64_t *bytes)
{
	if (number(image + MAGIC_AT, 4) != magic)
		return FAKE_INVALID_IMAGE;
	uint64_t header = number(image + HEADER_AT, 2), size = number(image + SIZE_AT, 8);

	*bytes = header + size;
	for (uint64_t at = header; at + ENTRY_LEAST <= *bytes;) {
		const unsigned char *entry = image + at;

		if (fits(entry))
			return FAKE_OK;
		at += number(entry + ENTRY_HEADER_AT, 4) + number(entry + PAYLOAD_AT, 8);
	}
	return FAKE_NO_BINARY;
}

int cuModuleLoadData(struct fake_module **module, const void *image)
{
	FAKE_CALL_IN_CONTEXT();
	uint64_t bytes = 0;
	int result = fake_refuse_in_capture();

	if (result == FAKE_OK)
		result = image ? check_image(image, &bytes) : FAKE_INVALID_VALUE;
	if (result != FAKE_OK)
		return result;
	struct fake_module *made = calloc(1, sizeof(*made));

	if (!made)
		return FAKE_OUT_OF_MEMORY;
	made->image = image;
	made->bytes = bytes;
	made->next = modules;
	modules = made;
	*module = made;
	return FAKE_OK;
}

int cuModuleLoadDataEx(struct fake_module **module, const void *image, unsigned options,
	const int *names, void **values)
{
	(void)names;
	(void)values;
	return options ? FAKE_INVALID_VALUE : cuModuleLoadData(module, image);
}

int cuModuleUnload(struct fake_module *module)
{
	FAKE_CALL_IN_CONTEXT();
	fake_run_queue();
	for (struct fake_module **at = &modules; *at; at = &(*at)->next)
		if (*at == module) {
			drop_module(at);
			return FAKE_OK;
		}
	return FAKE_INVALID_HANDLE;
}

int cuModuleGetFunction(
	struct fake_function **function, struct fake_module *module, const char *name)
{
	FAKE_CALL_IN_CONTEXT();
	const struct fake_twin *twin = twins;

	while (twin && strcmp(twin->name, name) != 0)
		twin = twin->next;
	/* A name is in the symbols of machine code and in the text of PTX. */
	if (!twin || (!is_packed(module) && !memmem(module->image, module->bytes, name,
						    strlen(name) + 1)))
		return FAKE_NOT_FOUND;
	struct fake_function *made = calloc(1, sizeof(*made));

	if (!made)
		return FAKE_OUT_OF_MEMORY;
	made->module = module;
	made->twin = twin;
	made->shared_most = FAKE_SHARED_PLAIN;
	made->next = module->functions;
	module->functions = made;
	*function = made;
	return FAKE_OK;
}

static bool is_function(const struct fake_function *function)
{
	for (const struct fake_module *m = modules; m; m = m->next)
		for (const struct fake_function *f = m->functions; f; f = f->next)
			if (f == function)
				return true;
	return false;
}

enum { MAX_THREADS_PER_BLOCK = 0, MAX_DYNAMIC_SHARED = 8, CARVEOUT = 9 };

int cuFuncSetAttribute(struct fake_function *function, int attribute, int value)
{
	FAKE_CALL_IN_CONTEXT();
	if (!is_function(function))
		return FAKE_INVALID_HANDLE;
	if (attribute == CARVEOUT)
		return FAKE_OK;
	if (attribute != MAX_DYNAMIC_SHARED || value < 0 || value > FAKE_SHARED_MAX)
		return FAKE_INVALID_VALUE;
	function->shared_most = value;
	return FAKE_OK;
}

int cuFuncGetAttribute(int *value, int attribute, const struct fake_function *function)
{
	FAKE_CALL_IN_CONTEXT();
	if (!is_function(function))
		return FAKE_INVALID_HANDLE;
	if (attribute == MAX_THREADS_PER_BLOCK)
		*value = (int)function->twin->threads;
	else if (attribute == MAX_DYNAMIC_SHARED)
		*value = function->shared_most;
	else
		return FAKE_INVALID_VALUE;
	return FAKE_OK;
}

static void run_launch(struct fake_work *work)
{
	fake_run_grid(&work->grid, work->data);
}

static int check_grid(const struct fake_function *function, const struct fake_grid *grid)
{
	enum { Y_Z_MOST = 65535, X_MOST = 0x7fffffff };
	struct fake_dim g = grid->grid, b = grid->block;

	if (!g.x || !g.y || !g.z || !b.x || !b.y || !b.z || g.x > X_MOST ||
		g.y > Y_Z_MOST || g.z > Y_Z_MOST || b.x > 1024 || b.y > 1024 ||
		b.z > 64 || grid->shared_bytes > (size_t)function->shared_most)
		return FAKE_INVALID_VALUE;
	return b.x * b.y * b.z > function->twin->threads ? FAKE_OUT_OF_RESOURCES
							 : FAKE_OK;
}

int cuLaunchKernel(struct fake_function *function, unsigned gx, unsigned gy, unsigned gz,
	unsigned bx, unsigned by, unsigned bz, unsigned shared,
	struct fake_stream *stream, void **parameters, void **extra)
{
	FAKE_CALL_IN_CONTEXT();
	if (!is_function(function))
		return FAKE_INVALID_HANDLE;
	struct fake_work work = {.run = run_launch,
		.bytes = function->twin->parameter_bytes,
		.grid = {function->twin, {gx, gy, gz}, {bx, by, bz}, shared,
			fake_settings()->reversed}};
	int result = check_grid(function, &work.grid);

	fake_log("launch %s %u %u %u x %u %u %u shared %u", function->twin->name, gx, gy,
		gz, bx, by, bz, shared);
	if (result != FAKE_OK || extra || !parameters)
		return result != FAKE_OK ? result : FAKE_INVALID_VALUE;
	/* A launch takes its parameters when it is called. */
	work.data = malloc(work.bytes);
	if (!work.data)
		return FAKE_OUT_OF_MEMORY;
	memcpy(work.data, parameters[0], work.bytes);
	return fake_submit(stream, &work);
}
