/* SPDX-License-Identifier: MIT */
/* A list that is searched from its front: there are few. */
#include "daemon/incident/strikes.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/crowd.h"
#include "lib/base/json.h"
#include "lib/base/text.h"
#include "lib/table/table_read.h"

enum { SHA256_TEXT = 65, ROOM_FIRST = 16 };

struct strike {
	char kernel[KP_KERNEL_ID_BYTES];
	char sha256[SHA256_TEXT];
	int64_t who;
	int64_t at[STRIKES_COUNTED]; /* the latest last */
	size_t n;
};

void strikes_finish(struct strikes *strikes)
{
	free(strikes->items);
	*strikes = (struct strikes){0};
}

static void take_out(struct strikes *strikes, size_t i)
{
	strikes->count--;
	memmove(&strikes->items[i], &strikes->items[i + 1],
		(strikes->count - i) * sizeof(*strikes->items));
}

static int64_t last_of(const struct strike *strike)
{
	return strike->n ? strike->at[strike->n - 1] : 0;
}

/* The one that is longest ago of this user; how many there are. */
static size_t oldest(const struct strikes *strikes, int64_t who, size_t *found)
{
	size_t count = 0;

	for (size_t i = 0; i < strikes->count; i++)
		if (strikes->items[i].who == who &&
			(count++ == 0 || last_of(&strikes->items[i]) <
						 last_of(&strikes->items[*found])))
			*found = i;
	return count;
}

/* Of all users together: whoever has most of them. */
static bool find_crowd(const struct strikes *strikes, size_t *found)
{
	int64_t who[STRIKES_MOST];
	size_t n = 0;

	for (size_t i = 0; i < strikes->count && n < STRIKES_MOST; i++)
		if (strikes->items[i].who != STRIKES_MACHINE)
			who[n++] = strikes->items[i].who;
	return n == STRIKES_MOST && oldest(strikes, kp_crowd_of(who, n), found) > 0;
}

/* Those of the machine give way to their like only. */
static void make_way(struct strikes *strikes, int64_t who)
{
	size_t i = 0;

	if (oldest(strikes, who, &i) >= STRIKES_OF_USER ||
		(who != STRIKES_MACHINE && find_crowd(strikes, &i)))
		take_out(strikes, i);
}

static struct strike *find(
	struct strikes *strikes, const char *kernel, const char *sha256, int64_t who)
{
	for (size_t i = 0; i < strikes->count; i++) {
		struct strike *strike = &strikes->items[i];
		if (strike->who == who && strcmp(strike->kernel, kernel) == 0 &&
			strcmp(strike->sha256, sha256) == 0)
			return strike;
	}
	return NULL;
}

/* NULL: no memory, or names that are none. */
static struct strike *add(
	struct strikes *strikes, const char *kernel, const char *sha256, int64_t who)
{
	if (strlen(kernel) >= KP_KERNEL_ID_BYTES || strlen(sha256) >= SHA256_TEXT)
		return NULL;
	make_way(strikes, who);
	if (strikes->count == strikes->room) {
		size_t room = strikes->room ? 2 * strikes->room : ROOM_FIRST;
		struct strike *items =
			reallocarray(strikes->items, room, sizeof(*strikes->items));
		if (!items)
			return NULL;
		strikes->items = items;
		strikes->room = room;
	}
	struct strike *strike = &strikes->items[strikes->count++];
	*strike = (struct strike){.who = who};
	(void)snprintf(strike->kernel, sizeof(strike->kernel), "%s", kernel);
	(void)snprintf(strike->sha256, sizeof(strike->sha256), "%s", sha256);
	return strike;
}

static void count(struct strike *strike, int64_t at)
{
	if (strike->n == STRIKES_COUNTED)
		memmove(strike->at, strike->at + 1, --strike->n * sizeof(strike->at[0]));
	strike->at[strike->n++] = at;
}

size_t strikes_add(struct strikes *strikes, const char *kernel, const char *sha256,
	int64_t who, int64_t now, int64_t window_s)
{
	struct strike *strike = find(strikes, kernel, sha256, who);
	size_t n = 0;

	if (!strike)
		strike = add(strikes, kernel, sha256, who);
	if (!strike)
		return 1;
	count(strike, now);
	for (size_t i = 0; i < strike->n; i++)
		n += strike->at[i] > now - window_s;
	return n;
}

size_t strikes_forget(struct strikes *strikes, const char *name, int64_t who, int all)
{
	size_t before = strikes->count;

	for (size_t i = strikes->count; i-- > 0;)
		if ((all || strikes->items[i].who == who) &&
			kp_text_is_below(strikes->items[i].kernel, name))
			take_out(strikes, i);
	return before - strikes->count;
}

/* ---- the file -------------------------------------------------------------------- */

static json_t *strike_json(const struct strike *strike)
{
	json_t *times = json_array();

	for (size_t i = 0; i < strike->n; i++)
		times = kp_json_append(times, json_integer(strike->at[i]));
	return json_pack("{s:s, s:s, s:o, s:o}", "kernel", strike->kernel, "sha256",
		strike->sha256, "uid",
		strike->who == STRIKES_MACHINE ? json_null() : json_integer(strike->who),
		"at", times);
}

json_t *strikes_json(const struct strikes *strikes)
{
	json_t *list = json_array();

	for (size_t i = 0; i < strikes->count; i++)
		list = kp_json_append(list, strike_json(&strikes->items[i]));
	return list;
}

static int read_one(struct strikes *strikes, const json_t *item)
{
	const char *kernel = kp_json_text(item, "kernel");
	const char *sha256 = kp_json_text(item, "sha256");
	const json_t *uid = json_object_get(item, "uid");
	const json_t *times = json_object_get(item, "at");
	int64_t who = json_is_integer(uid) ? json_integer_value(uid) : STRIKES_MACHINE;

	if (!kernel || !sha256 || !(json_is_null(uid) || json_is_integer(uid)))
		return -1;
	struct strike *strike = add(strikes, kernel, sha256, who);
	for (size_t i = 0; strike && i < json_array_size(times); i++)
		count(strike, json_integer_value(json_array_get(times, i)));
	return strike ? 0 : -1;
}

int strikes_read(struct strikes *strikes, const json_t *list)
{
	struct strikes read = {0};

	for (size_t i = 0; i < json_array_size(list); i++)
		if (read_one(&read, json_array_get(list, i)) < 0) {
			strikes_finish(&read);
			return -1;
		}
	strikes_finish(strikes);
	*strikes = read;
	return 0;
}
