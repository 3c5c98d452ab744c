/* SPDX-License-Identifier: MIT */
/* Publishing of generations. */
#include "daemon/generation.h"

#include <stdlib.h>
#include <string.h>

#include "daemon/application/control.h"

void generation_keep(struct generation *generation, enum generation_message which,
	char *message, size_t size)
{
	free(generation->messages[which].bytes);
	generation->messages[which].bytes = message;
	generation->messages[which].size = message ? size : 0;
}

static void drop_messages(struct generation *generation)
{
	for (size_t i = 0; i < GENERATION_MESSAGES; i++)
		generation_keep(generation, (enum generation_message)i, NULL, 0);
	answers_clear(&generation->answers);
}

int generation_publish(
	struct generation *generation, struct kp_registry *registry, struct kp_diag *diag)
{
	if (generation->table.bytes && !kp_registry_is_dirty(registry))
		return 0;
	if (kp_registry_publish(registry, generation->number + 1, diag) < 0)
		return -1;
	drop_messages(generation);
	(void)kp_registry_latest(registry, &generation->table);
	generation->number++;
	control_follow(generation->control, &generation->table, generation->number);
	return 0;
}

bool generation_resume(struct generation *generation, const struct kp_registry *registry)
{
	if (!kp_registry_latest(registry, &generation->table))
		return false;
	control_follow(generation->control, &generation->table, generation->number);
	return true;
}

int generation_overtake(struct generation *generation, struct kp_registry *registry,
	uint64_t seen, uint64_t leap, struct kp_diag *diag)
{
	uint64_t before = generation->number;

	if (seen < before)
		return 0;
	/* Our own may be seen again, whatever it is. */
	if (seen > before && (seen - before > leap || seen >= GENERATION_MOST))
		return kp_diag_set(diag, "bad_generation", "seen",
			"seen: %llu is no generation of a plugind: this one is at %llu",
			(unsigned long long)seen, (unsigned long long)before);
	generation->number = seen;
	kp_registry_touch(registry);
	if (generation_publish(generation, registry, diag) == 0)
		return 0;
	generation->number = before;
	return -1;
}

void generation_finish(struct generation *generation)
{
	drop_messages(generation);
	*generation = (struct generation){0};
}
