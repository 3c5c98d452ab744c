/* SPDX-License-Identifier: MIT */
/*
 * What a worker writes. The first byte says whether it identifies or probes and how its
 * end came, the second how its bytes are cut. A verdict comes out, and comes back from
 * the cache as it was.
 */
#include "tests/fuzz/target.h"

#include <stdlib.h>
#include <string.h>

#include "lib/plugin/finding.h"

struct reader {
	struct kp_report report;
	struct kp_finding finding;
	struct kp_verdict verdict;
};

static const char *take(void *context, json_t *line)
{
	struct reader *reader = context;

	if (reader->report.terms.identifies)
		kp_finding_identify(&reader->finding, line);
	else
		kp_finding_probe(&reader->finding, line);
	return NULL;
}

static void reader_init(struct reader *reader, bool identifies)
{
	*reader = (struct reader){.report = {.terms = {.mark = "m",
						     .identifies = identifies,
						     .kernels = 2}},
		.verdict = {.state = KP_STATE_ACTIVE}};
	reader->finding.verdict = &reader->verdict;
	if (!identifies)
		reader->verdict.note = json_pack(
			"{s:[{s:s}, {s:s}]}", "kernels", "name", "one", "name", "two");
}

static void keep_and_read(const struct kp_verdict *verdict)
{
	json_t *kept = kp_verdict_json(verdict);
	struct kp_verdict again = {0};
	struct kp_diag diag;

	target_claim(kept != NULL);
	target_claim(kp_verdict_from_json(kept, &again, &diag) == 0);
	target_claim(again.state == verdict->state);
	target_claim(strcmp(again.code, verdict->code) == 0);
	target_claim(again.n_kernels == verdict->n_kernels);
	kp_verdict_finish(&again);
	json_decref(kept);
}

static void judge(struct reader *reader, unsigned end)
{
	struct kp_worker_result result = {.end = end % KP_WORKER_ENDS, .exit = -1};
	enum kp_finding_end told;

	if (result.end != KP_WORKER_DONE)
		kp_diag_set(&result.diag, "killed_during_load", "some", "it was killed");
	if (reader->report.terms.identifies)
		told = kp_finding_identified(&reader->finding, &result, 1000);
	else
		told = kp_finding_probed(&reader->finding, &result, 1000);
	if (told == KP_FINDING_LOST)
		return;
	if (told == KP_FINDING_BAD)
		target_claim(reader->verdict.state != KP_STATE_ACTIVE &&
			     reader->verdict.code[0] != '\0');
	else
		(void)kp_finding_refuse(&reader->finding, 1000);
	keep_and_read(&reader->verdict);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct reader reader;
	size_t piece = size > 1 && bytes[1] ? bytes[1] : SIZE_MAX;

	if (size < 2)
		return 0;
	char *text = target_copy(bytes + 2, size - 2);
	reader_init(&reader, bytes[0] & 1);
	for (size_t at = 0, n; at < size - 2; at += n) {
		n = piece < size - 2 - at ? piece : size - 2 - at;
		if (kp_report_take(&reader.report, text + at, n, take, &reader) == 0)
			continue;
		target_claim(reader.report.why[0] != '\0');
		break;
	}
	judge(&reader, bytes[0] >> 1);
	kp_report_finish(&reader.report);
	kp_finding_finish(&reader.finding);
	kp_verdict_finish(&reader.verdict);
	free(text);
	return 0;
}
