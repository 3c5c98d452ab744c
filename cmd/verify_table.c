/* SPDX-License-Identifier: MIT */
/* Rows gathered by kernel and signature, and how to repeat the first that failed. */
#include "cmd/verify_table.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/field.h"
#include "cmd/grid.h"
#include "lib/protocol/message.h"

/* All rows of one kernel and signature. */
struct group {
	const json_t *first; /* row */
	const json_t *worst; /* the first that failed, or NULL */
	const json_t *told;  /* that says why it is none of both; or NULL */
	json_int_t cases, passed, unsupported, shapes;
	bool any_right;
	double error, tolerance; /* the largest share; negative: none */
};

static bool is_one_of(const char *text, const char *const *list)
{
	for (; *list; list++)
		if (strcmp(*list, text) == 0)
			return true;
	return false;
}

static bool is_failure(const json_t *run)
{
	static const char *const not_failures[] = {
		"ok", "unverified", "unsupported", "unavailable", "not_eligible", NULL};

	return !is_one_of(field_text(run, "verdict", "?"), not_failures);
}

static bool same_group(const json_t *a, const json_t *b)
{
	return strcmp(field_text(a, "kernel", "?"), field_text(b, "kernel", "?")) == 0 &&
	       strcmp(field_text(a, "signature", "?"), field_text(b, "signature", "?")) ==
		       0;
}

static void add_error(struct group *group, const json_t *run)
{
	const json_t *error = json_object_get(run, "max_error");
	const json_t *allowed = json_object_get(run, "tolerance");
	double value = json_number_value(error), tolerance = json_number_value(allowed);

	if (!json_is_number(error) || !json_is_number(allowed))
		return;
	if (group->error >= 0 && value * group->tolerance <= group->error * tolerance)
		return;
	group->error = value;
	group->tolerance = tolerance;
}

static void add_run(struct group *group, const json_t *run)
{
	if (is_failure(run) && !group->worst)
		group->worst = run;
	if (!field_is(run, "verdict", "ok") && !group->told)
		group->told = run;
	group->any_right |= field_is(run, "verdict", "ok");
	group->cases += field_int(run, "cases");
	group->passed += field_int(run, "passed");
	group->unsupported += field_int(run, "unsupported");
	group->shapes++;
	add_error(group, run);
}

/* In the order of their first rows; malloc'ed. */
static struct group *gather(const json_t *runs, size_t *count)
{
	size_t most = json_array_size(runs), i;
	struct group *groups = calloc(most + 1, sizeof(*groups));
	json_t *run;

	*count = 0;
	if (!groups)
		return NULL;
	json_array_foreach ((json_t *)(uintptr_t)runs, i, run) {
		size_t at = 0;
		while (at < *count && !same_group(groups[at].first, run))
			at++;
		if (at == *count) {
			groups[at] = (struct group){.first = run, .error = -1};
			++*count;
		}
		add_run(&groups[at], run);
	}
	return groups;
}

bool verify_table_all_right(const json_t *runs)
{
	size_t count;
	struct group *groups = gather(runs, &count);
	bool right = groups && count > 0;

	for (size_t i = 0; right && i < count; i++)
		right = !groups[i].worst && groups[i].any_right;
	free(groups);
	return right;
}

/* ---- text -------------------------------------------------------------------------- */

static const char *verdict_of(const struct group *group)
{
	if (group->worst)
		return field_text(group->worst, "verdict", "?");
	return group->any_right ? "ok" : field_text(group->first, "verdict", "?");
}

static void add_line(struct grid *grid, const struct group *group)
{
	const char *verdict = verdict_of(group);

	grid_add(grid, TONE_PLAIN, "%s", field_text(group->first, "kernel", "?"));
	grid_add(grid, TONE_PLAIN, "%s", field_text(group->first, "signature", "?"));
	grid_add(grid, strcmp(verdict, "ok") == 0 ? TONE_GOOD : TONE_BAD, "%s", verdict);
	grid_add(grid, TONE_PLAIN, "%lld", (long long)group->shapes);
	grid_add(grid, TONE_PLAIN, "%lld of %lld", (long long)group->passed,
		(long long)group->cases);
	grid_add(grid, group->unsupported ? TONE_PLAIN : TONE_FAINT, "%lld",
		(long long)group->unsupported);
	if (group->error < 0)
		grid_add(grid, TONE_FAINT, "-");
	else
		grid_add(
			grid, TONE_PLAIN, "%.2g of %.2g", group->error, group->tolerance);
}

/* A word for a shell; malloc'ed. */
static char *quoted(const char *text)
{
	static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
				    "0123456789_-+=.,:/@%";
	char *word = NULL;
	size_t size;

	if (*text && strspn(text, plain) == strlen(text))
		return strdup(text);
	FILE *out = open_memstream(&word, &size);
	if (!out)
		return NULL;
	(void)fputc('\'', out);
	for (; *text; text++)
		(void)fputs(*text == '\'' ? "'\\''" : (const char[]){*text, '\0'}, out);
	(void)fputc('\'', out);
	if (fclose(out) == 0)
		return word;
	free(word);
	return NULL;
}

static void put_word(FILE *out, const char *option, const char *text)
{
	owned_text word = quoted(text);

	(void)fprintf(out, "%s%s", option, word ? word : "?");
}

static void put_traits(FILE *out, const json_t *traits)
{
	const char *name;
	json_t *value;

	json_object_foreach ((json_t *)(uintptr_t)traits, name, value) {
		owned_text text = field_print(value);
		owned_text pair = NULL;
		if (asprintf(&pair, "%s=%s", name, text ? text : "?") >= 0)
			put_word(out, " --trait ", pair);
	}
}

/* "pluginctl verify gemm/mm --kernel x86/mm ..."; malloc'ed. */
static char *repeat_text(const json_t *run)
{
	const json_t *failed = json_object_get(run, "failed");
	owned_text shape = field_shape(json_object_get(run, "shape"));
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return NULL;
	put_word(out, "pluginctl verify ", field_text(run, "operation", "?"));
	put_word(out, " --kernel ", field_text(run, "kernel", "?"));
	put_word(out, " --sig ", field_text(run, "signature", "?"));
	put_word(out, " --shape ", shape ? shape : "?");
	put_traits(out, json_object_get(run, "traits"));
	if (json_is_object(failed)) {
		put_word(out, " --layout ", field_text(failed, "layout", "?"));
		(void)fprintf(out, " --seed %lld", (long long)field_int(failed, "seed"));
	}
	if (fclose(out) == 0)
		return text;
	free(text);
	return NULL;
}

/* "x86/mm: wrong in m 3, n 5, k 7, gaps, seed 2, strides a {9, 1}: c: element ...". */
static int put_failure(const struct output *output, const json_t *run)
{
	const json_t *failed = json_object_get(run, "failed");
	owned_text shape = field_print(json_object_get(run, "shape"));
	owned_text strides = field_print(json_object_get(failed, "strides"));
	owned_text repeat = repeat_text(run);
	const char *message = field_text(run, "message", "no reason was given");

	if (!shape || !strides || !repeat)
		return output_no_memory(output);
	if (json_is_object(failed))
		output_words(output, 2, "%s: %s in %s, %s, seed %lld, strides %s: %s",
			field_text(run, "kernel", "?"), field_text(run, "verdict", "?"),
			shape, field_text(failed, "layout", "?"),
			(long long)field_int(failed, "seed"), strides, message);
	else
		output_words(output, 2, "%s: %s in %s: %s",
			field_text(run, "kernel", "?"), field_text(run, "verdict", "?"),
			shape, message);
	output_line(output, TONE_FAINT, "    %s", repeat);
	return KP_EXIT_OK;
}

/* Each once, though it is found in every shape. */
static int put_findings(
	const struct output *output, const json_t *runs, const struct group *group)
{
	owned_json *seen = json_object();
	size_t i, j;
	json_t *run, *finding;

	json_array_foreach ((json_t *)(uintptr_t)runs, i, run) {
		owned_text shape = field_print(json_object_get(run, "shape"));
		if (!seen || !shape)
			return output_no_memory(output);
		if (!same_group(run, group->first))
			continue;
		json_array_foreach (json_object_get(run, "findings"), j, finding) {
			const char *text = json_string_value(finding);
			if (!text || json_object_get(seen, text))
				continue;
			(void)json_object_set_new(seen, text, json_true());
			output_words(output, 2, "%s: finding in %s: %s",
				field_text(run, "kernel", "?"), shape, text);
		}
	}
	return KP_EXIT_OK;
}

static int put_words(
	const struct output *output, const json_t *runs, const struct group *group)
{
	int status = KP_EXIT_OK;

	if (group->worst && !field_is(group->worst, "verdict", "finding"))
		status = put_failure(output, group->worst);
	else if (group->told && !group->worst)
		output_words(output, 2, "%s: %s%s: %s",
			field_text(group->told, "kernel", "?"),
			field_text(group->told, "verdict", "?"),
			group->any_right ? " in some shapes" : "",
			field_text(group->told, "message", "no reason was given"));
	return status == KP_EXIT_OK ? put_findings(output, runs, group) : status;
}

static int put_heading(const struct output *output, const json_t *run)
{
	const json_t *asked = json_object_get(run, "traits");
	owned_text traits = field_print(asked);
	owned_text numbers = field_print(json_object_get(run, "seeds"));

	if (!traits || !numbers)
		return output_no_memory(output);
	output_words(output, 0, "%s%s%s, seeds %s", field_text(run, "operation", "?"),
		*traits ? " with " : "", traits, numbers);
	return KP_EXIT_OK;
}

static int put_all(const struct output *output, const json_t *runs,
	const struct group *groups, size_t count)
{
	static const struct grid_column columns[] = {{"KERNEL", false},
		{"SIGNATURE", false}, {"VERDICT", false}, {"SHAPES", true},
		{"RIGHT", true}, {"UNSUPPORTED", true}, {"ERROR", true}};
	struct grid grid = {.columns = columns, .n_columns = 7, .indent = 2};
	int status = count > 0 ? put_heading(output, groups[0].first) : KP_EXIT_OK;

	for (size_t i = 0; i < count; i++)
		add_line(&grid, &groups[i]);
	if (status == KP_EXIT_OK)
		status = grid_print(&grid, output);
	for (size_t i = 0; i < count && status == KP_EXIT_OK; i++)
		status = put_words(output, runs, &groups[i]);
	return status;
}

static int put_quiet(
	const struct output *output, const struct group *groups, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		owned_text kernel =
			output_clean(field_text(groups[i].first, "kernel", "?"));
		owned_text signature =
			output_clean(field_text(groups[i].first, "signature", "?"));
		owned_text verdict = output_clean(verdict_of(&groups[i]));
		if (!kernel || !signature || !verdict)
			return output_no_memory(output);
		output_fields(
			output, (const char *const[]){kernel, signature, verdict}, 3);
	}
	return KP_EXIT_OK;
}

int verify_table_print(const struct output *output, const json_t *document)
{
	const json_t *runs = json_object_get(document, "runs");
	size_t count, i;
	const json_t *remark;
	struct group *groups = gather(runs, &count);

	if (!groups)
		return output_no_memory(output);
	int status = output->quiet ? put_quiet(output, groups, count)
				   : put_all(output, runs, groups, count);
	free(groups);
	json_array_foreach (json_object_get(document, "remarks"), i, remark)
		if (!output->quiet && json_is_string(remark))
			output_words(output, 2, "%s", json_string_value(remark));
	return status;
}
