/* SPDX-License-Identifier: MIT */
/* Adding and taking away functions of the application as kernels. */
#include "lib/host/local.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/json.h"
#include "lib/base/owned.h"
#include "lib/host/calm.h"
#include "lib/host/fault.h"
#include "lib/host/handle.h"
#include "lib/plugin/note_check.h"
#include "lib/table/table_read.h"

static const char PLUGIN[] = "local";

static void local_free(struct kp_locals *local)
{
	if (!local)
		return;
	kp_note_finish(&local->note);
	kp_code_disown(local->code);
	free(local);
}

void kp_locals_free(struct kp_locals *locals)
{
	while (locals) {
		struct kp_locals *next = locals->next;
		local_free(locals);
		locals = next;
	}
}

bool kp_local_is(const struct kp_table *table, size_t kernel)
{
	const unsigned char *plugin = kp_table_record(table, KP_SECTION_PLUGINS,
		kp_load32(kp_table_kernel(table, kernel) + KP_KERNEL_PLUGIN));

	/* One of plugind's that has this name has a library. */
	return strcmp(kp_table_kernel_plugin(table, kernel), PLUGIN) == 0 &&
	       !kp_load32(plugin + KP_PLUGIN_STORED);
}

static const char *name_of(const struct kp_locals *local)
{
	return local->note.kernels[0].name;
}

/* By its bare name; the lock is held. */
static struct kp_locals *find(struct kp_handle *handle, const char *name)
{
	struct kp_locals *local = handle->locals;

	while (local && (local->removed || strcmp(name_of(local), name) != 0))
		local = local->next;
	return local;
}

int kp_local_load(struct kp_handle *handle, const char *name,
	const struct kp_device *device, const struct kp_loaded **loaded,
	struct kp_diag *diag)
{
	(void)pthread_mutex_lock(&handle->lock);
	const struct kp_locals *local = find(handle, name + sizeof(PLUGIN));
	(void)pthread_mutex_unlock(&handle->lock);
	if (local)
		return kp_code_load_adopted(local->code, device, loaded, diag);
	return kp_diag_set(diag, "no_such_kernel", name, "%s was removed", name);
}

/* ---- adding ------------------------------------------------------------------------ */

static int read_note(struct kp_locals *local, const char *text, struct kp_diag *diag)
{
	json_error_t why;
	bool no_memory;
	json_t *kernel = kp_json_load(
		text, strlen(text), JSON_REJECT_DUPLICATES, &why, &no_memory);

	if (no_memory)
		return kp_diag_no_memory(diag);
	if (!kernel)
		return kp_diag_set(diag, "bad_json", "note",
			"the note of a local kernel is a JSON object, as in the list "
			"`kernels` of a plugin's note");
	owned_json *root = json_pack("{s:s, s:s, s:[o]}", "name", PLUGIN, "version",
		"0.0.0", "kernels", kernel);
	if (!root)
		return kp_diag_no_memory(diag);
	return kp_note_from_json(root, &local->note, NULL, diag);
}

static int check_family(
	struct kp_handle *handle, struct kp_locals *local, struct kp_diag *diag)
{
	struct kp_families one = {0};

	assert(local->note.n_kernels == 1);
	const struct kp_contract *contract = kp_contract_get(&handle->contracts,
		handle->attach, local->note.kernels[0].operation, diag);
	if (!contract)
		return -1;
	struct kp_family family = contract->family;
	if (contract->described)
		one = (struct kp_families){1, &family};
	struct kp_diags warnings = {0};
	int result = kp_note_check(&local->note, &one, 0, &warnings, diag);
	for (size_t i = 0; i < warnings.count; i++)
		kp_log(&handle->log, KP_LOG_WARNING, "%s", warnings.items[i].message);
	kp_diags_finish(&warnings);
	return result;
}

static int enter(struct kp_handle *handle, struct kp_locals *local, struct kp_diag *diag)
{
	int result = 0;

	(void)pthread_mutex_lock(&handle->lock);
	if (find(handle, name_of(local))) {
		result = kp_diag_set(diag, "duplicate_kernel", name_of(local),
			"local/%s is there already; kp_local_remove takes it away",
			name_of(local));
	} else {
		local->next = handle->locals;
		handle->locals = local;
	}
	(void)pthread_mutex_unlock(&handle->lock);
	return result;
}

static struct kp_locals *make(struct kp_handle *handle, const char *note,
	const struct kp_kernel *vtable, struct kp_diag *diag)
{
	struct kp_locals *local = calloc(1, sizeof(*local));

	if (!local) {
		kp_diag_no_memory(diag);
		return NULL;
	}
	if (read_note(local, note, diag) == 0 && check_family(handle, local, diag) == 0 &&
		(local->code = kp_code_adopt(name_of(local), vtable, diag)))
		return local;
	local_free(local);
	return NULL;
}

/* Sites decide by a table that has it, or by none. */
static int spread(struct kp_handle *handle, struct kp_diag *diag)
{
	struct kp_sight *sight;

	kp_handle_forget_sight(handle);
	sight = kp_handle_sight(handle, 0, diag);
	kp_sight_drop(sight);
	kp_handle_touch(handle, NULL);
	return sight ? 0 : -1;
}

int kp_local_add(struct kp_handle *handle, const char *note,
	const struct kp_kernel *vtable, struct kp_error *error)
{
	owned_calm calm = kp_calm_begin();
	struct kp_diag diag;

	if (kp_handle_is_forked(handle))
		return kp_handle_forked(error);
	struct kp_locals *local = make(handle, note, vtable, &diag);
	if (!local)
		return kp_fault(error, &diag);
	if (enter(handle, local, &diag) < 0) {
		local_free(local);
		return kp_fault(error, &diag);
	}
	if (spread(handle, &diag) == 0)
		return KP_OK;
	local->removed = true;
	kp_handle_forget_sight(handle);
	return kp_fault(error, &diag);
}

int kp_local_remove(struct kp_handle *handle, const char *name, struct kp_error *error)
{
	owned_calm calm = kp_calm_begin();
	const char *bare = strncmp(name, "local/", 6) == 0 ? name + 6 : name;
	struct kp_diag diag;

	if (kp_handle_is_forked(handle))
		return kp_handle_forked(error);
	(void)pthread_mutex_lock(&handle->lock);
	struct kp_locals *local = find(handle, bare);
	if (local)
		local->removed = true;
	(void)pthread_mutex_unlock(&handle->lock);
	if (!local)
		return kp_fault_say(
			error, KP_INVALID, "there is no kernel local/%s", bare);
	return spread(handle, &diag) == 0 ? KP_OK : kp_fault(error, &diag);
}
