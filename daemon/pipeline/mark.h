/* SPDX-License-Identifier: MIT */
/*
 * Probes that are marked before they begin, in STATE/probes.json: whoever finds the
 * marks at a start knows what was going on when plugind or the machine ended, and how
 * often that has been so. Knows the list and its text; decides nothing but what a mark
 * that is found means.
 */
#ifndef KP_DAEMON_MARK_H
#define KP_DAEMON_MARK_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "daemon/store/digest.h"
#include "lib/base/diag.h"

#define MARKS_FORMAT "kplug-probes/1"

enum {
	MARKS_MOST = 256,
	MARK_STRIKES = 3, /* that quarantine */
	MARK_OUTPUT = 4096,
	MARK_TEXT = 512
};

enum mark_state {
	MARK_PROBING,	 /* with others */
	MARK_SUSPECT,	 /* is to be probed alone, after all others */
	MARK_ALONE,	 /* is being probed alone */
	MARK_QUARANTINED /* is not probed any more */
};

/*
 * key: that of its verdict in the cache (daemon/store/cache.h): another library, another
 * dependency or another kplug is another key, and innocent.
 */
struct mark {
	TAILQ_ENTRY(mark) link;
	enum mark_state state;
	char key[DIGEST_TEXT], digest[DIGEST_TEXT];
	char *plugin;
	unsigned strikes;
	int64_t at;   /* when the probe began */
	bool machine; /* the last time it was the machine that went down */
	char stage[32];
	char *output; /* of the last probe alone, or NULL */
	size_t users; /* ways; not kept */
};
TAILQ_HEAD(marks, mark);

/* NULL: memory. */
struct mark *marks_add(struct marks *marks, const char *key, const char *plugin);
struct mark *marks_find(struct marks *marks, const char *key);
/* What its probe has told, or NULL: nothing new. Does the mark say something else now? */
bool mark_note(struct mark *mark, const char *stage, const char *output);
void marks_remove(struct marks *marks, struct mark *mark);
void marks_finish(struct marks *marks);

/*
 * Malloc'ed, NULL: memory. `boot` names this run of the machine, and may be "". at_rest:
 * nothing is being probed, whatever the marks say.
 */
char *marks_print(const struct marks *marks, const char *boot, bool at_rest);
/*
 * Adds those of a text, as they are for a plugind that starts: what was probed with
 * others is suspect, what was probed alone has a strike more. All or nothing; codes of
 * kp_json_parse and kp_json_check, newer_format, bad_marks.
 */
int marks_read(struct marks *marks, const char *text, size_t size, const char *boot,
	struct kp_diag *diag) __attribute__((warn_unused_result));

/* Why it is suspect, or quarantined, for people. Returns `text`. */
const char *mark_text(const struct mark *mark, char text[MARK_TEXT]);
/* The Evidence of the interface. A new object, NULL: memory. */
json_t *mark_evidence(const struct mark *mark);

#endif
