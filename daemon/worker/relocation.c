/* SPDX-License-Identifier: MIT */
/* Asks the loader's list of libraries, and its index of code for unwinders. */
#include "daemon/worker/relocation.h"

#include <dlfcn.h>
#include <features.h>
#include <link.h>
#include <stddef.h>

/* The loader has one list. */
static const struct link_map *known;

void relocation_expect(void)
{
	known = _r_debug.r_map;
	while (known && known->l_next)
		known = known->l_next;
}

#if __GLIBC_PREREQ(2, 35)
/*
 * A library is in the list once it is mapped, in the index once it and all that came
 * with it are relocated; then its constructors run.
 */
static bool is_indexed(const struct link_map *library)
{
	struct dl_find_object found;

	return _dl_find_object(library->l_ld, &found) == 0;
}
#else
static bool is_indexed(const struct link_map *library)
{
	(void)library;
	return true;
}
#endif

bool relocation_is_under_way(void)
{
	for (const struct link_map *at = known ? known->l_next : NULL; at;
		at = at->l_next)
		if (at->l_ld && !is_indexed(at))
			return true;
	return false;
}
