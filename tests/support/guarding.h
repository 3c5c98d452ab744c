/* SPDX-License-Identifier: MIT */
/* A handle whose remarks are counted, and what a guarded site says of itself. */
#ifndef TESTS_SUPPORT_GUARDING_H
#define TESTS_SUPPORT_GUARDING_H

#include <jansson.h>

#include "lib/host/log.h"
#include "tests/support/sites.h"

struct heard {
	int errors, warnings; /* atomic */
	char last[1024];      /* of either */
};

static inline void hear(void *context, int level, const char *text)
{
	struct heard *heard = context;

	if (level > KP_LOG_WARNING)
		return;
	__atomic_add_fetch(level == KP_LOG_ERROR ? &heard->errors : &heard->warnings, 1,
		__ATOMIC_RELAXED);
	snprintf(heard->last, sizeof(heard->last), "%s", text);
}

static inline struct kp_handle *open_heard(struct heard *heard)
{
	struct kp_error error = fresh();
	struct kp_options options = {.size = (uint32_t)sizeof(options),
		.socket = plugind.socket,
		.name = "guarded",
		.log = hear,
		.log_context = heard};
	struct kp_handle *handle = NULL;

	memset(heard, 0, sizeof(*heard));
	must(kp_open(&options, &handle, &error));
	return handle;
}

/* What kp_site_why says, a new reference. */
static inline json_t *why_of(struct kp_site *site)
{
	struct kp_error error = fresh();
	char *text = kp_site_why(site, NULL, &error);

	ck_assert_msg(text != NULL, "%s", error.text);
	json_t *why = json_loads(text, 0, NULL);
	ck_assert_ptr_nonnull(why);
	kp_free(text);
	return why;
}

/* How many of its calls were compared. */
static inline int compared_at(struct kp_site *site)
{
	json_t *why = why_of(site);
	const json_t *guarding = json_object_get(why, "guarding");
	int compared = (int)json_integer_value(json_object_get(guarding, "compared"));

	json_decref(why);
	return compared;
}

#endif
