/* SPDX-License-Identifier: MIT */
/* Results of benchmarks in files. Asks nobody. */
#ifndef CMD_BENCH_FILE_H
#define CMD_BENCH_FILE_H

#include <jansson.h>

#include "cmd/output.h"

/*
 * Before minutes of measuring: can a result be written there? "-" can. KP_EXIT_OK, or
 * the status of what it printed.
 */
int bench_file_check_place(const struct output *output, const char *path)
	__attribute__((warn_unused_result));

/*
 * Writes the document whole, in the place of what was there, or not at all, and says so;
 * "-" is nothing to do. KP_EXIT_OK, or the status of what it printed.
 */
int bench_file_save(const struct output *output, const char *path, const json_t *document)
	__attribute__((warn_unused_result));

/*
 * Reads a result that can be compared: kplug-bench/1 with its machine and families, and
 * each run with what tells it from others and plausible times. Codes of kp_file_read
 * (64 MiB at most) and kp_json_parse, wrong_format, bad_result; the object is
 * the path of what is wrong, the file is named.
 */
int bench_file_load(const char *path, json_t **document, struct kp_diag *diag)
	__attribute__((warn_unused_result));

#endif
