/* SPDX-License-Identifier: MIT */
/*
 * A connection's bytes, either way: messages come out whole however they are cut (the
 * first byte says how), and each is a call, a reply or neither, and its parameters are
 * those of the method or not.
 */
#include "tests/fuzz/target.h"

#include <stdlib.h>
#include <string.h>

#include "daemon/socket/idl.h"
#include "lib/protocol/frame.h"
#include "lib/protocol/interface.h"
#include "lib/protocol/message.h"

enum { LIMIT = 1 << 16 };

static struct idl *idl;

static void take_call(const char *text, size_t size)
{
	struct kp_call_message call;
	struct kp_diag diag;

	if (kp_call_parse(text, size, &call, &diag) < 0) {
		target_is_refused(&diag);
		return;
	}
	const char *dot = strrchr(call.method, '.');
	const char *method = dot ? dot + 1 : call.method;
	if (idl_has_method(idl, method) &&
		idl_check_call(idl, method, call.parameters, &diag) < 0)
		target_is_refused(&diag);
	char *again = kp_call_print(call.method, call.parameters, call.more, &size);
	target_claim(again != NULL && strlen(again) + 1 == size);
	free(again);
	kp_call_message_finish(&call);
}

static void take_reply(const char *text, size_t size)
{
	struct kp_reply_message reply;
	struct kp_diag diag;

	if (kp_reply_parse(text, size, &reply, &diag) < 0) {
		target_is_refused(&diag);
		return;
	}
	if (reply.error)
		(void)kp_error_exit(reply.error);
	kp_reply_message_finish(&reply);
}

static void take_messages(struct kp_frame *frame)
{
	const char *text;
	size_t size;

	while ((text = kp_frame_next(frame, &size)) != NULL) {
		target_claim(size <= LIMIT && strlen(text) == size);
		take_call(text, size);
		take_reply(text, size);
	}
}

static void feed(struct kp_frame *frame, const uint8_t *bytes, size_t size, size_t piece)
{
	struct kp_diag diag;
	char *space;
	size_t room;

	while (size > 0) {
		if (kp_frame_space(frame, &space, &room, &diag) < 0) {
			target_is_refused(&diag);
			return;
		}
		size_t n = piece < size ? piece : size;
		n = n < room ? n : room;
		memcpy(space, bytes, n);
		kp_frame_filled(frame, n);
		take_messages(frame);
		bytes += n;
		size -= n;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct kp_frame frame = {.limit = LIMIT};
	struct kp_diag diag;

	if (!idl)
		idl = idl_new(kp_interface_text, &diag);
	target_claim(idl != NULL);
	if (size > 0)
		feed(&frame, bytes + 1, size - 1, bytes[0] ? bytes[0] : SIZE_MAX);
	kp_frame_finish(&frame);
	return 0;
}
