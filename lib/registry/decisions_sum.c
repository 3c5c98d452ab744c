/* SPDX-License-Identifier: MIT */
/* Sums over the values, not over how they are laid out. */
#include "lib/registry/decisions_sum.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/hash.h"
#include "lib/base/json.h"

static const char sum_key[] = "sum";

/* Of all other members; "" when memory is exhausted. */
static const char *sum_of(const json_t *root, char sum[KP_HASH_TEXT])
{
	json_t *rest = json_copy((json_t *)(uintptr_t)root);
	/* A member that memory was too short for is missing in the copy. */
	bool is_all = json_object_size(rest) == json_object_size(root);

	(void)json_object_del(rest, sum_key);
	char *text = is_all ? kp_json_dumps(rest, JSON_COMPACT | JSON_SORT_KEYS) : NULL;
	json_decref(rest);
	sum[0] = '\0';
	if (text)
		(void)kp_hash_print(text, strlen(text), sum);
	free(text);
	return sum;
}

int kp_decisions_seal(json_t *root)
{
	char sum[KP_HASH_TEXT];

	if (!sum_of(root, sum)[0])
		return -1;
	return json_object_set_new(root, sum_key, json_string(sum));
}

int kp_decisions_is_whole(const json_t *root)
{
	char sum[KP_HASH_TEXT];
	const char *told = kp_json_text(root, sum_key);

	if (!told)
		return 1;
	if (!sum_of(root, sum)[0])
		return -1;
	return strcmp(told, sum) == 0;
}
