/* SPDX-License-Identifier: MIT */
/* The `config` of this plugin's manifest. */
#ifndef OPENBLAS_CONFIG_H
#define OPENBLAS_CONFIG_H

#include "kplug/plugin.h"

struct config {
	int threads; /* of OpenBLAS; 0: one, and the host's threads share products */
};

/*
 * Reads {"threads": 4}, the one key there is, 1 to 1024. KP_INVALID names the key
 * that is unknown, of the wrong type or given twice, or says "object expected".
 */
int config_parse(const char *text, struct config *config, struct kp_error *error);

#endif
