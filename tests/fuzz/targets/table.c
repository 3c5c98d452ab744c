/* SPDX-License-Identifier: MIT */
/*
 * A table: one that opens is read and asked without leaving its bytes. Its size and sum
 * are made right, so that the rest of it is looked at.
 */
#include "tests/fuzz/target.h"

#include <stdlib.h>

#include "lib/select/select.h"
#include "lib/table/table_layout.h"
#include "lib/table/table_read.h"

enum { ASKED_MOST = 32 };

static void read_kernel(const struct kp_table *table, size_t i)
{
	char id[KP_KERNEL_ID_BYTES];
	struct kp_entry_state state;
	struct kp_spec spec;
	void *memory;
	size_t found;

	target_claim(kp_table_spec(table, i, &spec, &state, &memory) == 0);
	json_decref(kp_spec_json(&spec, state.plugin, "x", state.code, state.message));
	(void)!kp_table_find(
		table, NULL, kp_table_kernel_id(table, i, id, sizeof(id)), &found, NULL);
	free(memory);
}

static void ask(const struct kp_table *table, const char *operation)
{
	const struct kp_request requests[] = {{.operation = operation},
		{.operation = operation, .any_signature = true}};

	for (size_t i = 0; i < 2; i++) {
		struct kp_decision decision;
		struct kp_diag diag;
		if (kp_select(table, &requests[i], &decision, &diag) < 0) {
			target_is_refused(&diag);
			continue;
		}
		target_claim(decision.selected == SIZE_MAX ||
			     decision.selected < kp_table_kernels(table));
		json_decref(kp_decision_json(table, &requests[i], &decision));
		json_decref(kp_explain_json(table, &requests[i]));
		kp_decision_finish(&decision);
	}
}

static void look(const struct kp_table *table)
{
	const char **operations = kp_table_operations(table);
	bool force;

	target_claim(operations != NULL);
	for (size_t i = 0; i < kp_table_kernels(table) && i < ASKED_MOST; i++)
		read_kernel(table, i);
	for (size_t i = 0; operations[i] && i < ASKED_MOST; i++) {
		ask(table, operations[i]);
		(void)kp_table_pin(table, operations[i], &force);
		(void)kp_table_guard(table, operations[i]);
	}
	free(operations);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	unsigned char *copy = (unsigned char *)target_copy(bytes, size);
	struct kp_table table;
	struct kp_diag diag;

	if (size >= KP_TABLE_HEADER) {
		kp_store64(copy + KP_HEADER_SIZE, size);
		kp_store64(copy + KP_HEADER_CHECKSUM, kp_table_checksum(copy, size));
	}
	if (kp_table_open(copy, size, &table, &diag) < 0)
		target_is_refused(&diag);
	else
		look(&table);
	free(copy);
	return 0;
}
