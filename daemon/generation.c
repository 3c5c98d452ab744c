/* SPDX-License-Identifier: MIT */
/* Publishing of generations. */
#include "daemon/generation.h"

#include <stdlib.h>
#include <string.h>

#include "daemon/application/control.h"

static void drop_texts(struct generation *generation)
{
	for (size_t i = 0; i < GENERATION_TEXTS; i++) {
		free(generation->texts[i].text);
		generation->texts[i].text = NULL;
		generation->texts[i].size = 0;
	}
	answers_clear(&generation->answers);
}

int generation_publish(
	struct generation *generation, struct kp_registry *registry, struct kp_diag *diag)
{
	if (generation->table.bytes && !kp_registry_is_dirty(registry))
		return 0;
	if (kp_registry_publish(registry, generation->number + 1, diag) < 0)
		return -1;
	drop_texts(generation);
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

void generation_keep(
	struct generation *generation, enum generation_text which, char *text)
{
	free(generation->texts[which].text);
	generation->texts[which].text = text;
	generation->texts[which].size = text ? strlen(text) : 0;
}

void generation_finish(struct generation *generation)
{
	drop_texts(generation);
	*generation = (struct generation){0};
}
