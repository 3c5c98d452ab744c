/* SPDX-License-Identifier: MIT */
/* From a result back to the questions that it answers. */
#include "cmd/bench_again.h"

#include <stdint.h>
#include <string.h>

#include "cmd/field.h"
#include "lib/base/json.h"
#include "lib/base/owned.h"

static bool is_of(const char *operation, const char *wanted)
{
	size_t length = strlen(wanted);
	return strncmp(operation, wanted, length) == 0 &&
	       (operation[length] == '\0' || operation[length] == '/');
}

int bench_again_select(const json_t *document, const char *operation, json_t **runs,
	struct kp_diag *diag)
{
	owned_json *selected = json_array();
	size_t i;
	json_t *run;
	json_array_foreach (json_object_get(document, "runs"), i, run)
		if (!operation || is_of(field_text(run, "operation", ""), operation))
			if (json_array_append(selected, run) < 0)
				return kp_diag_no_memory(diag);
	if (json_array_size(selected) == 0)
		return kp_diag_set(diag, "other_operation", operation,
			"the result is of %s and has nothing of %s",
			field_text(
				json_object_get(document, "request"), "operation", "?"),
			operation ? operation : "anything");
	*runs = json_incref(selected);
	return 0;
}

/* Sets a member unless it is there. */
static int preset(json_t *object, const char *key, const json_t *value)
{
	if (!value || json_is_null(value) || json_object_get(object, key))
		return 0;
	return json_object_set(object, key, (json_t *)(uintptr_t)value);
}

/* All but the shapes. */
static json_t *question_of(const json_t *document, const json_t *run, const json_t *asked)
{
	const json_t *method = json_object_get(document, "method");
	const json_t *request = json_object_get(document, "request");
	const json_t *traits = json_object_get(run, "traits");
	json_t *question = json_copy((json_t *)(uintptr_t)asked);
	int failed =
		json_object_set(question, "operation", json_object_get(run, "operation"));
	failed |= preset(question, "signature", json_object_get(run, "signature"));
	failed |= preset(question, "traits", json_object_size(traits) ? traits : NULL);
	failed |= preset(question, "seed", json_object_get(run, "seed"));
	failed |= preset(question, "threads", json_object_get(document, "threads"));
	failed |= preset(question, "time_s", json_object_get(method, "time_s"));
	failed |= preset(question, "rounds", json_object_get(method, "rounds"));
	failed |= preset(question, "kernels", json_object_get(request, "kernels"));
	failed |= preset(question, "check", json_object_get(request, "check"));
	if (failed == 0)
		return question;
	json_decref(question);
	return NULL;
}

static bool has(const json_t *list, const json_t *value)
{
	size_t i;
	json_t *item;
	json_array_foreach ((json_t *)(uintptr_t)list, i, item)
		if (json_equal(item, value))
			return true;
	return false;
}

/* The question that is the same but for its shapes; `question` itself, if it is new. */
static json_t *join(json_t *questions, json_t *question)
{
	size_t i;
	json_t *old;
	json_array_foreach (questions, i, old) {
		owned_json *bare = json_copy(old);
		json_t *shapes = json_object_get(question, "shapes");
		(void)json_object_del(bare, "shapes");
		if (shapes)
			(void)json_object_set(bare, "shapes", shapes);
		if (json_equal(bare, question))
			return old;
	}
	return json_array_append(questions, question) < 0 ? NULL : question;
}

json_t *bench_again_questions(
	const json_t *document, const json_t *runs, const json_t *asked)
{
	json_t *questions = json_array();
	bool has_shapes = json_object_get(asked, "shapes") != NULL;
	size_t i;
	json_t *run;
	json_array_foreach ((json_t *)(uintptr_t)runs, i, run) {
		owned_json *question = question_of(document, run, asked);
		json_t *whole = question ? join(questions, question) : NULL;
		json_t *shape = json_object_get(run, "shape");
		if (whole && !has_shapes && !json_object_get(whole, "shapes"))
			(void)json_object_set_new(whole, "shapes", json_array());
		json_t *shapes = json_object_get(whole, "shapes");
		if (!whole || (!has_shapes && !has(shapes, shape) &&
				      json_array_append(shapes, shape) < 0)) {
			json_decref(questions);
			return NULL;
		}
	}
	return questions;
}
