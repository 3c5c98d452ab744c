/* SPDX-License-Identifier: MIT */
/*
 * Incidents and strikes from the disk; their sum is made right. What is taken is printed,
 * and comes back.
 */
#include "tests/fuzz/target.h"

#include <stdlib.h>
#include <string.h>

#include "daemon/incident/incidents_file.h"
#include "daemon/incident/strikes.h"
#include "lib/base/json.h"
#include "lib/registry/decisions_sum.h"

static void keep_and_read(
	const struct incidents_kept *kept, const struct strikes *strikes)
{
	struct incidents_kept again = {0};
	struct strikes strikes_again = {0};
	struct kp_diag diag;
	char *text = incidents_print(kept, strikes);

	target_claim(text != NULL);
	target_claim(incidents_parse(text, strlen(text), "again", &again, &strikes_again,
			     &diag) == 0);
	target_claim(again.next == kept->next);
	target_claim(strikes_again.count == strikes->count);
	json_decref(again.list);
	strikes_finish(&strikes_again);
	free(text);
}

/* With the sum of what it says; what is no object stays as it is. To be freed. */
static char *seal(const uint8_t *bytes, size_t *size)
{
	char *text = target_copy(bytes, *size);
	json_t *root = NULL;

	if (kp_json_parse(text, *size, "incidents.json", &root, NULL) < 0)
		return text;
	if (json_is_object(root)) {
		free(text);
		target_claim(kp_decisions_seal(root) == 0);
		text = json_dumps(root, JSON_COMPACT);
		target_claim(text != NULL);
		*size = strlen(text);
	}
	json_decref(root);
	return text;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	char *text = seal(bytes, &size);
	struct incidents_kept kept = {0};
	struct strikes strikes = {0};
	struct kp_diag diag;

	if (incidents_parse(text, size, "incidents.json", &kept, &strikes, &diag) < 0) {
		target_is_refused(&diag);
	} else {
		keep_and_read(&kept, &strikes);
		(void)strikes_add(&strikes, "some/kernel", "", 1000, 1000, 60);
	}
	json_decref(kept.list);
	strikes_finish(&strikes);
	free(text);
	return 0;
}
