/* SPDX-License-Identifier: MIT */
/*
 * The job that holds the results of one kernel in one shape against the reference's:
 *
 * {"kind": "verify", "task": "reference" or "measure", "stored", "kernel", "config",
 *  "family", "signature", "shape", "attributes", "threads", "seeds": [1, 2], "layouts":
 *  null or ["gaps"], "grown": [{"dim", "shape"}]}
 *
 * "reference" runs once for each seed and writes the outputs to the descriptor that came
 * with the job, one seed after the other. "measure" goes through cases, layout by layout
 * and in each of them seed by seed, in the same memory: who keeps results for addresses
 * is seen. A case is a run by one thread and one by all; outputs are poisoned before each
 * and checked after it. Then it calls on, and breaks rules (measure_rules.h). It says
 *
 * {"case": {"layout", "seed", "strides"}} before each case, and at the end
 * {"bench": {"verdict", "message", "cases", "passed", "unsupported", "failed": the case
 * of the message or null, "findings", "max_error", "tolerance", "call_ms"}}
 */
#include "daemon/worker/measure_verify.h"

#include <malloc.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/worker/measure_result.h"
#include "daemon/worker/measure_rules.h"
#include "lib/base/json.h"

/* glibc fills memory from malloc with its complement: 0x7f is a large number in all. */
enum { DIRT = 0x80 };

/* ---- words ---- */

static json_t *strides_json(const struct measure_case *c)
{
	json_t *all = json_object();

	for (size_t i = 0; i < c->family.n_roles; i++) {
		json_t *strides = c->tensors[i] ? json_array() : NULL;
		for (int32_t d = 0; strides && d < c->layouts[i].rank; d++)
			strides = kp_json_append(
				strides, json_integer(c->layouts[i].strides[d]));
		if (strides)
			(void)json_object_set_new(all, c->family.roles[i].name, strides);
	}
	return all;
}

void verify_begin(struct verifying *v, const struct kp_placement *layout, uint64_t seed)
{
	json_decref(v->at);
	v->at = json_pack("{s:s, s:I, s:o}", "layout", layout->name, "seed",
		(json_int_t)seed, "strides", strides_json(&v->c));
	report_line(v->report, json_pack("{s:O}", "case", v->at));
}

/* Keeps the first failure, and why something is unsupported until there is one. */
void verify_fail(struct verifying *v, const struct kp_diag *diag)
{
	bool unsupported = strcmp(diag->code, "unsupported") == 0;

	if (v->verdict || (unsupported && v->message[0]))
		return;
	(void)snprintf(v->message, sizeof(v->message), "%s", diag->message);
	if (unsupported)
		return;
	v->verdict = measure_verdict(diag);
	v->failed = json_incref(v->at);
}

static const char *final_verdict(const struct verifying *v)
{
	if (v->verdict)
		return v->verdict;
	if (json_array_size(v->findings) > 0)
		return "finding";
	if (v->passed == 0)
		return "unsupported";
	return v->c.results ? "ok" : "unverified";
}

static void report_end_of(const struct verifying *v)
{
	const char *verdict = final_verdict(v);
	const char *message = v->message[0] ? v->message : NULL;

	report_line(v->report,
		json_pack("{s:{s:s, s:s?, s:I, s:I, s:I, s:O?, s:O, s:o, s:o, s:o}}",
			"bench", "verdict", verdict, "message", message, "cases",
			v->cases, "passed", v->passed, "unsupported", v->unsupported,
			"failed", v->failed, "findings", v->findings, "max_error",
			measure_number(v->c.error, v->c.compared), "tolerance",
			measure_number(v->c.tolerance, v->c.compared), "call_ms",
			measure_number(v->call_ms, true)));
}

/* ---- rules ---- */

static int add_finding(struct verifying *v, const char *text, struct kp_diag *diag)
{
	return json_array_append_new(v->findings, json_string(text)) < 0
		       ? kp_diag_no_memory(diag)
		       : 0;
}

static int break_rules(struct verifying *v, struct kp_diag *diag)
{
	report_stage(v->report, "verify need of larger shapes");
	if (measure_rules_need(&v->kernel, &v->c, v->grown, v->findings, diag) < 0)
		return -1;
	report_stage(v->report, "verify what run leaves behind");
	if (measure_rules_run(&v->kernel, v->findings, diag) < 0)
		return -1;
	report_stage(v->report, "verify stale plans");
	if (measure_rules_plan(&v->kernel, &v->c, v->findings, diag) < 0)
		return -1;
	if (!v->kernel.changes_floats)
		return 0;
	return add_finding(v,
		"run leaves the caller's floating-point control (rounding, flushing of "
		"denormals) other than it was",
		diag);
}

/* ---- the job ---- */

static int compute_reference(
	struct verifying *v, const int *fds, size_t n_fds, struct kp_diag *diag)
{
	if (n_fds < 1)
		return kp_diag_set(
			diag, "error", NULL, "the job has no place for results");
	if (verify_attach(v, KP_CONTIGUOUS, diag) < 0)
		return -1;
	for (size_t i = 0; i < json_array_size(v->seeds); i++) {
		report_stage(v->report, "verify reference, seed %llu",
			(unsigned long long)verify_seed(v, i));
		if (verify_fill(v, i, diag) < 0 || verify_run(v, diag) < 0 ||
			measure_result_write(&v->c, fds[0], diag) < 0)
			return -1;
	}
	v->passed = v->cases = (json_int_t)json_array_size(v->seeds);
	return 0;
}

static int verify(struct verifying *v, struct kp_diag *diag)
{
	verify_cases(v);
	/* Of what it does not do, or does wrong, there is no more to learn. */
	if (v->verdict || v->passed == 0)
		return 0;
	if (verify_attach(v, KP_CONTIGUOUS, diag) < 0 || !verify_further(v))
		return 0;
	return break_rules(v, diag);
}

static int read_lists(struct verifying *v, const json_t *job, struct kp_diag *diag)
{
	v->seeds = json_object_get(job, "seeds");
	v->layouts = json_object_get(job, "layouts");
	v->grown = json_object_get(job, "grown");
	v->findings = json_array();
	if (!v->findings)
		return kp_diag_no_memory(diag);
	if (json_array_size(v->seeds) == 0)
		return kp_diag_set(diag, "bad_job", NULL, "the job has no seeds");
	return kp_parallel_new(1, &v->alone, diag);
}

static int work(struct verifying *v, const json_t *job, const int *fds, size_t n_fds,
	struct kp_diag *diag)
{
	const char *task = json_string_value(json_object_get(job, "task"));
	bool is_reference = task && strcmp(task, "reference") == 0;

	report_stage(v->report, "verify inputs");
	if (read_lists(v, job, diag) < 0 || device_open(&v->device, job, diag) < 0 ||
		measure_case_init(&v->c, job, &v->device, diag) < 0)
		return -1;
	if (!is_reference && n_fds > 0 &&
		measure_result_map(&v->c, fds[0], json_array_size(v->seeds), diag) < 0)
		return -1;
	fences_watch(&v->c.fences, v->report->fd, v->report->mark);
	/* What a kernel relies on without a promise is not there. */
	v->kernel.dirty = !is_reference;
	if (!is_reference)
		(void)mallopt(M_PERTURB, DIRT);
	if (measure_kernel_open(&v->kernel, v->report, job, &v->device, diag) < 0)
		return -1;
	verify_swap_threads(v);
	int failed =
		is_reference ? compute_reference(v, fds, n_fds, diag) : verify(v, diag);
	measure_kernel_close(&v->kernel, v->report);
	return failed;
}

static int start(
	const struct report *report, const json_t *job, const int *fds, size_t n_fds)
{
	/* Its fences are watched to the end of the process: never freed. */
	struct verifying *v = calloc(1, sizeof(*v));
	struct kp_diag diag;

	if (!v) {
		(void)kp_diag_no_memory(&diag);
		report_failed(report, "failed", &diag);
		report_end(report);
		return EXIT_SUCCESS;
	}
	v->report = report;
	if (work(v, job, fds, n_fds, &diag) < 0)
		verify_fail(v, &diag);
	report_end_of(v);
	report_end(report);
	return EXIT_SUCCESS;
}

const struct job_kind job_verify = {.name = "verify", .run = start, .execs = 1};
