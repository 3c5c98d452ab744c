/* SPDX-License-Identifier: MIT */
/*
 * Code for NVIDIA's GPUs inside a file, told without CUDA: fat binaries, wherever they
 * are embedded. Their bytes are anybody's: every length is checked, and what is read is
 * bounded. Knows no note.
 */
#ifndef KP_WORKER_FATBIN_H
#define KP_WORKER_FATBIN_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "daemon/worker/elf_image.h"
#include "lib/plugin/spec.h"

enum {
	FATBIN_CODES = 64,	/* different ones that are kept */
	FATBIN_ENTRIES = 65536, /* that are looked at in a file, and what begins as one */
};

enum fatbin_scope {
	FATBIN_PLAIN, /* SASS: its major, from its minor on; PTX: everything from it on */
	FATBIN_FAMILY, /* "100f": its major, from its minor on */
	FATBIN_EXACT,  /* "90a": its arch alone */
};

struct fatbin_code {
	bool is_ptx;
	enum fatbin_scope scope;
	struct kp_arch arch;
};

/* Zero it. Codes are in order of arch, kind, scope, each once. */
struct fatbins {
	size_t containers; /* fat binaries that were found */
	size_t entries;
	size_t damaged; /* containers whose entries do not add up */
	bool is_cut;	/* there were more entries or codes than are kept */
	size_t count;
	struct fatbin_code codes[FATBIN_CODES];
};

/* Looks through bytes begin to end of an open file. -1 when memory is exhausted. */
int fatbins_search(int fd, uint64_t begin, uint64_t end, struct fatbins *fatbins)
	__attribute__((warn_unused_result));

/* The same for all that a library has loaded. */
int fatbins_of_image(const struct elf_image *image, struct fatbins *fatbins)
	__attribute__((warn_unused_result));

/* Does it run on some GPU whose arch is from `min` to `max` (bounds that are known)? */
bool fatbin_code_meets(const struct fatbin_code *code, const struct kp_arch *min,
	const struct kp_arch *max);

/* [{"kind": "sass"|"ptx", "arch": "9.0"}, ...], also "scope": "family" or "exact". */
json_t *fatbins_json(const struct fatbins *fatbins);

/* "sass 8.0, ptx 9.0a"; as much as fits. Returns `text`. */
const char *fatbins_text(const struct fatbins *fatbins, char *text, size_t size);

#endif
