/* SPDX-License-Identifier: MIT */
/* Pins: the kernel or solution that an operator wants for an operation. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/sorted.h"
#include "lib/registry/decisions_kind.h"

static struct kp_sorted list_of(const struct kp_decisions *d)
{
	return (struct kp_sorted){(char *)d->pins, d->n_pins, sizeof(*d->pins)};
}

static void pin_free(struct kp_pin *pin)
{
	free(pin->operation);
	free(pin->choice);
}

static void remove_pin(struct kp_decisions *decisions, struct kp_sorted *list, size_t i)
{
	assert(decisions->pins);
	pin_free(&decisions->pins[i]);
	kp_sorted_close(list, i);
	decisions->n_pins = list->count;
}

int kp_decisions_pin(struct kp_decisions *decisions, const char *operation,
	const char *choice, bool force, int64_t at, uint32_t uid, bool *changed)
{
	struct kp_sorted list = list_of(decisions);
	bool found;
	size_t i = kp_sorted_place(&list, operation, &found);

	if (!choice) {
		if (found)
			remove_pin(decisions, &list, i);
		*changed = found;
		return 0;
	}
	if (found && decisions->pins[i].force == force &&
		strcmp(decisions->pins[i].choice, choice) == 0) {
		*changed = false;
		return 0;
	}
	struct kp_pin item = {strdup(operation), strdup(choice), at, uid, force};
	if (!item.operation || !item.choice || (!found && kp_sorted_open(&list, i) < 0)) {
		pin_free(&item);
		return -1;
	}
	decisions->pins = (struct kp_pin *)(void *)list.base;
	if (found)
		pin_free(&decisions->pins[i]);
	decisions->pins[i] = item;
	decisions->n_pins = list.count;
	*changed = true;
	return 0;
}

const struct kp_pin *kp_decisions_find_pin(
	const struct kp_decisions *decisions, const char *operation)
{
	struct kp_sorted list = list_of(decisions);
	bool found;
	size_t i = kp_sorted_place(&list, operation, &found);
	return found ? &decisions->pins[i] : NULL;
}

int kp_decisions_copy_pins(const struct kp_decisions *from, struct kp_decisions *to)
{
	bool changed;
	int result = 0;

	for (size_t i = 0; i < from->n_pins && result == 0; i++) {
		const struct kp_pin *pin = &from->pins[i];
		result = kp_decisions_pin(to, pin->operation, pin->choice, pin->force,
			pin->at, pin->uid, &changed);
	}
	return result;
}

void kp_decisions_finish_pins(struct kp_decisions *decisions)
{
	for (size_t i = 0; i < decisions->n_pins; i++)
		pin_free(&decisions->pins[i]);
	free(decisions->pins);
}
