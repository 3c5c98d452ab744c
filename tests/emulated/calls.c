/* SPDX-License-Identifier: MIT */
/*
 * Runs the calls of a file with one plugin and writes their last tensors, one after
 * the other: `calls PLUGIN.so FILE`. Sees kplug/plugin.h only, so that it is built
 * and emulated for any machine. tests/test_plugin_portability.py writes the file.
 *
 * The file, all numbers of 64 bits: how many calls; for each its kernel's name in 64
 * bytes, how many tensors and attributes, the attributes, and for each tensor its type
 * code (-1: absent), bits, rank, four extents, and its elements, row by row.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <kplug/plugin.h>

enum { TENSORS = 8, ATTRIBUTES = 4, RANK = 4 };

struct tensor {
	struct kp_tensor tensor;
	int64_t shape[RANK], strides[RANK];
	size_t bytes;
};

static _Noreturn void die(const char *what)
{
	fprintf(stderr, "calls: %s\n", what);
	exit(1);
}

static void take(FILE *file, void *to, size_t bytes)
{
	if (bytes > 0 && fread(to, bytes, 1, file) != 1)
		die("the file is cut");
}

static int64_t number(FILE *file, int64_t most)
{
	int64_t value;

	take(file, &value, sizeof(value));
	if (value < -1 || value > most)
		die("a number is out of range");
	return value;
}

/* False where it is absent. */
static int read_tensor(FILE *file, struct tensor *t)
{
	int64_t code = number(file, 255), bits = number(file, 64), count = 1;
	int rank = (int)number(file, RANK);

	for (int i = 0; i < RANK; i++)
		t->shape[i] = number(file, 1 << 24);
	if (code < 0)
		return 0;
	for (int i = rank - 1; i >= 0; i--) {
		t->strides[i] = count;
		count *= t->shape[i];
	}
	t->bytes = (size_t)count * (size_t)bits / 8;
	t->tensor = (struct kp_tensor){.data = malloc(t->bytes + 1),
		.device = {KP_DEVICE_CPU, 0},
		.ndim = rank,
		.dtype = {(uint8_t)code, (uint8_t)bits, 1},
		.shape = t->shape,
		.strides = t->strides};
	if (!t->tensor.data)
		die("no memory");
	take(file, t->tensor.data, t->bytes);
	return 1;
}

static const struct kp_kernel *find(const struct kp_plugin *plugin, const char *name)
{
	for (uint32_t i = 0; i < plugin->n_entries; i++)
		if (strcmp(plugin->entries[i]->name, name) == 0)
			return plugin->entries[i]->vtable;
	die(name);
}

static void *workspace(const struct kp_kernel *kernel, struct kp_call *call)
{
	struct kp_need need = {.size = sizeof(need)};
	void *memory = NULL;

	if (!kernel->need)
		return NULL;
	if (kernel->need(call, &need) != KP_OK)
		die(call->error->text);
	call->workspace_bytes = need.workspace_bytes;
	if (posix_memalign(&memory, 4096, need.workspace_bytes + 1) != 0)
		die("no memory");
	return memory;
}

static void run(const struct kp_kernel *kernel, FILE *file)
{
	struct tensor memory[TENSORS];
	const struct kp_tensor *tensors[TENSORS] = {NULL};
	union kp_value attributes[ATTRIBUTES];
	struct kp_error error = {.size = sizeof(error)};
	int64_t n = number(file, TENSORS), n_attributes = number(file, ATTRIBUTES);
	struct kp_call call = {KP_SIZED(struct kp_call), .n_tensors = (uint32_t)n,
		.n_attrs = (uint32_t)n_attributes, .tensors = tensors,
		.attrs = attributes, .error = &error};

	take(file, attributes, (size_t)n_attributes * sizeof(attributes[0]));
	for (int64_t i = 0; i < n; i++)
		if (read_tensor(file, &memory[i]))
			tensors[i] = &memory[i].tensor;
	if (n < 1 || !tensors[n - 1])
		die("there is no output");
	call.workspace = workspace(kernel, &call);
	if (kernel->run(&call) != KP_OK)
		die(error.text);
	fwrite(memory[n - 1].tensor.data, 1, memory[n - 1].bytes, stdout);
	for (int64_t i = 0; i < n; i++)
		if (tensors[i])
			free(memory[i].tensor.data);
	free(call.workspace);
}

int main(int argc, char **argv)
{
	void *library = argc == 3 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
	FILE *file = argc == 3 ? fopen(argv[2], "rb") : NULL;
	const struct kp_plugin *plugin = library ? dlsym(library, "kplug_plugin") : NULL;

	if (!plugin || !file)
		die(library ? "cannot read the calls" : dlerror());
	for (int64_t calls = number(file, 1 << 20); calls > 0; calls--) {
		char name[64];

		take(file, name, sizeof(name));
		name[sizeof(name) - 1] = '\0';
		run(find(plugin, name), file);
	}
	fclose(file);
	return fflush(stdout) == 0 ? 0 : 1;
}
