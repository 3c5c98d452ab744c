/* SPDX-License-Identifier: MIT */
/* The head of a result. */
#include "daemon/bench/bench_head.h"

#include "daemon/bench/bench_task.h"
#include "daemon/bench/machine.h"
#include "lib/base/build.h"
#include "lib/base/json.h"

static json_t *families_json(const struct bench_plan *plan)
{
	json_t *families = json_object();

	for (; families && plan; plan = plan->next)
		(void)json_object_set_new(families, plan->family->operation,
			json_integer((json_int_t)plan->family->revision));
	return families;
}

static json_t *method_json(const struct bench_plan *plan)
{
	return json_pack("{s:s, s:s, s:f, s:i, s:s, s:s, s:s, s:s}", "clock",
		"CLOCK_MONOTONIC", "caches", "warm", "time_s", plan->time_s, "rounds",
		(int)bench_rounds(plan), "sample",
		"the mean of so many calls in a row that they take some 20 us; each "
		"round is a process of its own that warms up first",
		"order",
		"all kernels of a shape in turn, round after round, every other round "
		"backwards",
		"statistics",
		"of samples_us: quantiles of type 7 (Hyndman and Fan), median absolute "
		"deviation; low_us and high_us: 95 % interval of the median by order "
		"statistics (Conover), widened to hold the median of each round; min_us "
		"and max_us: of all samples",
		"core_clock",
		"cpufreq_mhz: scaling_cur_freq; chain_mhz: measured by dependent "
		"additions, one a cycle; both right after the samples of a round");
}

json_t *bench_head_json(const struct bench_plan *plan, const struct kp_platform *platform,
	const json_t *parameters, int64_t when)
{
	return json_pack("{s:s, s:I, s:o, s:o, s:o, s:i, s:o}", "version",
		kp_build_version, "when", (json_int_t)when, "families",
		families_json(plan), "platform", machine_json(platform), "method",
		method_json(plan), "threads", plan->threads > 0 ? (int)plan->threads : 1,
		"request", kp_json_or_null(parameters));
}
