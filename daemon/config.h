/* SPDX-License-Identifier: MIT */
/* plugind's configuration file: settings that the command line left open. */
#ifndef KP_DAEMON_CONFIG_H
#define KP_DAEMON_CONFIG_H

#include "daemon/options.h"

/*
 * Reads the file that `options` names, else the usual one, if it is there, whose path
 * `config` then is. What is set stays. Codes of kp_file_read, kp_json_parse,
 * kp_json_check and setting_set; the place is that in the file.
 */
int config_read(struct options *options, struct kp_diag *diag)
	__attribute__((warn_unused_result));

#endif
