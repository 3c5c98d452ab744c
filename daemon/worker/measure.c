/* SPDX-License-Identifier: MIT */
/*
 * The job that runs one kernel on one case, in a process of its own:
 *
 * {"kind": "bench", "task": "reference" or "measure", "stored", "kernel", "config",
 *  "family", "signature", "shape", "attributes", "seed", "time_s", "rounds", "keep",
 *  "threads"}
 *
 * "threads" is how many run what the kernel gives to parallel_for: 1 where it is not
 * given.
 *
 * "reference" runs the kernel once and writes its outputs to the descriptor that
 * came with the job. "measure" checks against what is there (no descriptor:
 * nothing is known), times, and checks again. Either reports
 *
 * {"bench": {"verdict", "message", "samples", "warmup", "median_us", "p10_us", "p90_us",
 *  "min_us", "max_us", "max_error", "tolerance", "call_ms", "passed", "failed",
 *  "repeats", "cpufreq_mhz", "chain_mhz"}}
 *
 * after the samples of a kernel that is right, {"samples_ps": [...]}, some hundreds a
 * line,
 * and, when the kernel dies at a fence, what daemon/worker/fence.h says.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/worker/measure_clock.h"
#include "daemon/worker/measure_core.h"
#include "daemon/worker/measure_gpu.h"
#include "daemon/worker/measure_layout.h"
#include "daemon/worker/measure_result.h"
#include "daemon/worker/report.h"
#include "lib/base/clock.h"
#include "lib/base/json.h"

struct measuring {
	struct device device;
	struct measure_case c;
	struct measure_kernel kernel;
	struct measure_times times;
	struct measure_core core;
	struct measure_gpu gpu;
	double call_ms;
	bool passed[3]; /* checks before, while and after it was timed */
	const char *failed;
};

static const char *const phases[] = {"before", "during", "after"};
enum { BEFORE, DURING, AFTER, PHASES };
enum { SAMPLES_A_LINE = 500 };

/* Whole picoseconds: short in a line, and finer than any clock. */
static void report_samples(const struct report *report, const struct measure_times *times)
{
	for (size_t from = 0; from < times->n_kept; from += SAMPLES_A_LINE) {
		json_t *list = json_array();
		for (size_t i = from; i < times->n_kept && i < from + SAMPLES_A_LINE; i++)
			(void)json_array_append_new(list,
				json_integer((json_int_t)llround(times->kept[i] * 1e6)));
		report_line(report, json_pack("{s:o}", "samples_ps", list));
	}
}

static json_t *passed_json(const struct measuring *measuring)
{
	json_t *list = json_array();

	for (size_t i = 0; i < PHASES; i++)
		if (measuring->passed[i])
			(void)json_array_append_new(list, json_string(phases[i]));
	return list;
}

static json_t *gpu_json(const struct measure_gpu *gpu)
{
	return json_pack("{s:{s:I, s:b, s:b, s:o, s:o}}", "gpu", "sets",
		(json_int_t)gpu->sets, "cold", gpu->is_cold, "graph", gpu->is_graph,
		"copy_gbytes_per_s",
		measure_number(gpu->copy_gbytes_per_s, gpu->copy_gbytes_per_s > 0),
		"clock_mhz", measure_number(gpu->clock_mhz, gpu->clock_mhz > 0));
}

static json_t *with_circumstances(json_t *bench, const struct measuring *measuring)
{
	const struct measure_core *core = &measuring->core;
	json_t *more = json_pack("{s:o, s:s?, s:I, s:o, s:o}", "passed",
		passed_json(measuring), "failed", measuring->failed, "repeats",
		(json_int_t)measuring->times.repeats, "cpufreq_mhz",
		measure_number(core->cpufreq_mhz, core->cpufreq_mhz > 0), "chain_mhz",
		measure_number(core->chain_mhz, core->chain_mhz > 0));

	bench = kp_json_merge(bench, more);
	return measuring->gpu.sets > 0 ? kp_json_merge(bench, gpu_json(&measuring->gpu))
				       : bench;
}

/* Times of a kernel that is wrong say nothing: they are left out. */
static void report_bench(const struct report *report, const struct measuring *measuring,
	const char *verdict, const char *message)
{
	const struct kp_stats *stats = &measuring->times.stats;
	bool timed = message == NULL && stats->count > 0;
	const struct measure_case *c = &measuring->c;

	if (timed)
		report_samples(report, &measuring->times);
	json_t *bench = json_pack("{s:s, s:s?, s:I, s:I, s:o, s:o, s:o, s:o, s:o, s:o, "
				  "s:o, s:o}",
		"verdict", verdict, "message", message, "samples",
		(json_int_t)stats->count, "warmup", (json_int_t)measuring->times.warmup,
		"median_us", measure_number(stats->median, timed), "p10_us",
		measure_number(stats->p10, timed), "p90_us",
		measure_number(stats->p90, timed), "min_us",
		measure_number(stats->min, timed), "max_us",
		measure_number(stats->max, timed), "max_error",
		measure_number(c->error, c->compared), "tolerance",
		measure_number(c->tolerance, c->compared), "call_ms",
		measure_number(measuring->call_ms, true));
	report_line(report,
		json_pack("{s:o}", "bench", with_circumstances(bench, measuring)));
}

static int run_once(struct measuring *measuring, struct kp_diag *diag)
{
	double before = kp_clock_s();

	if (measure_kernel_run(&measuring->kernel, diag) < 0)
		return -1;
	measuring->call_ms = 1e3 * (kp_clock_s() - before);
	return 0;
}

static int checked_run(struct measuring *measuring, struct kp_diag *diag)
{
	if (measure_case_poison(&measuring->c, diag) < 0 || run_once(measuring, diag) < 0)
		return -1;
	return measure_result_check(&measuring->c, diag);
}

static int compute_reference(struct measuring *measuring, const struct report *report,
	const int *fds, size_t n_fds, struct kp_diag *diag)
{
	if (n_fds < 1)
		return kp_diag_set(
			diag, "error", NULL, "the job has no place for results");
	report_stage(report, "bench reference");
	if (checked_run(measuring, diag) < 0)
		return -1;
	return measure_result_write(&measuring->c, fds[0], diag);
}

/* What was right before and is not any more, says so. */
static int wrong_later(const char *when, struct kp_diag *diag)
{
	struct kp_diag cause = *diag;

	if (strcmp(cause.code, "wrong") != 0)
		return -1;
	return kp_diag_set(diag, cause.code, cause.object, "right at first, wrong %s: %s",
		when, cause.message);
}

static struct measure_wish read_wish(const json_t *job)
{
	json_int_t rounds = json_integer_value(json_object_get(job, "rounds"));
	json_int_t keep = json_integer_value(json_object_get(job, "keep"));

	return (struct measure_wish){
		.time_s = json_number_value(json_object_get(job, "time_s")),
		.rounds = rounds > 0 ? (unsigned)rounds : 1,
		.keep = keep > 0 ? (size_t)keep : MEASURE_KEPT,
	};
}

static int pass(struct measuring *measuring, int phase, int failed)
{
	/* What a call does to its own inputs is not checked while it is timed. */
	if (!failed)
		measuring->passed[phase] = measuring->c.expected &&
					   (phase != DURING || !measuring->c.drifts);
	else
		measuring->failed = phases[phase];
	return failed;
}

static int take_times(struct measuring *measuring, const struct measure_wish *wish,
	struct kp_diag *diag)
{
	if (!measuring->device.kind->is_host)
		return measure_gpu_time(&measuring->kernel, &measuring->c, wish,
			&measuring->times, &measuring->gpu, diag);
	return measure_time(
		&measuring->kernel, &measuring->c, wish, &measuring->times, diag);
}

static int measure(struct measuring *measuring, const struct report *report,
	const json_t *job, struct kp_diag *diag)
{
	const struct measure_wish wish = read_wish(job);

	report_stage(report, "bench first check");
	if (pass(measuring, BEFORE, checked_run(measuring, diag)) < 0)
		return -1;
	report_stage(report, "bench timing");
	if (pass(measuring, DURING, take_times(measuring, &wish, diag)) < 0)
		return wrong_later("while it was timed", diag);
	measure_core_read(&measuring->core);
	report_stage(report, "bench last check");
	return pass(measuring, AFTER, checked_run(measuring, diag)) < 0
		       ? wrong_later("afterwards", diag)
		       : 0;
}

static int work(struct measuring *measuring, const struct report *report,
	const json_t *job, const int *fds, size_t n_fds, struct kp_diag *diag)
{
	const char *task = json_string_value(json_object_get(job, "task"));
	bool is_reference = task && strcmp(task, "reference") == 0;

	report_stage(report, "bench inputs");
	if (device_open(&measuring->device, job, diag) < 0 ||
		measure_case_init(&measuring->c, job, &measuring->device, diag) < 0 ||
		measure_case_map(&measuring->c, KP_CONTIGUOUS, diag) < 0 ||
		measure_case_fill(&measuring->c, measuring->c.seed, diag) < 0)
		return -1;
	if (!is_reference && n_fds > 0 &&
		measure_result_map(&measuring->c, fds[0], 1, diag) < 0)
		return -1;
	fences_watch(&measuring->c.fences, report->fd, report->mark);
	if (measure_kernel_open(
		    &measuring->kernel, report, job, &measuring->device, diag) < 0 ||
		measure_kernel_attach(&measuring->kernel, report, &measuring->c, diag) <
			0 ||
		measure_kernel_plan(&measuring->kernel, diag) < 0)
		return -1;
	int failed = is_reference ? compute_reference(measuring, report, fds, n_fds, diag)
				  : measure(measuring, report, job, diag);
	measure_kernel_close(&measuring->kernel, report);
	return failed;
}

static int run(
	const struct report *report, const json_t *job, const int *fds, size_t n_fds)
{
	/* Its fences are watched to the end of the process: never freed. */
	struct measuring *measuring = calloc(1, sizeof(*measuring));
	struct kp_diag diag;

	if (!measuring) {
		(void)kp_diag_no_memory(&diag);
		report_failed(report, "failed", &diag);
	} else if (work(measuring, report, job, fds, n_fds, &diag) == 0) {
		report_bench(report, measuring,
			measuring->c.expected ? "ok" : "unverified", NULL);
	} else {
		report_bench(report, measuring, measure_verdict(&diag), diag.message);
	}
	report_end(report);
	return EXIT_SUCCESS;
}

const struct job_kind job_bench = {.name = "bench", .run = run, .execs = 1};
