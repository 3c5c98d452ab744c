/* SPDX-License-Identifier: MIT */
/*
 * What NVIDIA's kernel driver tells in /proc/driver/nvidia: nobody has to open a device
 * for it. Text of the kernel's, read within bounds.
 */
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/file.h"
#include "lib/base/owned.h"
#include "lib/base/text.h"
#include "lib/platform/platform_build.h"

enum { TEXT_BYTES = 4096, PATH_BYTES = 4096 };

static const char gpu_prefix[] = "gpu-";

/* The text of a file below root/proc/driver/nvidia; "" where there is none. */
static void read_text(const char *root, const char *file, char text[TEXT_BYTES])
{
	char path[PATH_BYTES];
	int n = snprintf(path, sizeof(path), "%s/proc/driver/nvidia/%s", root, file);

	text[0] = '\0';
	if (n < 0 || (size_t)n >= sizeof(path))
		return;
	owned_fd fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	ssize_t got = fd < 0 ? 0 : read(fd, text, TEXT_BYTES - 1);
	text[got > 0 ? got : 0] = '\0';
}

/* "580.82.07": digits and dots, at least one between digits. */
static bool is_version(const char *word)
{
	return word[0] >= '0' && word[0] <= '9' && strchr(word, '.') &&
	       word[strspn(word, "0123456789.")] == '\0';
}

/* "NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.82.07  Wed Aug 27 ...". */
static void find_version(char *text, char *version, size_t size)
{
	char *rest = NULL;

	text[strcspn(text, "\n")] = '\0';
	for (const char *word = strtok_r(text, " \t", &rest); word;
		word = strtok_r(NULL, " \t", &rest)) {
		if (!is_version(word) || strlen(word) >= size)
			continue;
		memcpy(version, word, strlen(word) + 1);
		return;
	}
}

/* What follows "Key:" at the begin of a line, without blanks around; false: no line. */
static bool find_value(const char *text, const char *key, char *value, size_t size)
{
	size_t length = strlen(key);

	for (const char *line = text; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (strncmp(line, key, length) != 0 || line[length] != ':')
			continue;
		const char *begin = line + length + 1;
		begin += strspn(begin, " \t");
		size_t end = strcspn(begin, "\n");
		while (end > 0 && (begin[end - 1] == ' ' || begin[end - 1] == '\t'))
			end--;
		kp_text_clean_bytes(begin, end, value, size);
		return end > 0;
	}
	return false;
}

/* Before a driver has initialised a GPU, it prints question marks for the UUID. */
static void ask_gpu(const char *root, struct kp_device_facts *gpu)
{
	char file[64];
	char text[TEXT_BYTES] = "";
	char value[sizeof(gpu->name)];

	(void)snprintf(
		file, sizeof(file), "gpus/%s/information", gpu->id + strlen(gpu_prefix));
	read_text(root, file, text);
	if (find_value(text, "Model", value, sizeof(value)) &&
		strcmp(value, "Unknown") != 0)
		memcpy(gpu->name, value, strlen(value) + 1);
	if (find_value(text, "GPU UUID", value, sizeof(value)) && !strchr(value, '?') &&
		strlen(value) < sizeof(gpu->uuid))
		memcpy(gpu->uuid, value, strlen(value) + 1);
}

void kp_platform_ask_proc(struct kp_platform *platform, const char *root)
{
	char text[TEXT_BYTES] = "";
	char version[sizeof(platform->devices->driver)] = "";

	read_text(root, "version", text);
	find_version(text, version, sizeof(version));
	for (size_t i = 0; i < platform->n_devices; i++) {
		struct kp_device_facts *device = &platform->devices[i];
		if (device->kind != KP_GPU || strcmp(device->vendor, "nvidia") != 0)
			continue;
		memcpy(device->driver, version, sizeof(version));
		ask_gpu(root, device);
	}
}
