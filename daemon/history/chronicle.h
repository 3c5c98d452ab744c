/* SPDX-License-Identifier: MIT */
/*
 * Which libraries ran under a plugin's name, the oldest first: values in memory, which
 * know no file, no loop and no registry.
 */
#ifndef KP_DAEMON_CHRONICLE_H
#define KP_DAEMON_CHRONICLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/plugin/verdict.h"

/* A generation of a plugin: a library, with what it reaches, that was active. */
struct edition {
	int64_t number;	       /* from 1, never given twice */
	int64_t at;	       /* since when, in seconds since 1970 */
	int64_t until;	       /* 0: it runs now */
	int64_t bytes;	       /* of the library */
	enum kp_state verdict; /* the last one */
	char code[48];	       /* "" for an active one */
	char digest[65], closure[65];
	char *entry;   /* name of the library inside of its entry of the store */
	char *version; /* or "" */
	char *message; /* or "" */
};

struct chronicle {
	char *plugin;
	int64_t next; /* number */
	size_t count;
	struct edition *editions; /* in order of number */
};

/* In byte order of plugin. Zero it first. */
struct chronicles {
	size_t count;
	struct chronicle *items;
};

struct chronicle *chronicles_find(const struct chronicles *list, const char *plugin);
/* The place of the first that comes behind this name. */
size_t chronicles_behind(const struct chronicles *list, const char *plugin);
/* The same as find, made where there is none. NULL: memory. */
struct chronicle *chronicles_open(struct chronicles *list, const char *plugin);
void chronicles_remove(struct chronicles *list, const char *plugin);
void chronicles_finish(struct chronicles *list);

struct edition *chronicle_by_number(const struct chronicle *chronicle, int64_t number);
struct edition *chronicle_by_closure(
	const struct chronicle *chronicle, const char *closure);
/* The one that runs now, or NULL. */
struct edition *chronicle_current(const struct chronicle *chronicle);
/* Copies the edition to the end; NULL: memory. */
struct edition *chronicle_add(struct chronicle *chronicle, const struct edition *edition);
void chronicle_drop(struct chronicle *chronicle, struct edition *edition);

/* What is known now of the library that a plugin has. */
struct sight {
	struct edition edition; /* without number and times; texts are borrowed */
	int64_t now;
	bool is_active;
	bool is_rolled_back; /* an operator wants it: it is no new generation */
};
/*
 * One that is active becomes the newest generation, also if it was one earlier, unless an
 * operator went back to it; the verdict of any that is known is kept. *changed is set
 * where something is different. -1: memory.
 */
int chronicle_see(struct chronicle *chronicle, const struct sight *sight, bool *changed)
	__attribute__((warn_unused_result));
/* Nothing of it runs any more; true where something did. */
bool chronicle_end(struct chronicle *chronicle, int64_t now);
/* Leaves at most so many: the current one and number `wanted` (0: none) always. */
bool chronicle_cut(struct chronicle *chronicle, size_t most, int64_t wanted);

#endif
