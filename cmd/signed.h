/* SPDX-License-Identifier: MIT */
/*
 * What is asked of signatures, and whose keys count, for files that no daemon has looked
 * at: by options, else by the configuration of the machine's plugind.
 */
#ifndef CMD_SIGNED_H
#define CMD_SIGNED_H

#include "cmd/arguments.h"
#include "lib/base/diag.h"
#include "lib/plugin/signing.h"

struct signed_wish {
	struct kp_signing signing;
	char *keys; /* directory */
};

/*
 * Of the options --signatures and --trusted-keys, where the command has them (arguments
 * NULL: it has not). A configuration that is not there, or wrong, asks for nothing. Codes
 * usage, no_memory; *wish is the caller's to finish in any case.
 */
int signed_read(const struct arguments *arguments, struct signed_wish *wish,
	struct kp_diag *diag) __attribute__((warn_unused_result));
void signed_finish(struct signed_wish *wish);

#endif
