/* SPDX-License-Identifier: MIT */
/* Old, new and ratio, row by row. */
#include "cmd/bench_change_table.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "cmd/bench_table.h"
#include "cmd/field.h"
#include "cmd/grid.h"
#include "lib/base/owned.h"
#include "lib/protocol/message.h"

static double number(const json_t *object, const char *key)
{
	return json_number_value(json_object_get(object, key));
}

static enum tone tone_of(const char *verdict)
{
	static const struct {
		const char *verdict;
		enum tone tone;
	} tones[] = {{"slower", TONE_BAD}, {"wrong", TONE_BAD}, {"missing", TONE_WARN},
		{"unstable", TONE_WARN}, {"faster", TONE_GOOD}};
	for (size_t i = 0; i < KP_COUNT(tones); i++)
		if (strcmp(tones[i].verdict, verdict) == 0)
			return tones[i].tone;
	return TONE_PLAIN;
}

static void add_row(struct grid *grid, const json_t *row)
{
	const char *verdict = field_text(row, "verdict", "?");
	bool has_ratio = json_is_number(json_object_get(row, "ratio"));
	grid_add(grid, TONE_PLAIN, "%s", field_text(row, "kernel", "?"));
	bench_table_add_duration(
		grid, json_object_get(json_object_get(row, "old"), "median_us"));
	bench_table_add_duration(
		grid, json_object_get(json_object_get(row, "new"), "median_us"));
	if (has_ratio) {
		grid_add(grid, TONE_PLAIN, "%.3f", number(row, "ratio"));
		grid_add(grid, TONE_PLAIN, "%.3f to %.3f", number(row, "ratio_low"),
			number(row, "ratio_high"));
	} else {
		grid_add(grid, TONE_FAINT, "-");
		grid_add(grid, TONE_FAINT, "-");
	}
	grid_add(grid, tone_of(verdict), "%s%s",
		strcmp(verdict, "wrong") == 0 ? "FAIL " : "", verdict);
}

/* How a row is not right, or why it is missing, below the table. */
static void put_messages(
	const struct output *output, const json_t *rows, size_t from, size_t end)
{
	for (size_t i = from; i < end; i++) {
		const json_t *row = json_array_get(rows, i);
		const json_t *run = json_object_get(row, "new");
		if (!field_is(row, "verdict", "wrong") &&
			!field_is(row, "verdict", "missing"))
			continue;
		output_words(output, 2, "%s: %s: %s", field_text(row, "kernel", "?"),
			field_text(run, "verdict", "missing"),
			field_text(row, "message", "it was not measured again"));
	}
}

static int put_group(
	const struct output *output, const json_t *rows, size_t from, size_t end)
{
	static const struct grid_column columns[] = {{"KERNEL", false}, {"OLD", true},
		{"NEW", true}, {"RATIO", true}, {"95 % INTERVAL", true},
		{"VERDICT", false}};
	struct grid grid = {.columns = columns, .n_columns = 6, .indent = 2};
	int status = bench_table_put_heading(output, json_array_get(rows, from));
	for (size_t i = from; i < end; i++)
		add_row(&grid, json_array_get(rows, i));
	status |= grid_print(&grid, output);
	put_messages(output, rows, from, end);
	return status;
}

static int put_quiet(const struct output *output, const json_t *row)
{
	owned_text shape = field_shape(json_object_get(row, "shape"));
	owned_text clean = shape ? output_clean(shape) : NULL;
	owned_text kernel = output_clean(field_text(row, "kernel", "?"));
	char ratio[32] = "-";
	if (!clean || !kernel)
		return output_no_memory(output);
	if (json_is_number(json_object_get(row, "ratio")))
		(void)snprintf(ratio, sizeof(ratio), "%.4f", number(row, "ratio"));
	const char *const fields[] = {
		kernel, clean, ratio, field_text(row, "verdict", "?")};
	output_fields(output, fields, KP_COUNT(fields));
	return KP_EXIT_OK;
}

/* "1 slower, 3 indistinguishable of 4; a change counts above 5 %". */
static int put_counts(const struct output *output, const json_t *document)
{
	const char *verdict;
	json_t *count;
	char text[256] = "";
	size_t used = 0;
	json_object_foreach (json_object_get(document, "counts"), verdict, count)
		if (json_integer_value(count) > 0 && used + 64 < sizeof(text))
			used += (size_t)snprintf(text + used, sizeof(text) - used,
				"%s%lld %.32s", used ? ", " : "",
				(long long)json_integer_value(count), verdict);
	const json_t *old = json_object_get(document, "old");
	const json_t *new = json_object_get(document, "new");
	output_line(output, TONE_PLAIN, "%s", "");
	if (field_int(old, "threads") != field_int(new, "threads"))
		output_words(output, 0, "%lld threads then, %lld now",
			(long long)field_int(old, "threads"),
			(long long)field_int(new, "threads"));
	output_words(output, 0,
		"%s; a change counts above %g %%, and where the intervals are apart",
		text, number(document, "threshold_percent"));
	return KP_EXIT_OK;
}

/* Rows of a group need not lie together: those that only the old result has are last. */
static int put_all(const struct output *output, const json_t *rows)
{
	int status = KP_EXIT_OK;
	size_t end, count = json_array_size(rows);
	for (size_t from = 0; from < count && status == KP_EXIT_OK; from = end) {
		end = from + 1;
		while (end < count && bench_table_same_work(json_array_get(rows, from),
					      json_array_get(rows, end)))
			end++;
		if (from > 0)
			output_line(output, TONE_PLAIN, "%s", "");
		status = put_group(output, rows, from, end);
	}
	return status;
}

int bench_change_table_print(const struct output *output, const json_t *document)
{
	const json_t *rows = json_object_get(document, "rows");
	size_t i;
	json_t *row;
	if (!output->quiet) {
		int status = put_all(output, rows);
		return status == KP_EXIT_OK ? put_counts(output, document) : status;
	}
	json_array_foreach ((json_t *)(uintptr_t)rows, i, row)
		if (put_quiet(output, row) != KP_EXIT_OK)
			return KP_EXIT_FAILED;
	return KP_EXIT_OK;
}
