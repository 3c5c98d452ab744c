/* SPDX-License-Identifier: MIT */
/* What dlerror(3) says, as a code: the loader has words only. */
#ifndef KP_LIB_LOADER_H
#define KP_LIB_LOADER_H

/*
 * missing_symbol, missing_version, missing_library, load_failed; or no_memory, where its
 * own heap had nothing (a library that asks for too much has load_failed). *name: where
 * in the words the name of what is missing begins, or NULL.
 */
const char *kp_loader_code(const char *words, const char **name);

#endif
