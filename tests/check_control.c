/* SPDX-License-Identifier: MIT */
/* Numbers and bits of the control page, as tables follow one another. */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "daemon/application/control.h"
#include "lib/host/control.h"
#include "lib/table/table_read.h"
#include "tests/support/scene.h"
#include "tests/support/suite.h"

static struct world *world;
static struct control *control;
static const struct kp_control *page;
static uint64_t generation;

static void setup(void)
{
	struct kp_diag diag = {.code = "ok"};

	world = scene_begin();
	generation = 0;
	control = control_new("0123456789abcdef0123456789abcdef", &diag);
	ck_assert_msg(control != NULL, "%s", diag.message);
	page = mmap(NULL, KP_CONTROL_BYTES, PROT_READ, MAP_SHARED,
		control_descriptor(control), 0);
	ck_assert_ptr_ne(page, MAP_FAILED);
}

static void teardown(void)
{
	(void)munmap((void *)(uintptr_t)page, KP_CONTROL_BYTES);
	control_free(control);
	world_free(world);
}

static void follow(void)
{
	scene_must(world, world_scan(world, NULL));
	scene_must(world, world_build(world, ++generation));
	control_follow(control, &world->table, generation);
}

static bool is_off(const char *kernel)
{
	return kp_control_is_off(page, control_number(control, kernel));
}

START_TEST(the_page_says_boot_generation_and_how_many_numbers)
{
	scene_put(world, scene_plugin("a", 10));
	scene_put(world, scene_plugin("b", 10));
	follow();
	ck_assert_uint_eq(page->magic, KP_CONTROL_MAGIC);
	ck_assert_uint_eq(page->boot, UINT64_C(0x0123456789abcdef));
	ck_assert_uint_eq(page->generation, 1);
	ck_assert_uint_eq(page->view, 1);
	ck_assert_uint_eq(page->n_bits, 2);
	ck_assert(!is_off("a/k"));
}
END_TEST

START_TEST(a_disabled_kernel_is_off_and_on_again_with_its_number)
{
	bool changed;

	scene_put(world, scene_plugin("a", 10));
	scene_put(world, scene_plugin("b", 10));
	follow();
	uint32_t number = control_number(control, "b/k");
	ck_assert_int_eq(
		kp_decisions_disable(&world->decisions, "b", "", 0, 0, false, &changed),
		0);
	scene_must(world, world_decide(world));
	follow();
	ck_assert(is_off("b/k"));
	ck_assert(!is_off("a/k"));
	(void)kp_decisions_enable(&world->decisions, "b");
	scene_must(world, world_decide(world));
	follow();
	ck_assert(!is_off("b/k"));
	ck_assert_uint_eq(control_number(control, "b/k"), number);
}
END_TEST

START_TEST(a_kernel_that_has_left_is_off_and_keeps_its_number)
{
	scene_put(world, scene_plugin("a", 10));
	scene_put(world, scene_plugin("b", 10));
	follow();
	uint32_t number = control_number(control, "a/k");
	world_take(world, "a");
	scene_put(world, scene_plugin("c", 10));
	follow();
	ck_assert(is_off("a/k"));
	ck_assert_uint_eq(control_number(control, "a/k"), number);
	ck_assert_uint_ne(control_number(control, "c/k"), number);
	scene_put(world, scene_plugin("a", 10));
	follow();
	ck_assert(!is_off("a/k"));
	ck_assert_uint_eq(control_number(control, "a/k"), number);
}
END_TEST

START_TEST(numbers_are_those_of_the_table_in_its_order_and_have_names)
{
	char name[16], id[KP_KERNEL_ID_BYTES];
	size_t count;

	for (int i = 0; i < 600; i++) {
		(void)snprintf(name, sizeof(name), "p%d", i);
		scene_put(world, scene_plugin(name, 10));
	}
	follow();
	const uint32_t *numbers = control_numbers(control, &count);
	ck_assert_uint_eq(count, kp_table_kernels(&world->table));
	for (size_t i = 0; i < count; i++) {
		kp_table_kernel_id(&world->table, i, id, sizeof(id));
		ck_assert_uint_eq(numbers[i], control_number(control, id));
		ck_assert_str_eq(control_name(control, numbers[i]), id);
		ck_assert(!kp_control_is_off(page, numbers[i]));
	}
	ck_assert_ptr_null(control_name(control, (uint32_t)count));
}
END_TEST

START_TEST(a_kernel_that_nobody_knows_is_off_and_has_no_number)
{
	follow();
	ck_assert_uint_eq(control_number(control, "no/such"), KP_CONTROL_NONE);
	ck_assert(control_is_off(control, "no/such"));
	ck_assert(!kp_control_is_off(page, KP_CONTROL_NONE));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("control");
	TCase *tcase = tcase_create("control");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_set_timeout(tcase, 60);
	tcase_add_test(tcase, the_page_says_boot_generation_and_how_many_numbers);
	tcase_add_test(tcase, a_disabled_kernel_is_off_and_on_again_with_its_number);
	tcase_add_test(tcase, a_kernel_that_has_left_is_off_and_keeps_its_number);
	tcase_add_test(tcase, numbers_are_those_of_the_table_in_its_order_and_have_names);
	tcase_add_test(tcase, a_kernel_that_nobody_knows_is_off_and_has_no_number);
	suite_add_tcase(suite, tcase);
	return suite_run(suite);
}
