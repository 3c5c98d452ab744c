/* SPDX-License-Identifier: MIT */
/* The grammar of signatures and formats: what is printed is read as the same. */
#include "tests/fuzz/target.h"

#include <stdlib.h>
#include <string.h>

#include "lib/family/format.h"

static void print_signature(const struct kp_signature *signature)
{
	char text[KP_SIGNATURE_BYTES], again[KP_SIGNATURE_BYTES];
	struct kp_signature read;
	struct kp_diag diag;

	target_claim(signature->count <= KP_SIGNATURE_ROLES);
	(void)kp_signature_print(signature, text, sizeof(text));
	target_claim(kp_signature_parse(text, &read, &diag) == 0);
	(void)kp_signature_print(&read, again, sizeof(again));
	target_claim(strcmp(text, again) == 0);
	for (size_t i = 0; i < signature->count; i++)
		target_claim(kp_signature_find(signature, signature->operands[i].role) ==
			     &signature->operands[i]);
}

static void print_format(const struct kp_format *format)
{
	char text[KP_SIGNATURE_BYTES], again[KP_SIGNATURE_BYTES];
	struct kp_format read;
	struct kp_diag diag;

	(void)kp_format_print(format, text, sizeof(text));
	target_claim(kp_format_parse(text, &read, &diag) == 0);
	target_claim(strcmp(text, kp_format_print(&read, again, sizeof(again))) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	char *text = malloc(size + 1);
	struct kp_signature signature;
	struct kp_format format;
	struct kp_diag diag;

	target_claim(text != NULL);
	if (size > 0)
		memcpy(text, bytes, size);
	text[size] = '\0';
	if (kp_signature_parse(text, &signature, &diag) == 0)
		print_signature(&signature);
	else
		target_is_refused(&diag);
	if (kp_format_parse(text, &format, &diag) == 0)
		print_format(&format);
	else
		target_is_refused(&diag);
	free(text);
	return 0;
}
