/* SPDX-License-Identifier: MIT */
/* What an application refuses to map, whoever says that it is from plugind. */
#include "tests/support/suite.h"

#include <check.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/host/pages.h"

enum {
	SIZE = F_SEAL_SHRINK | F_SEAL_GROW,
	CONTROL = SIZE | F_SEAL_FUTURE_WRITE,
	SLOTS_BYTES = KP_SLOTS_BYTES + KP_TOLD_BYTES,
};

static int file_of(size_t size, int seals, const struct kp_control *head)
{
	int fd = memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(ftruncate(fd, (off_t)size), 0);
	if (head)
		ck_assert_int_eq(pwrite(fd, head, KP_CONTROL_HEAD, 0), KP_CONTROL_HEAD);
	ck_assert_int_eq(fcntl(fd, F_ADD_SEALS, seals), 0);
	return fd;
}

/* Maps them and forgets it again; slots are always taken. */
static bool are_mapped(int control, int slots)
{
	struct kp_pages pages = {.slots_fd = -1};
	struct kp_diag diag;
	int result = kp_pages_map(&pages, control, slots, &diag);

	ck_assert(result == 0 || strcmp(diag.code, "bad_view") == 0);
	ck_assert(result == 0 || !pages.control);
	kp_pages_finish(&pages);
	(void)close(control);
	return result == 0;
}

static bool is_mapped(size_t size, int seals, const struct kp_control *head)
{
	return are_mapped(file_of(size, seals, head), file_of(SLOTS_BYTES, SIZE, NULL));
}

static const struct kp_control good = {
	.magic = KP_CONTROL_MAGIC, .boot = 7, .generation = 3, .view = 3};

START_TEST(a_control_page_is_sealed_whole_and_begins_like_one)
{
	struct kp_control other = good;

	ck_assert(is_mapped(KP_CONTROL_BYTES, CONTROL, &good));
	ck_assert(!is_mapped(KP_CONTROL_BYTES, SIZE, &good));
	ck_assert(!is_mapped(KP_CONTROL_BYTES, F_SEAL_FUTURE_WRITE, &good));
	ck_assert(!is_mapped(KP_CONTROL_BYTES / 2, CONTROL, &good));
	ck_assert(!is_mapped((size_t)KP_CONTROL_BYTES * 2, CONTROL, &good));
	other.magic++;
	ck_assert(!is_mapped(KP_CONTROL_BYTES, CONTROL, &other));
}
END_TEST

START_TEST(generations_that_mean_something_else_are_refused)
{
	static const uint64_t odd[] = {
		UINT64_MAX, UINT64_MAX - 1, (uint64_t)INT64_MAX + 1};

	for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]); i++) {
		struct kp_control other = good;
		other.generation = odd[i];
		ck_assert(!is_mapped(KP_CONTROL_BYTES, CONTROL, &other));
		other = good;
		other.view = odd[i];
		ck_assert(!is_mapped(KP_CONTROL_BYTES, CONTROL, &other));
	}
}
END_TEST

START_TEST(what_is_no_memory_file_is_refused)
{
	int ends[2];

	ck_assert_int_eq(pipe(ends), 0);
	ck_assert(!are_mapped(ends[0], ends[1]));
	ck_assert(
		!are_mapped(open("/dev/zero", O_RDWR), file_of(SLOTS_BYTES, SIZE, NULL)));
	ck_assert(!are_mapped(
		file_of(KP_CONTROL_BYTES, CONTROL, &good), open("/dev/zero", O_RDWR)));
	ck_assert(!are_mapped(open("/", O_RDONLY), file_of(SLOTS_BYTES, SIZE, NULL)));
	ck_assert(!are_mapped(file_of(KP_CONTROL_BYTES, CONTROL, &good),
		file_of(SLOTS_BYTES, 0, NULL)));
	ck_assert(!are_mapped(file_of(KP_CONTROL_BYTES, CONTROL, &good),
		file_of(SLOTS_BYTES - 1, SIZE, NULL)));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("pages");
	TCase *tcase = tcase_create("pages");

	tcase_add_test(tcase, a_control_page_is_sealed_whole_and_begins_like_one);
	tcase_add_test(tcase, generations_that_mean_something_else_are_refused);
	tcase_add_test(tcase, what_is_no_memory_file_is_refused);
	suite_add_tcase(suite, tcase);
	return suite_run(suite);
}
