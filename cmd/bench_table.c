/* SPDX-License-Identifier: MIT */
/* Sorting and printing of runs. */
#include "cmd/bench_table.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/field.h"
#include "cmd/grid.h"
#include "lib/message.h"

/* A run and where it was in the reply: sorting keeps that order where all is equal. */
struct row {
	const json_t *run;
	size_t index;
	size_t group;  /* index of the first run of its operation, signature and shape */
	double median; /* negative: none */
};

bool bench_table_all_ok(const json_t *runs)
{
	size_t i;
	json_t *run;
	json_array_foreach ((json_t *)(uintptr_t)runs, i, run)
		if (!field_is(run, "verdict", "ok"))
			return false;
	return json_array_size(runs) > 0;
}

/* None at all is the same as none of them. */
static bool same_traits(const json_t *a, const json_t *b)
{
	return (json_object_size(a) == 0 && json_object_size(b) == 0) || json_equal(a, b);
}

static bool same_work(const json_t *a, const json_t *b)
{
	return json_equal(json_object_get(a, "shape"), json_object_get(b, "shape")) &&
	       json_equal(json_object_get(a, "operation"),
		       json_object_get(b, "operation")) &&
	       json_equal(json_object_get(a, "signature"),
		       json_object_get(b, "signature")) &&
	       same_traits(json_object_get(a, "traits"), json_object_get(b, "traits"));
}

static int compare(const void *left, const void *right)
{
	const struct row *a = left;
	const struct row *b = right;
	if (a->group != b->group)
		return a->group < b->group ? -1 : 1;
	bool a_has = a->median >= 0, b_has = b->median >= 0;
	if (a_has != b_has)
		return a_has ? -1 : 1;
	if (a->median < b->median || a->median > b->median)
		return a->median < b->median ? -1 : 1;
	return a->index < b->index ? -1 : a->index > b->index;
}

static struct row *sort(const json_t *runs)
{
	size_t count = json_array_size(runs);
	struct row *rows = calloc(count + 1, sizeof(*rows));
	for (size_t i = 0; rows && i < count; i++) {
		const json_t *run = json_array_get(runs, i);
		const json_t *median = json_object_get(run, "median_us");
		rows[i] = (struct row){run, i, i, -1};
		if (json_is_number(median))
			rows[i].median = json_number_value(median);
		for (size_t j = 0; j < i; j++)
			if (rows[j].group == j && same_work(rows[j].run, run)) {
				rows[i].group = j;
				break;
			}
	}
	if (rows)
		qsort(rows, count, sizeof(*rows), compare);
	return rows;
}

/* Microseconds in a unit that leaves a few digits: "812 ns", "1.24 ms". */
static void add_duration(struct grid *grid, const json_t *value)
{
	double us = json_number_value(value);
	if (!json_is_number(value))
		grid_add(grid, TONE_FAINT, "-");
	else if (us < 1)
		grid_add(grid, TONE_PLAIN, "%.3g ns", us * 1e3);
	else if (us < 1e3)
		grid_add(grid, TONE_PLAIN, "%.3g us", us);
	else if (us < 1e6)
		grid_add(grid, TONE_PLAIN, "%.3g ms", us / 1e3);
	else
		grid_add(grid, TONE_PLAIN, "%.4g s", us / 1e6);
}

static void add_number(struct grid *grid, const json_t *value)
{
	if (!json_is_number(value))
		grid_add(grid, TONE_FAINT, "-");
	else
		grid_add(grid, TONE_PLAIN, "%.*f", json_number_value(value) < 10 ? 2 : 1,
			json_number_value(value));
}

static void add_run(struct grid *grid, const struct row *row, double best)
{
	const char *verdict = field_text(row->run, "verdict", "?");
	grid_add(grid, TONE_PLAIN, "%s", field_text(row->run, "kernel", "?"));
	grid_add(grid, strcmp(verdict, "ok") == 0 ? TONE_GOOD : TONE_BAD, "%s", verdict);
	add_duration(grid, json_object_get(row->run, "median_us"));
	add_duration(grid, json_object_get(row->run, "p10_us"));
	add_duration(grid, json_object_get(row->run, "p90_us"));
	add_number(grid, json_object_get(row->run, "gflops"));
	add_number(grid, json_object_get(row->run, "gbytes_per_s"));
	if (row->median > 0 && best >= 0)
		grid_add(grid, TONE_PLAIN, "%.0f%%", best / row->median * 100);
	else
		grid_add(grid, TONE_FAINT, "-");
}

/* "gemm/mm m 64, n 128, k 64 a=f32,b=f32,c=f32 with causal true". */
static int put_heading(const struct output *output, const json_t *run)
{
	const json_t *asked = json_object_get(run, "traits");
	owned_text shape = field_print(json_object_get(run, "shape"));
	owned_text traits = field_print(asked);
	if (!shape || !traits)
		return output_no_memory(output);
	bool has_traits = json_object_size(asked) > 0;
	output_words(output, 0, "%s %s %s%s%s", field_text(run, "operation", "?"), shape,
		field_text(run, "signature", ""), has_traits ? " with " : "",
		has_traits ? traits : "");
	return KP_EXIT_OK;
}

/* What went wrong, in words, below the table. */
static void put_messages(
	const struct output *output, const struct row *rows, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (!field_is(rows[i].run, "verdict", "ok"))
			output_words(output, 2, "%s: %s: %s",
				field_text(rows[i].run, "kernel", "?"),
				field_text(rows[i].run, "verdict", "?"),
				field_text(
					rows[i].run, "message", "no reason was given"));
}

static int put_group(const struct output *output, const struct row *rows, size_t count)
{
	static const struct grid_column columns[] = {{"KERNEL", false},
		{"VERDICT", false}, {"MEDIAN", true}, {"P10", true}, {"P90", true},
		{"GFLOP/S", true}, {"GB/S", true}, {"SHARE", true}};
	struct grid grid = {.columns = columns, .n_columns = 8, .indent = 2};
	/* The best is the fastest that is right. */
	double best = -1;
	for (size_t i = 0; i < count && best < 0; i++)
		if (field_is(rows[i].run, "verdict", "ok"))
			best = rows[i].median;
	int status = put_heading(output, rows[0].run);
	for (size_t i = 0; i < count; i++)
		add_run(&grid, &rows[i], best);
	status |= grid_print(&grid, output);
	put_messages(output, rows, count);
	return status;
}

/* "x86/mm<TAB>m=64,n=64,k=64<TAB>10.5", cleaned before the tabs come in. */
static int put_quiet(const struct output *output, const struct row *rows, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const json_t *run = rows[i].run;
		owned_text shape = field_shape(json_object_get(run, "shape"));
		owned_text clean = shape ? output_clean(shape) : NULL;
		owned_text kernel = output_clean(field_text(run, "kernel", "?"));
		char median[32] = "-";
		if (!clean || !kernel)
			return output_no_memory(output);
		if (rows[i].median >= 0)
			(void)snprintf(median, sizeof(median), "%g", rows[i].median);
		output_fields(output, (const char *const[]){kernel, clean, median}, 3);
	}
	return KP_EXIT_OK;
}

int bench_table_print(const struct output *output, const json_t *runs)
{
	size_t count = json_array_size(runs);
	struct row *rows = sort(runs);
	int status = KP_EXIT_OK;
	if (!rows)
		return output_no_memory(output);
	if (output->quiet)
		status = put_quiet(output, rows, count);
	for (size_t at = 0; !output->quiet && at < count && status == KP_EXIT_OK;) {
		size_t end = at + 1;
		while (end < count && rows[end].group == rows[at].group)
			end++;
		if (at > 0)
			output_line(output, TONE_PLAIN, "%s", "");
		status = put_group(output, rows + at, end - at);
		at = end;
	}
	free(rows);
	return status;
}
