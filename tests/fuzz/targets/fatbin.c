/* SPDX-License-Identifier: MIT */
/* GPU code in a file: what is found is in bounds and can be told. */
#include "tests/fuzz/target.h"

#include <unistd.h>

#include "daemon/worker/fatbin.h"

static void look(const struct fatbins *fatbins)
{
	char text[256];

	target_claim(fatbins->count <= FATBIN_CODES);
	target_claim(fatbins->entries <= FATBIN_ENTRIES);
	target_claim(fatbins->damaged <= fatbins->containers);
	for (size_t i = 0; i < fatbins->count; i++) {
		const struct kp_arch any = {.known = false};
		target_claim(fatbin_code_meets(&fatbins->codes[i], &any, &any));
	}
	(void)fatbins_text(fatbins, text, sizeof(text));
	json_t *told = fatbins_json(fatbins);
	target_claim(json_array_size(told) == fatbins->count);
	json_decref(told);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct fatbins fatbins = {0};
	int file = target_memory(bytes, size);

	target_claim(fatbins_search(file, 0, size, &fatbins) == 0);
	look(&fatbins);
	(void)close(file);
	return 0;
}
