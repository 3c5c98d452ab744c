/* SPDX-License-Identifier: MIT */
/* Whatever a child writes: it is refused or taken within bounds, and never crashes us. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/random.h"
#include "lib/base/text.h"
#include "lib/plugin/finding.h"
#include "lib/plugin/report.h"
#include "lib/protocol/frame.h"
#include "tests/support/suite.h"

enum { ROUNDS = 4000, MOST = 4096, DEEP = 100000 };

struct reader {
	struct kp_report report;
	struct kp_finding finding;
	struct kp_verdict verdict;
	size_t lines;
};

static const char *take(void *context, json_t *line)
{
	struct reader *reader = context;
	reader->lines++;
	kp_finding_probe(&reader->finding, line);
	return NULL;
}

static void reader_init(struct reader *reader, bool identifies)
{
	*reader = (struct reader){
		.report = {
			.terms = {.mark = "m", .identifies = identifies, .kernels = 2}}};
	reader->finding.verdict = &reader->verdict;
	reader->verdict.note =
		json_pack("{s:[{s:s}, {s:s}]}", "kernels", "name", "one", "name", "two");
	ck_assert_ptr_nonnull(reader->verdict.note);
}

static void reader_finish(struct reader *reader)
{
	kp_report_finish(&reader->report);
	kp_finding_finish(&reader->finding);
	kp_verdict_finish(&reader->verdict);
}

/* ---- known garbage ----------------------------------------------------------- */

static const struct {
	const char *name, *text;
	size_t size; /* 0: to the NUL */
} garbage[] = {
	{"no mark", "{\"stage\":\"load\"}\n", 0},
	{"another mark", "n {\"stage\":\"load\"}\n", 0},
	{"a mark alone", "m\n", 0},
	{"an ELF file", "\x7f\x45\x4c\x46\x02\x01\x01\n", 0},
	{"a length of 4 GiB before the text", "\xff\xff\xff\xff{\"stage\":\"load\"}\n",
		0},
	{"a length of 4 GiB behind the mark", "m \xff\xff\xff\xff{}\n", 0},
	{"a length in digits", "4294967296:{\"stage\":\"load\"}\n", 0},
	{"bad UTF-8", "m {\"stage\":\"\xc3\x28\"}\n", 0},
	{"overlong UTF-8", "m {\"stage\":\"\xc0\xaf\"}\n", 0},
	{"a surrogate", "m {\"stage\":\"\xed\xa0\x80\"}\n", 0},
	{"half a surrogate, escaped", "m {\"stage\":\"\\ud800\"}\n", 0},
	{"a key twice", "m {\"stage\":\"load\",\"stage\":\"load\"}\n", 0},
	{"a key twice below", "m {\"failed\":{\"code\":\"a\",\"code\":\"b\"}}\n", 0},
	{"an array", "m [1]\n", 0},
	{"a text", "m \"load\"\n", 0},
	{"a number", "m 1\n", 0},
	{"two documents", "m {} {}\n", 0},
	{"half a document", "m {\"stage\":\n", 0},
	{"an endless number", "m {\"stage\":1e999999}\n", 0},
	{"not a number", "m {\"stage\":NaN}\n", 0},
	{"a NUL in a line", "m {\"stage\":\"lo\0ad\"}\n", 22},
	{"a NUL escaped", "m {\"stage\":\"lo\\u0000ad\"}\n", 0},
};

START_TEST(t26_known_garbage_is_refused_with_a_sentence)
{
	struct reader reader;
	size_t size = garbage[_i].size ? garbage[_i].size : strlen(garbage[_i].text);

	for (size_t piece = 1; piece <= size; piece += size - 1) {
		reader_init(&reader, false);
		int result = 0;
		for (size_t at = 0; at < size && result == 0; at += piece)
			result = kp_report_take(&reader.report, garbage[_i].text + at,
				piece < size - at ? piece : size - at, take, &reader);
		ck_assert_msg(result == -1, "%s", garbage[_i].name);
		ck_assert_msg(reader.report.why[0] != '\0', "%s", garbage[_i].name);
		ck_assert_uint_eq(reader.lines, 0);
		reader_finish(&reader);
	}
}
END_TEST

/* Brackets beyond any depth, of both kinds, in a probe's line and in an identify's. */
START_TEST(t26_deep_nesting_is_refused)
{
	char *text = malloc(2 + DEEP + 2);
	struct reader reader;

	ck_assert_ptr_nonnull(text);
	memcpy(text, "m ", 2);
	for (size_t i = 0; i < DEEP; i++)
		text[2 + i] = _i % 2 ? '[' : "{\"a\":"[i % 5];
	text[2 + DEEP] = '\n';
	reader_init(&reader, _i / 2);
	ck_assert_int_eq(
		kp_report_take(&reader.report, text, 2 + DEEP + 1, take, &reader), -1);
	ck_assert_uint_eq(reader.lines, 0);
	ck_assert(reader.report.why[0]);
	reader_finish(&reader);
	free(text);
}
END_TEST

/* A line that never ends costs what a line may have, whatever comes. */
START_TEST(t26_an_endless_line_is_refused_within_its_bound)
{
	static const char piece[] = "m {\"output\":\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
	struct reader reader;
	size_t given = 0;

	reader_init(&reader, _i);
	while (kp_report_take(&reader.report, piece, sizeof(piece) - 1, take, &reader) ==
		0) {
		given += sizeof(piece) - 1;
		ck_assert_uint_le(given, KP_REPORT_IDENTIFY + sizeof(piece));
		ck_assert_uint_le(reader.report.room, KP_REPORT_IDENTIFY * 2);
	}
	ck_assert(reader.report.why[0]);
	reader_finish(&reader);
}
END_TEST

/* ---- mutations --------------------------------------------------------------- */

static const char good[] =
	"m {\"stage\":\"load\"}\n"
	"m {\"stage\":\"probe kernel one\"}\n"
	"m {\"kernel\":\"one\",\"available\":true}\n"
	"m {\"stage\":\"probe kernel two\"}\n"
	"m "
	"{\"kernel\":\"two\",\"available\":false,\"code\":\"x\",\"message\":\"\\u00e9\"}"
	"\n"
	"m {\"warnings\":[{\"code\":\"w\",\"object\":\"o\",\"message\":\"s\"}]}\n"
	"m {\"failed\":{\"code\":\"c\",\"message\":\"s\"},\"state\":\"rejected\"}\n";

struct text {
	char bytes[MOST];
	size_t size;
};

/* One byte flipped, a piece taken away, put twice or moved, or garbage put in. */
static void mutate(struct kp_random *random, struct text *text)
{
	size_t at = kp_random_below(random, text->size);
	size_t length = 1 + kp_random_below(random, 24);
	size_t to = kp_random_below(random, text->size);

	if (length > text->size - at)
		length = text->size - at;
	switch (kp_random_below(random, 4)) {
	case 0:
		text->bytes[at] ^= (char)(1u << kp_random_below(random, 8));
		break;
	case 1:
		memmove(text->bytes + at, text->bytes + at + length,
			text->size - at - length);
		text->size -= length < text->size ? length : 0;
		break;
	case 2:
		if (text->size + length > MOST)
			break;
		memmove(text->bytes + at + length, text->bytes + at, text->size - at);
		text->size += length;
		break;
	default:
		if (length > text->size - to)
			length = text->size - to;
		memmove(text->bytes + to, text->bytes + at,
			length < text->size - at ? length : text->size - at);
	}
}

static void check_verdict(const struct kp_verdict *verdict)
{
	ck_assert_uint_le(verdict->n_kernels, 2);
	if (verdict->message)
		ck_assert(kp_text_is_utf8(verdict->message, strlen(verdict->message)));
	for (size_t i = 0; i < verdict->warnings.count; i++)
		ck_assert_ptr_nonnull(verdict->warnings.items[i].code);
}

START_TEST(t26_mutated_reports_never_crash_and_never_pass_for_more_kernels)
{
	struct kp_random random;
	char seed[16];
	size_t refused = 0;

	(void)snprintf(seed, sizeof(seed), "%d", _i);
	kp_random_seed(&random, 26, seed);
	for (int round = 0; round < ROUNDS; round++) {
		struct text text = {.size = sizeof(good) - 1};
		struct reader reader;
		int result = 0;
		memcpy(text.bytes, good, text.size);
		for (uint64_t n = 1 + kp_random_below(&random, 6); n > 0; n--)
			if (text.size > 1)
				mutate(&random, &text);
		reader_init(&reader, kp_random_below(&random, 2));
		for (size_t at = 0, piece; at < text.size && result == 0; at += piece) {
			piece = 1 + kp_random_below(&random, 200);
			if (piece > text.size - at)
				piece = text.size - at;
			result = kp_report_take(
				&reader.report, text.bytes + at, piece, take, &reader);
		}
		ck_assert(result == 0 || (result == -1 && reader.report.why[0]));
		refused += result < 0;
		check_verdict(&reader.verdict);
		reader_finish(&reader);
	}
	/* Mutations that all pass would test nothing. */
	ck_assert_uint_gt(refused, ROUNDS / 4);
}
END_TEST

START_TEST(t26_frames_of_any_bytes_stay_within_their_limit)
{
	struct kp_random random;

	kp_random_seed(&random, 26, "frames");
	for (int round = 0; round < 200; round++) {
		struct kp_frame frame = {.limit = 512};
		size_t total = 0;
		char *space;
		size_t size;
		while (total < 1 << 15 &&
			kp_frame_space(&frame, &space, &size, NULL) == 0) {
			size_t n = 1 + kp_random_below(&random, size < 900 ? size : 900);
			for (size_t i = 0; i < n; i++)
				space[i] = (char)kp_random_below(
					&random, kp_random_below(&random, 40) ? 256 : 1);
			kp_frame_filled(&frame, n);
			total += n;
			const char *text;
			while ((text = kp_frame_next(&frame, &size))) {
				ck_assert_uint_le(size, 512);
				ck_assert_uint_eq(strlen(text), size);
			}
		}
		kp_frame_finish(&frame);
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("report_hostile");
	TCase *tcase = tcase_create("report_hostile");

	tcase_set_timeout(tcase, 120);
	tcase_add_loop_test(tcase, t26_known_garbage_is_refused_with_a_sentence, 0,
		(int)(sizeof(garbage) / sizeof(garbage[0])));
	tcase_add_loop_test(tcase, t26_deep_nesting_is_refused, 0, 4);
	tcase_add_loop_test(tcase, t26_an_endless_line_is_refused_within_its_bound, 0, 2);
	tcase_add_loop_test(tcase,
		t26_mutated_reports_never_crash_and_never_pass_for_more_kernels, 0, 4);
	tcase_add_test(tcase, t26_frames_of_any_bytes_stay_within_their_limit);
	suite_add_tcase(suite, tcase);
	return suite_run(suite);
}
