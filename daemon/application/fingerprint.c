/* SPDX-License-Identifier: MIT */
/* The lines of a fingerprint, from a table and what operators decided. */
#include "daemon/application/fingerprint.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/text.h"
#include "lib/select/predicate.h"
#include "lib/select/query.h"
#include "lib/table/table_read.h"

enum { LINE_BYTES = 4096 };

struct writer {
	const struct kp_table *table;
	const char *device;
	json_t *lines;
	bool failed; /* memory */
	/* Of one operation after the other. */
	struct kp_request request;
	struct kp_query *query;
	size_t operation;
};

static void put(struct writer *writer, const char *line)
{
	json_t *text = json_string(line);

	if (!text || json_array_append_new(writer->lines, text) < 0)
		writer->failed = true;
}

/* ---- kernels ------------------------------------------------------------------- */

static size_t add_list(
	char *line, size_t used, const char *key, const struct kp_strings *strings)
{
	for (size_t i = 0; i < strings->count; i++)
		used = kp_text_add(
			line, LINE_BYTES, used, "%s%s", i ? "," : key, strings->items[i]);
	return used;
}

static size_t add_traits(char *line, size_t used, const struct kp_spec *spec)
{
	for (size_t i = 0; i < spec->n_traits; i++) {
		char text[512];
		const struct kp_trait *trait = &spec->traits[i];
		used = kp_text_add(line, LINE_BYTES, used, " [%s %s%s]", trait->name,
			kp_trait_print(trait, text, sizeof(text)),
			trait->required ? " required" : "");
	}
	return used;
}

static const char *library_digest(const struct kp_table *table, size_t kernel)
{
	size_t plugin = kp_load32(kp_table_kernel(table, kernel) + KP_KERNEL_PLUGIN);
	const unsigned char *record = kp_table_record(table, KP_SECTION_PLUGINS, plugin);
	return kp_table_text(table, kp_load32(record + KP_PLUGIN_DIGEST));
}

/* Everything that selection asks of it, but its device, which has passed. */
static void put_kernel(struct writer *writer, size_t kernel, const char *signature)
{
	char line[LINE_BYTES], id[KP_KERNEL_ID_BYTES];
	struct kp_entry_state state;
	struct kp_spec spec;
	void *memory;

	if (kp_table_spec(writer->table, kernel, &spec, &state, &memory) < 0) {
		writer->failed = true;
		return;
	}
	size_t used = kp_text_add(line, sizeof(line), 0,
		"%s %s %s sha256:%s policy=%d priority=%d revision=%u", spec.operation,
		signature, kp_table_kernel_id(writer->table, kernel, id, sizeof(id)),
		library_digest(writer->table, kernel), state.policy, spec.priority,
		spec.revision);
	if (spec.solution)
		used = kp_text_add(
			line, sizeof(line), used, " solution=%s", spec.solution);
	used = add_list(line, used, " tags=", &spec.tags);
	used = add_list(line, used, " features=", &spec.features);
	used = add_list(line, used, " layouts=", &spec.layouts);
	(void)add_traits(line, used, &spec);
	free(memory);
	put(writer, line);
}

/* The device alone: what a request brings is in the lines. */
static bool is_here(const struct writer *writer, size_t kernel)
{
	const unsigned char *record = kp_table_kernel(writer->table, kernel);
	struct kp_subject subject = {.index = kernel,
		.kernel = record,
		.profile = kp_table_profile(writer->table, record)};

	return record[KP_KERNEL_STATE] == KP_STATE_ACTIVE &&
	       kp_load32(record + KP_KERNEL_UNAVAILABLE) == 0 &&
	       kp_predicate_device(writer->query, &subject, NULL);
}

static int ask_about(struct writer *writer, size_t operation, struct kp_diag *diag)
{
	const unsigned char *record =
		kp_table_record(writer->table, KP_SECTION_OPERATIONS, operation);

	free(writer->query);
	writer->operation = operation;
	writer->request =
		(struct kp_request){.operation = kp_table_text(writer->table,
					    kp_load32(record + KP_OPERATION_NAME)),
			.device = writer->device,
			.any_signature = true};
	writer->query = kp_query_new(writer->table, &writer->request, diag);
	return writer->query ? 0 : -1;
}

static int put_signature(struct writer *writer, size_t i, struct kp_diag *diag)
{
	const struct kp_table *table = writer->table;
	const unsigned char *record = kp_table_record(table, KP_SECTION_SIGNATURES, i);
	size_t operation = kp_load32(record + KP_SIGNATURE_OPERATION);
	struct kp_list kernels =
		kp_table_list(table, kp_load32(record + KP_SIGNATURE_KERNELS));

	if ((!writer->query || writer->operation != operation) &&
		ask_about(writer, operation, diag) < 0)
		return -1;
	for (size_t k = 0; k < kernels.count; k++)
		if (is_here(writer, kp_list_get(kernels, k)))
			put_kernel(writer, kp_list_get(kernels, k),
				kp_table_text(
					table, kp_load32(record + KP_SIGNATURE_TEXT)));
	return 0;
}

/* ---- the rest ------------------------------------------------------------------ */

static void put_families(struct writer *writer, const struct kp_families *families)
{
	char line[LINE_BYTES];

	for (size_t i = 0; i < families->count; i++) {
		const struct kp_family *family = &families->items[i];
		(void)snprintf(line, sizeof(line), "family %s revision=%u text=%s",
			family->operation, family->revision, family->digest);
		put(writer, line);
	}
}

static void put_decisions(struct writer *writer, const struct kp_decisions *decisions)
{
	char line[LINE_BYTES];

	for (size_t i = 0; i < decisions->n_pins; i++) {
		const struct kp_pin *pin = &decisions->pins[i];
		(void)snprintf(line, sizeof(line), "pin %s %s%s", pin->operation,
			pin->choice, pin->force ? " force" : "");
		put(writer, line);
	}
	for (size_t i = 0; i < decisions->n_disabled; i++) {
		(void)snprintf(
			line, sizeof(line), "disabled %s", decisions->disabled[i].name);
		put(writer, line);
	}
	for (size_t i = 0; i < decisions->n_rules; i++) {
		(void)snprintf(line, sizeof(line), "disabled %s solution=%s",
			decisions->rules[i].operation, decisions->rules[i].solution);
		put(writer, line);
	}
}

/* Operators decide in any order; and two lists that are sorted are easy to compare. */
static json_t *sorted(const json_t *lines)
{
	size_t count = json_array_size(lines);
	const char **texts = calloc(count + 1, sizeof(*texts));
	json_t *made = texts ? json_array() : NULL;

	for (size_t i = 0; texts && i < count; i++)
		texts[i] = json_string_value(json_array_get(lines, i));
	if (texts)
		qsort(texts, count, sizeof(*texts), kp_text_compare);
	for (size_t i = 0; made && i < count; i++)
		if (json_array_append_new(made, json_string(texts[i])) < 0) {
			json_decref(made);
			made = NULL;
		}
	free(texts);
	return made;
}

int fingerprint_lines(const struct kp_table *table, const struct kp_families *families,
	const struct kp_decisions *decisions, const char *device, json_t **lines,
	struct kp_diag *diag)
{
	struct writer writer = {.table = table, .device = device, .lines = json_array()};
	int result = writer.lines ? 0 : kp_diag_no_memory(diag);

	if (result == 0)
		put_families(&writer, families);
	for (size_t i = 0;
		result == 0 && i < kp_table_count(table, KP_SECTION_SIGNATURES); i++)
		result = put_signature(&writer, i, diag);
	if (result == 0)
		put_decisions(&writer, decisions);
	free(writer.query);
	json_t *made = result == 0 && !writer.failed ? sorted(writer.lines) : NULL;
	json_decref(writer.lines);
	if (result == 0 && !made)
		result = kp_diag_no_memory(diag);
	if (made)
		*lines = made;
	return result;
}
