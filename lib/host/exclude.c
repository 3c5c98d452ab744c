/* SPDX-License-Identifier: MIT */
/* Another version of a plugin is another stored library, and gets its own chance. */
#include "lib/host/exclude.h"

#include <stdlib.h>
#include <string.h>

#include "lib/table/table_read.h"

struct kp_excluded {
	struct kp_excluded *next;
	const void *device;
	char *stored;
	char kernel[KP_KERNEL_ID_BYTES];
	struct kp_diag why;
};

static const char *stored_of(const struct kp_table *table, size_t kernel)
{
	const unsigned char *record = kp_table_kernel(table, kernel);
	const unsigned char *plugin = kp_table_record(
		table, KP_SECTION_PLUGINS, kp_load32(record + KP_KERNEL_PLUGIN));

	return kp_table_text(table, kp_load32(plugin + KP_PLUGIN_STORED));
}

void kp_exclude_init(struct kp_exclude *exclude)
{
	exclude->first = NULL;
	(void)pthread_mutex_init(&exclude->lock, NULL);
}

void kp_exclude_finish(struct kp_exclude *exclude)
{
	struct kp_excluded *item = exclude->first;

	while (item) {
		struct kp_excluded *next = item->next;
		free(item->stored);
		free(item);
		item = next;
	}
	(void)pthread_mutex_destroy(&exclude->lock);
}

static const struct kp_excluded *find(const struct kp_exclude *exclude,
	const struct kp_table *table, size_t kernel, const void *device)
{
	const struct kp_excluded *item =
		__atomic_load_n(&exclude->first, __ATOMIC_ACQUIRE);
	char id[KP_KERNEL_ID_BYTES];

	if (!item)
		return NULL;
	(void)kp_table_kernel_id(table, kernel, id, sizeof(id));
	while (item && (item->device != device || strcmp(item->kernel, id) != 0 ||
			       strcmp(item->stored, stored_of(table, kernel)) != 0))
		item = item->next;
	return item;
}

bool kp_exclude_has(struct kp_exclude *exclude, const struct kp_table *table,
	size_t kernel, const void *device, struct kp_diag *why)
{
	const struct kp_excluded *item = find(exclude, table, kernel, device);

	if (item && why)
		*why = item->why;
	return item != NULL;
}

bool kp_exclude_add(struct kp_exclude *exclude, const struct kp_table *table,
	size_t kernel, const void *device, const struct kp_diag *why)
{
	struct kp_excluded *item = NULL;

	(void)pthread_mutex_lock(&exclude->lock);
	bool done = find(exclude, table, kernel, device) != NULL;
	if (!done && (item = calloc(1, sizeof(*item))) &&
		(item->stored = strdup(stored_of(table, kernel)))) {
		(void)kp_table_kernel_id(
			table, kernel, item->kernel, sizeof(item->kernel));
		item->device = device;
		item->why = *why;
		item->next = exclude->first;
		__atomic_store_n(&exclude->first, item, __ATOMIC_RELEASE);
		done = true;
	} else if (item) {
		free(item);
	}
	(void)pthread_mutex_unlock(&exclude->lock);
	return done;
}
