/* SPDX-License-Identifier: MIT */
/*
 * A platform: the devices that kernels could run on. Detected here, or given by
 * name or file for "what if". Opens no device; reads cpuid and sysfs only.
 */
#ifndef KP_LIB_PLATFORM_H
#define KP_LIB_PLATFORM_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/diag.h"
#include "lib/plugin/spec.h"

enum { KP_PLATFORM_DEVICES = 64, KP_DEVICE_FEATURES = 64 };

/*
 * id: "cpu", or "gpu-" and the PCI address. vendor: x86-64, aarch64, nvidia, amd, intel.
 * arch: compute capability; N.0 of x86-64-vN; not known until a worker asked.
 */
struct kp_device_facts {
	char id[40];
	enum kp_device_kind kind;
	char vendor[16];
	char name[96]; /* model for people, or "" */
	struct kp_arch arch;
	char uuid[48];	 /* or "" */
	char driver[32]; /* version of the kernel driver that the vendor's devices have,
			    or "" */
	char bound[24];	 /* kernel driver that has the device: "nvidia", "vfio-pci", "" */
	uint64_t memory; /* bytes; 0: not known */
	size_t n_features;
	char features[KP_DEVICE_FEATURES][20]; /* "avx2": in byte order */
};

struct kp_platform {
	char name[64]; /* "x86-64-v3", "x86-64-v3+nvidia", or as given */
	size_t n_devices;
	struct kp_device_facts *devices;
};

/*
 * This machine: its CPU first, then its GPUs in order of their PCI addresses, as many
 * as a platform holds, by what is below `root`/sys and `root`/proc/driver ("": this
 * machine's own). Fails for memory only.
 */
int kp_platform_detect(const char *root, struct kp_platform *platform,
	struct kp_diag *diag) __attribute__((warn_unused_result));

/*
 * By name: nvidia-9.0, amd-9.5, intel-12.0 (a GPU alone), x86-64, x86-64-v2..v4, aarch64
 * (a CPU alone, with the features that its level guarantees); then further features
 * as in x86-64-v2+avx+f16c, which must be known for a CPU. Codes unknown_platform
 * (nearest), too_many.
 */
int kp_platform_named(const char *name, struct kp_platform *platform,
	struct kp_diag *diag) __attribute__((warn_unused_result));

/*
 * {"name": "...", "devices": [{"id", "kind", "vendor", "arch", "features", ...}]}: the
 * Platform of the interface; only kind and vendor of a device are required. A string
 * is a name. Codes of kp_json_check and kp_platform_named, bad_platform, bad_name,
 * too_many; the object is the path.
 */
int kp_platform_from_json(const json_t *value, struct kp_platform *platform,
	struct kp_diag *diag) __attribute__((warn_unused_result));
json_t *kp_platform_json(const struct kp_platform *platform);
/* One Device of it. New references, NULL when memory is exhausted. */
json_t *kp_platform_device_json(const struct kp_device_facts *device);

/*
 * Takes what a worker found out of the GPU at an address: {"pci", "uuid", "name", "arch",
 * "memory_bytes"}. Without an arch it is not known any more. False where nothing changes.
 */
bool kp_platform_learn(struct kp_platform *platform, const json_t *gpu);

/*
 * Keeps what `before` knew of GPUs that are still the same: address, vendor and driver.
 * False when one is not among them.
 */
bool kp_platform_inherit(struct kp_platform *platform, const struct kp_platform *before);

/* The device with this id, or NULL. */
struct kp_device_facts *kp_platform_find(
	const struct kp_platform *platform, const char *id);

void kp_platform_finish(struct kp_platform *platform);

#endif
