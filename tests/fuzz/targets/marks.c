/* SPDX-License-Identifier: MIT */
/*
 * Marks of probes from the disk; their sum is made right. What is taken is said for
 * people, printed, and comes back with no strike more where nothing was being probed.
 */
#include "tests/fuzz/target.h"

#include <stdlib.h>
#include <string.h>

#include "daemon/pipeline/mark.h"
#include "lib/base/json.h"
#include "lib/registry/decisions_sum.h"

static const char boot[] = "this boot";

/* With the sum of what it says; what is no object stays as it is. To be freed. */
static char *seal(const uint8_t *bytes, size_t *size)
{
	char *text = target_copy(bytes, *size);
	json_t *root = NULL;

	if (kp_json_parse(text, *size, "probes.json", &root, NULL) < 0)
		return text;
	if (json_is_object(root)) {
		free(text);
		target_claim(kp_decisions_seal(root) == 0);
		text = json_dumps(root, JSON_COMPACT);
		target_claim(text != NULL);
		*size = strlen(text);
	}
	json_decref(root);
	return text;
}

static void say(const struct mark *mark)
{
	char text[MARK_TEXT];
	json_t *evidence = mark_evidence(mark);

	target_claim(evidence != NULL);
	target_claim(strlen(mark_text(mark, text)) > 0);
	target_claim(mark->state == MARK_SUSPECT || mark->state == MARK_QUARANTINED);
	target_claim(mark->strikes <= MARK_STRIKES);
	json_decref(evidence);
}

static void keep_and_read(struct marks *marks)
{
	struct marks again = TAILQ_HEAD_INITIALIZER(again);
	struct kp_diag diag;
	struct mark *mark;
	char *text = marks_print(marks, boot, true);

	target_claim(text != NULL);
	target_claim(marks_read(&again, text, strlen(text), boot, &diag) == 0);
	TAILQ_FOREACH (mark, marks, link) {
		const struct mark *same = marks_find(&again, mark->key);
		say(mark);
		target_claim(same != NULL);
		target_claim(same->state == mark->state);
		target_claim(same->strikes == mark->strikes);
		target_claim(strcmp(same->plugin, mark->plugin) == 0);
	}
	marks_finish(&again);
	free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	char *text = seal(bytes, &size);
	struct marks marks = TAILQ_HEAD_INITIALIZER(marks);
	struct kp_diag diag;

	if (marks_read(&marks, text, size, boot, &diag) < 0) {
		target_is_refused(&diag);
		target_claim(TAILQ_EMPTY(&marks));
	} else {
		keep_and_read(&marks);
	}
	marks_finish(&marks);
	free(text);
	return 0;
}
