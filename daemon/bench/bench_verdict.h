/* SPDX-License-Identifier: MIT */
/* What a row has come to, by what its worker said and how it ended. Pure. */
#ifndef KP_DAEMON_BENCH_VERDICT_H
#define KP_DAEMON_BENCH_VERDICT_H

#include "daemon/bench/bench_task.h"

/* One of those of bench_run.h; the result is NULL for a row that was not run. Static. */
const char *bench_verdict(const struct bench_row *row, const struct bench_words *words,
	const struct kp_worker_result *result);

/* Evidence for it, malloc'ed; NULL: there is none. */
char *bench_message(const struct bench_row *row, const struct bench_words *words,
	const struct kp_worker_result *result);
/* Text of whoever it is, as much as a row shows. malloc'ed; NULL of NULL. */
char *bench_message_copy(const char *text);

#endif
