/* SPDX-License-Identifier: MIT */
/*
 * GPUs from the PCI devices that sysfs lists; opens no device, so that a compute
 * capability stays unknown here.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/file.h"
#include "lib/base/text.h"
#include "lib/platform/platform_build.h"

enum { NUMBER_BYTES = 32, ADDRESS_BYTES = 32, PCI_DEVICES = 65536 };
/* PCI class codes: base class, and sub-class of a processing accelerator. */
enum { CLASS_DISPLAY = 0x03, CLASS_ACCELERATOR = 0x1200 };

static const struct {
	unsigned long id;
	const char *name;
} vendors[] = {{0x10de, "nvidia"}, {0x1002, "amd"}, {0x8086, "intel"}};

/* A number such as 0x10de in a file of a device; 0 where there is none. */
static unsigned long read_number(int device, const char *file)
{
	char text[NUMBER_BYTES];
	int fd = openat(device, file, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return 0;
	ssize_t n = read(fd, text, sizeof(text) - 1);
	close(fd);
	if (n <= 0)
		return 0;
	text[n] = '\0';
	return strtoul(text, NULL, 16);
}

/* A virtual machine's display is no compute device: its vendor is none of these. */
static const char *gpu_vendor(int device)
{
	unsigned long class = read_number(device, "class") >> 8;
	unsigned long vendor = read_number(device, "vendor");

	if (class >> 8 != CLASS_DISPLAY && class != CLASS_ACCELERATOR)
		return NULL;
	for (size_t i = 0; i < sizeof(vendors) / sizeof(vendors[0]); i++)
		if (vendors[i].id == vendor)
			return vendors[i].name;
	return NULL;
}

/* The kernel driver that has the device: the last part of where a link leads. */
static void read_driver(int device, struct kp_device_facts *facts)
{
	char target[256];
	ssize_t n = readlinkat(device, "driver", target, sizeof(target) - 1);

	if (n <= 0)
		return;
	target[n] = '\0';
	const char *slash = strrchr(target, '/');
	kp_text_clean(slash ? slash + 1 : target, facts->bound, sizeof(facts->bound));
}

static int add_gpu(
	struct kp_platform *platform, int pci, const char *address, struct kp_diag *diag)
{
	__attribute__((cleanup(kp_file_close))) int device =
		openat(pci, address, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (device < 0)
		return 0;
	const char *vendor = gpu_vendor(device);
	/* A machine with more devices than a platform holds: the first ones count. */
	if (!vendor || platform->n_devices == KP_PLATFORM_DEVICES)
		return 0;
	struct kp_device_facts *facts = kp_platform_add(platform, diag);
	if (!facts)
		return -1;
	facts->kind = KP_GPU;
	(void)snprintf(facts->id, sizeof(facts->id), "gpu-%s", address);
	(void)snprintf(facts->vendor, sizeof(facts->vendor), "%s", vendor);
	(void)snprintf(facts->name, sizeof(facts->name), "PCI device %04lx:%04lx",
		read_number(device, "vendor") & 0xffff,
		read_number(device, "device") & 0xffff);
	read_driver(device, facts);
	return 0;
}

static int compare(const void *a, const void *b)
{
	return strcmp(a, b);
}

/* *count addresses of ADDRESS_BYTES each, sorted; NULL only for memory. */
static char (*list_addresses(DIR *dir, size_t *count))[ADDRESS_BYTES]
{
	size_t n = 0;
	size_t room = 64;
	char(*list)[ADDRESS_BYTES] = calloc(room, sizeof(*list));
	const struct dirent *entry;

	while (list && n < PCI_DEVICES && (entry = readdir(dir))) {
		size_t length = strlen(entry->d_name);
		if (entry->d_name[0] == '.' || length >= ADDRESS_BYTES)
			continue;
		if (n == room) {
			char(*more)[ADDRESS_BYTES] =
				reallocarray(list, room * 2, sizeof(*list));
			if (!more) {
				free(list);
				return NULL;
			}
			list = more;
			room *= 2;
		}
		memcpy(list[n++], entry->d_name, length + 1);
	}
	if (list)
		qsort(list, n, sizeof(*list), compare);
	*count = n;
	return list;
}

int kp_platform_add_gpus(
	struct kp_platform *platform, const char *root, struct kp_diag *diag)
{
	char *path = NULL;
	size_t count = 0;

	if (asprintf(&path, "%s/sys/bus/pci/devices", root) < 0)
		return kp_diag_no_memory(diag);
	DIR *dir = opendir(path);
	free(path);
	if (!dir)
		return errno == ENOMEM ? kp_diag_no_memory(diag) : 0;
	char(*addresses)[ADDRESS_BYTES] = list_addresses(dir, &count);
	if (!addresses) {
		closedir(dir);
		return kp_diag_no_memory(diag);
	}
	int rc = 0;
	for (size_t i = 0; rc == 0 && i < count; i++)
		rc = add_gpu(platform, dirfd(dir), addresses[i], diag);
	free(addresses);
	closedir(dir);
	return rc;
}
