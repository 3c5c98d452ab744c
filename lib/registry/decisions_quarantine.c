/* SPDX-License-Identifier: MIT */
/* Kernels that crashed applications too often: off for one user, or for all. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/crowd.h"
#include "lib/base/sorted.h"
#include "lib/base/text.h"
#include "lib/registry/decisions_kind.h"

enum { KEY_BYTES = 24 };

static struct kp_sorted list_of(const struct kp_decisions *d)
{
	return (struct kp_sorted){
		(char *)d->quarantined, d->n_quarantined, sizeof(*d->quarantined)};
}

static void quarantine_free(struct kp_quarantine *item)
{
	free(item->key);
	free(item->kernel);
	free(item->digest);
}

static char *key_of(const char *kernel, int64_t who)
{
	char *key;
	return asprintf(&key, "%s %" PRId64, kernel, who) < 0 ? NULL : key;
}

static void take_out(struct kp_decisions *decisions, size_t i)
{
	struct kp_sorted list = list_of(decisions);

	quarantine_free(&decisions->quarantined[i]);
	kp_sorted_close(&list, i);
	decisions->n_quarantined = list.count;
}

/* The longest ago of those that count for `who`; how many there are. */
static size_t oldest_of(const struct kp_decisions *decisions, int64_t who, size_t *oldest)
{
	size_t count = 0;

	for (size_t i = 0; i < decisions->n_quarantined; i++) {
		const struct kp_quarantine *item = &decisions->quarantined[i];
		if (item->who == who &&
			(count++ == 0 || item->at < decisions->quarantined[*oldest].at))
			*oldest = i;
	}
	return count;
}

/* Of all users together: whoever has most of them. */
static bool find_crowd(const struct kp_decisions *decisions, size_t *oldest)
{
	int64_t who[KP_QUARANTINED_USERS];
	size_t n = 0;

	for (size_t i = 0; i < decisions->n_quarantined; i++)
		if (decisions->quarantined[i].who != KP_QUARANTINE_ALL &&
			n < KP_QUARANTINED_USERS)
			who[n++] = decisions->quarantined[i].who;
	return n == KP_QUARANTINED_USERS &&
	       oldest_of(decisions, kp_crowd_of(who, n), oldest) > 0;
}

/* What operators decide must always have room. */
static void make_way(struct kp_decisions *decisions, int64_t who)
{
	size_t oldest = 0;

	if (oldest_of(decisions, who, &oldest) >= KP_QUARANTINED_MOST ||
		(who != KP_QUARANTINE_ALL && find_crowd(decisions, &oldest)))
		take_out(decisions, oldest);
}

int kp_decisions_quarantine(
	struct kp_decisions *decisions, const struct kp_quarantine *from)
{
	struct kp_quarantine item = *from;
	bool found;

	make_way(decisions, from->who);
	item.key = key_of(from->kernel, from->who);
	item.kernel = strdup(from->kernel);
	item.digest = strdup(from->digest);
	struct kp_sorted list = list_of(decisions);
	bool is_whole = item.key && item.kernel && item.digest;
	size_t i = is_whole ? kp_sorted_place(&list, item.key, &found) : 0;
	if (!is_whole || (!found && kp_sorted_open(&list, i) < 0)) {
		quarantine_free(&item);
		return -1;
	}
	decisions->quarantined = (struct kp_quarantine *)(void *)list.base;
	decisions->n_quarantined = list.count;
	if (found)
		quarantine_free(&decisions->quarantined[i]);
	decisions->quarantined[i] = item;
	return 0;
}

size_t kp_decisions_retry(
	struct kp_decisions *decisions, const char *name, int64_t who, bool all)
{
	size_t before = decisions->n_quarantined;

	for (size_t i = before; i-- > 0;)
		if ((all || decisions->quarantined[i].who == who) &&
			kp_text_is_below(decisions->quarantined[i].kernel, name))
			take_out(decisions, i);
	return before - decisions->n_quarantined;
}

/*
 * By its name as long as nobody knows another library there, and by the library under
 * every name. A new version of a plugin gets its own chance.
 */
static bool is_meant(const struct kp_quarantine *item, const char *id, const char *digest)
{
	bool is_known = item->digest[0] && digest && digest[0];

	if (strcmp(item->kernel, id) == 0)
		return !is_known || strcmp(item->digest, digest) == 0;
	return is_known && strcmp(item->digest, digest) == 0 &&
	       strcmp(strchrnul(item->kernel, '/'), strchrnul(id, '/')) == 0;
}

const struct kp_quarantine *kp_decisions_find_quarantine(
	const struct kp_decisions *decisions, const char *id, const char *digest,
	int64_t who)
{
	for (size_t i = 0; i < decisions->n_quarantined; i++)
		if (decisions->quarantined[i].who == who &&
			is_meant(&decisions->quarantined[i], id, digest))
			return &decisions->quarantined[i];
	return NULL;
}

bool kp_decisions_is_quarantined(
	const struct kp_decisions *decisions, const char *name, int64_t who)
{
	for (size_t i = 0; i < decisions->n_quarantined; i++)
		if (decisions->quarantined[i].who == who &&
			kp_text_is_below(decisions->quarantined[i].kernel, name))
			return true;
	return false;
}

bool kp_decisions_has_quarantine(const struct kp_decisions *decisions, int64_t who)
{
	for (size_t i = 0; i < decisions->n_quarantined; i++)
		if (decisions->quarantined[i].who == who)
			return true;
	return false;
}

const char *kp_quarantine_text(
	const struct kp_quarantine *item, char text[KP_QUARANTINE_TEXT])
{
	(void)snprintf(text, KP_QUARANTINE_TEXT,
		"it crashed applications%s %" PRIu32 " times (incident %" PRId64
		"); `pluginctl retry %s` lets it run again",
		item->who == KP_QUARANTINE_ALL ? "" : " of this user", item->strikes,
		item->incident, item->kernel);
	return text;
}

int kp_decisions_copy_quarantined(
	const struct kp_decisions *from, struct kp_decisions *to)
{
	int result = 0;

	for (size_t i = 0; i < from->n_quarantined && result == 0; i++)
		result = kp_decisions_quarantine(to, &from->quarantined[i]);
	return result;
}

void kp_decisions_finish_quarantined(struct kp_decisions *decisions)
{
	for (size_t i = 0; i < decisions->n_quarantined; i++)
		quarantine_free(&decisions->quarantined[i]);
	free(decisions->quarantined);
}
