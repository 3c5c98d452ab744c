/* SPDX-License-Identifier: MIT */
/* Calls, replies and errors to and from text. */
#include "lib/protocol/message.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/json.h"
#include "lib/base/owned.h"

/* jansson counts references in values that are const to us. */
static json_t *unconst(const json_t *value)
{
	return (json_t *)(uintptr_t)value;
}

/* Only the keys that are known are looked at: a peer may send any number of others. */
static int check_members(const json_t *root, const struct kp_json_key *keys, size_t count,
	struct kp_diag *diag)
{
	if (!json_is_object(root))
		return kp_json_wrong_type(diag, "", root, KP_JSON_OBJECT);
	for (size_t i = 0; i < count; i++) {
		const json_t *value = json_object_get(root, keys[i].name);
		if (!value && keys[i].required)
			return kp_diag_set(diag, "missing_key", keys[i].name,
				"the key %s is missing", keys[i].name);
		if (value && !(keys[i].types & 1u << json_typeof(value)))
			return kp_json_wrong_type(
				diag, keys[i].name, value, keys[i].types);
	}
	return 0;
}

/* The member as an object of the caller's: an empty one where there is none. */
static json_t *parameters_of(const json_t *root)
{
	json_t *parameters = json_object_get(root, "parameters");
	return json_is_object(parameters) ? json_incref(parameters) : json_object();
}

int kp_call_parse(
	const char *text, size_t size, struct kp_call_message *call, struct kp_diag *diag)
{
	static const struct kp_json_key keys[] = {
		{"method", KP_JSON_STRING, true},
		{"parameters", KP_JSON_OBJECT | KP_JSON_NULL, false},
		{"more", KP_JSON_BOOLEAN | KP_JSON_NULL, false},
		{"oneway", KP_JSON_BOOLEAN | KP_JSON_NULL, false},
		{"upgrade", KP_JSON_BOOLEAN | KP_JSON_NULL, false},
	};
	owned_json *root = NULL;
	if (kp_json_parse(text, size, NULL, &root, diag) < 0 ||
		check_members(root, keys, sizeof(keys) / sizeof(keys[0]), diag) < 0)
		return -1;
	struct kp_call_message read = {
		.method = strdup(kp_json_text(root, "method")),
		.parameters = parameters_of(root),
		.more = json_is_true(json_object_get(root, "more")),
		.oneway = json_is_true(json_object_get(root, "oneway")),
		.upgrade = json_is_true(json_object_get(root, "upgrade")),
	};
	if (!read.method || !read.parameters) {
		kp_call_message_finish(&read);
		return kp_diag_no_memory(diag);
	}
	*call = read;
	return 0;
}

void kp_call_message_finish(struct kp_call_message *call)
{
	free(call->method);
	json_decref(call->parameters);
	*call = (struct kp_call_message){0};
}

/* Takes `root`, which may be NULL. */
static char *print(json_t *root, size_t *size)
{
	char *text = root ? kp_json_dumps(root, JSON_COMPACT) : NULL;
	json_decref(root);
	if (text)
		*size = strlen(text) + 1;
	return text;
}

/* {name: text, "parameters": ..., flag: true}; name and flag may be NULL. */
static char *print_message(const char *name, const char *text, const json_t *parameters,
	const char *flag, size_t *size)
{
	json_t *root = json_object();
	int bad = root ? 0 : -1;
	if (name)
		bad |= json_object_set_new(root, name, json_string(text));
	bad |= parameters ? json_object_set(root, "parameters", unconst(parameters))
			  : json_object_set_new(root, "parameters", json_object());
	if (flag)
		bad |= json_object_set_new(root, flag, json_true());
	if (bad) {
		json_decref(root);
		return NULL;
	}
	return print(root, size);
}

char *kp_call_print(const char *method, const json_t *parameters, bool more, size_t *size)
{
	return print_message("method", method, parameters, more ? "more" : NULL, size);
}

char *kp_reply_print(const json_t *parameters, bool continues, size_t *size)
{
	return print_message(
		NULL, NULL, parameters, continues ? "continues" : NULL, size);
}

char *kp_error_print(const char *error, const json_t *parameters, size_t *size)
{
	return print_message("error", error, parameters, NULL, size);
}

/* jansson by itself refuses what is not UTF-8, NULs and nesting beyond its own bound. */
int kp_answer_parse(const char *text, size_t size, json_t **root, struct kp_diag *diag)
{
	json_error_t error;
	bool no_memory;
	if (size <= KP_JSON_BYTES)
		return kp_json_parse(text, size, NULL, root, diag);
	json_t *value =
		kp_json_load(text, size, JSON_REJECT_DUPLICATES, &error, &no_memory);
	if (no_memory)
		return kp_diag_no_memory(diag);
	if (!value)
		return kp_diag_set(diag, "json_syntax", NULL, "%s", error.text);
	*root = value;
	return 0;
}

int kp_reply_parse(const char *text, size_t size, struct kp_reply_message *reply,
	struct kp_diag *diag)
{
	static const struct kp_json_key keys[] = {
		{"parameters", KP_JSON_OBJECT | KP_JSON_NULL, false},
		{"error", KP_JSON_STRING | KP_JSON_NULL, false},
		{"continues", KP_JSON_BOOLEAN | KP_JSON_NULL, false},
	};
	owned_json *root = NULL;
	if (kp_answer_parse(text, size, &root, diag) < 0 ||
		check_members(root, keys, sizeof(keys) / sizeof(keys[0]), diag) < 0)
		return -1;
	const char *error = kp_json_text(root, "error");
	struct kp_reply_message read = {
		.parameters = parameters_of(root),
		.error = error ? strdup(error) : NULL,
		.continues = json_is_true(json_object_get(root, "continues")),
	};
	if (!read.parameters || (error && !read.error)) {
		kp_reply_message_finish(&read);
		return kp_diag_no_memory(diag);
	}
	*reply = read;
	return 0;
}

void kp_reply_message_finish(struct kp_reply_message *reply)
{
	json_decref(reply->parameters);
	free(reply->error);
	*reply = (struct kp_reply_message){0};
}

json_t *kp_diag_json(const struct kp_diag *diag)
{
	char text[sizeof(diag->file) + sizeof(diag->message) + 32];
	return json_pack("{s:s, s:s, s:s}", "code", diag->code, "message",
		kp_diag_text(diag, text, sizeof(text)), "object", diag->object);
}
