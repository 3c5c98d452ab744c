/* SPDX-License-Identifier: MIT */
/* The `config` of this plugin's manifest. */
#ifndef CUDA_CONFIG_H
#define CUDA_CONFIG_H

#include "kplug/plugin.h"

struct config {
	char cublaslt[1024]; /* path of the library, or "" */
};

/*
 * Reads {"cublaslt": "/opt/cuda/lib64/libcublasLt.so.13"}, the one key there is: an
 * absolute path without escapes. KP_INVALID names what is wrong.
 */
int config_parse(const char *text, struct config *config, struct kp_error *error);

#endif
