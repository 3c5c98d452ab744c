/* SPDX-License-Identifier: MIT */
/* Sorting and printing of runs. */
#include "cmd/bench_table.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/field.h"
#include "cmd/grid.h"
#include "lib/base/owned.h"
#include "lib/protocol/message.h"

/* A run and where it was in the reply: sorting keeps that order where all is equal. */
struct row {
	const json_t *run;
	size_t index;
	size_t group;  /* index of the first run of its operation, signature and shape */
	int place;     /* those that are right, others with times, none, wrong */
	double median; /* negative: none */
};

static int place_of(const struct row *row)
{
	const char *verdict = field_text(row->run, "verdict", "?");
	if (bench_table_is_failure(verdict))
		return 3;
	return row->median < 0 ? 2 : strcmp(verdict, "ok") != 0;
}

bool bench_table_is_good(const json_t *runs, bool is_unchecked)
{
	size_t i;
	json_t *run;
	json_array_foreach ((json_t *)(uintptr_t)runs, i, run)
		if (!field_is(run, "verdict", "ok") &&
			!(is_unchecked && field_is(run, "verdict", "unverified")))
			return false;
	return json_array_size(runs) > 0;
}

bool bench_table_is_failure(const char *verdict)
{
	static const char *const failures[] = {
		"wrong", "crashed", "hung", "out_of_bounds", "error"};
	for (size_t i = 0; i < KP_COUNT(failures); i++)
		if (strcmp(verdict, failures[i]) == 0)
			return true;
	return false;
}

/* None at all is the same as none of them. */
static bool same_traits(const json_t *a, const json_t *b)
{
	return (json_object_size(a) == 0 && json_object_size(b) == 0) || json_equal(a, b);
}

bool bench_table_same_work(const json_t *a, const json_t *b)
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
	if (a->place != b->place)
		return a->place < b->place ? -1 : 1;
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
		rows[i] = (struct row){run, i, i, 0, -1};
		if (json_is_number(median))
			rows[i].median = json_number_value(median);
		rows[i].place = place_of(&rows[i]);
		for (size_t j = 0; j < i; j++)
			if (rows[j].group == j &&
				bench_table_same_work(rows[j].run, run)) {
				rows[i].group = j;
				break;
			}
	}
	if (rows)
		qsort(rows, count, sizeof(*rows), compare);
	return rows;
}

void bench_table_add_duration(struct grid *grid, const json_t *value)
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

/* Half of the interval, as a part of the median. */
static void add_spread(struct grid *grid, const json_t *run)
{
	double low = json_number_value(json_object_get(run, "low_us"));
	double high = json_number_value(json_object_get(run, "high_us"));
	double median = json_number_value(json_object_get(run, "median_us"));
	if (low > 0 && high >= low && median > 0)
		grid_add(grid, TONE_PLAIN, "%.*f%%", high - low < 0.2 * median ? 1 : 0,
			(high - low) / 2 / median * 100);
	else
		grid_add(grid, TONE_FAINT, "-");
}

/* "3e-7": an exponent as short as it goes. */
static void print_short(char *text, size_t size, double value)
{
	(void)snprintf(text, size, "%.1g", value);
	char *zero = strpbrk(text, "e");
	if (zero && (zero[1] == '-' || zero[1] == '+') && zero[2] == '0')
		memmove(zero + 2, zero + 3, strlen(zero + 3) + 1);
	if (zero && zero[1] == '+')
		memmove(zero + 1, zero + 2, strlen(zero + 2) + 1);
}

/* The largest error by what is allowed. */
static void add_error(struct grid *grid, const json_t *run)
{
	const json_t *error = json_object_get(run, "max_error");
	const json_t *tolerance = json_object_get(run, "tolerance");
	char left[32], right[32];
	if (!json_is_number(tolerance)) {
		grid_add(grid, TONE_FAINT, "-");
		return;
	}
	print_short(left, sizeof(left), json_number_value(error));
	print_short(right, sizeof(right), json_number_value(tolerance));
	grid_add(grid, TONE_PLAIN, "%s/%s", json_is_number(error) ? left : "-", right);
}

static void add_verdict(struct grid *grid, const char *verdict)
{
	bool is_failure = bench_table_is_failure(verdict);
	enum tone tone = strcmp(verdict, "ok") == 0 ? TONE_GOOD
			 : is_failure		    ? TONE_BAD
						    : TONE_WARN;
	grid_add(grid, tone, "%s%s", is_failure ? "FAIL " : "", verdict);
}

static void add_run(struct grid *grid, const struct row *row, double best)
{
	grid_add(grid, TONE_PLAIN, "%s", field_text(row->run, "kernel", "?"));
	bench_table_add_duration(grid, json_object_get(row->run, "median_us"));
	add_spread(grid, row->run);
	add_number(grid, json_object_get(row->run, "gflops"));
	add_number(grid, json_object_get(row->run, "gbytes_per_s"));
	if (row->median > 0 && best >= 0)
		grid_add(grid, TONE_PLAIN, "%.*f%%", best / row->median < 0.1,
			best / row->median * 100);
	else
		grid_add(grid, TONE_FAINT, "-");
	add_error(grid, row->run);
	add_verdict(grid, field_text(row->run, "verdict", "?"));
}

int bench_table_put_heading(const struct output *output, const json_t *run)
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
	static const struct grid_column columns[] = {{"KERNEL", false}, {"MEDIAN", true},
		{"+-", true}, {"GFLOP/S", true}, {"GB/S", true}, {"SHARE", true},
		{"ERROR", true}, {"VERDICT", false}};
	struct grid grid = {.columns = columns, .n_columns = 8, .indent = 2};
	/* The best is the fastest that is right. */
	double best = -1;
	for (size_t i = 0; i < count && best < 0; i++)
		if (field_is(rows[i].run, "verdict", "ok"))
			best = rows[i].median;
	int status = bench_table_put_heading(output, rows[0].run);
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

/* "AMD EPYC, 2 cores, 1 thread; 4 rounds in 0.5 s a kernel and shape; ...". */
static void put_method(const struct output *output, const json_t *document)
{
	const json_t *machine = json_object_get(document, "platform");
	const json_t *method = json_object_get(document, "method");
	long long cores = field_int(machine, "cores");
	long long threads = field_int(document, "threads");
	long long rounds = field_int(method, "rounds");
	if (!json_is_object(machine) || !json_is_object(method))
		return;
	output_line(output, TONE_PLAIN, "%s", "");
	output_words(output, 0,
		"%s, %lld core%s, %lld thread%s; %lld round%s in %g s a kernel and "
		"shape, caches %s; +- half of the 95 %% interval of the median",
		field_text(machine, "cpu", "a CPU without a name"), cores,
		cores == 1 ? "" : "s", threads, threads == 1 ? "" : "s", rounds,
		rounds == 1 ? "" : "s",
		json_number_value(json_object_get(method, "time_s")),
		field_text(method, "caches", "?"));
}

int bench_table_print(const struct output *output, const json_t *document)
{
	const json_t *runs = json_object_get(document, "runs");
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
	if (!output->quiet && status == KP_EXIT_OK)
		put_method(output, document);
	free(rows);
	return status;
}
