/* SPDX-License-Identifier: MIT */
/* What operators decided, from the disk: what is taken is kept, and comes back. */
#include "tests/fuzz/target.h"

#include <stdlib.h>
#include <string.h>

#include "lib/registry/decisions.h"

static void keep_and_read(const struct kp_decisions *decisions)
{
	struct kp_decisions again;
	struct kp_diag diag;
	char *text = kp_decisions_print(decisions);

	target_claim(text != NULL);
	target_claim(kp_decisions_parse(text, strlen(text), "again", &again, &diag) == 0);
	char *second = kp_decisions_print(&again);
	target_claim(second != NULL && strcmp(text, second) == 0);
	kp_decisions_finish(&again);
	free(second);
	free(text);
}

static void look(const struct kp_decisions *decisions)
{
	struct kp_diag diag;

	for (size_t i = 0; i < decisions->n_disabled; i++)
		target_claim(kp_decisions_find(decisions, decisions->disabled[i].name) ==
			     &decisions->disabled[i]);
	for (size_t i = 0; i < decisions->n_pins; i++)
		target_claim(
			kp_decisions_find_pin(decisions, decisions->pins[i].operation) ==
			&decisions->pins[i]);
	if (kp_decisions_fit(decisions, NULL, &diag) == 0)
		keep_and_read(decisions);
	else
		target_is_refused(&diag);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	char *text = target_copy(bytes, size);
	struct kp_decisions decisions;
	struct kp_diags wrong = {0};
	struct kp_diag diag;

	if (kp_decisions_read(text, size, "decisions.json", &decisions, &wrong, &diag) <
		0) {
		target_is_refused(&diag);
	} else {
		look(&decisions);
		kp_decisions_finish(&decisions);
	}
	for (size_t i = 0; i < wrong.count; i++)
		target_is_refused(&wrong.items[i]);
	kp_diags_finish(&wrong);
	free(text);
	return 0;
}
