/* SPDX-License-Identifier: MIT */
/* What scans have found since it was last told: names, in three sets. */
#ifndef KP_DAEMON_NEWS_H
#define KP_DAEMON_NEWS_H

#include <jansson.h>

#include "daemon/scan/scan.h"

struct news {
	json_t *added, *changed, *removed; /* name -> true */
};

int news_init(struct news *news) __attribute__((warn_unused_result));
void news_finish(struct news *news);

/* A name that is lost to want of memory is missing in what is told, no more. */
void news_put(json_t *set, const char *name);
/* What is in the sets, which are empty then, sorted. The caller finishes it. */
struct scan_result news_take(struct news *news);
void news_taken_finish(struct scan_result *taken);

#endif
