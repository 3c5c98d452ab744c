/* SPDX-License-Identifier: MIT */
/* Counts by name. */
#include "daemon/tally.h"

#include <string.h>

struct tally_row *tally_row(struct tally *tally, const char *name)
{
	for (size_t i = 0; i < tally->n; i++)
		if (strcmp(tally->rows[i].name, name) == 0)
			return &tally->rows[i];
	if (tally->n == TALLY_ROWS || strlen(name) >= TALLY_NAME)
		return NULL;
	struct tally_row *row = &tally->rows[tally->n++];
	memcpy(row->name, name, strlen(name) + 1);
	return row;
}

void tally_add(struct tally *tally, const char *name)
{
	struct tally_row *row = tally_row(tally, name);
	if (row)
		row->count++;
}

void tallies_worker_ended(
	void *context, const char *kind, const struct kp_worker_result *result)
{
	struct tallies *tallies = context;
	struct tally_row *row = tally_row(&tallies->workers, kind);

	if (row) {
		row->count++;
		row->seconds += result->elapsed_ms / 1000;
	}
	if (result->end != KP_WORKER_DONE)
		tally_add(&tallies->deaths, kp_worker_end_name(result->end));
}
