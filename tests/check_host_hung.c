/* SPDX-License-Identifier: MIT */
/* While plugind answers nothing, only who asks it waits. */
#include "tests/support/sites.h"
#include "tests/support/suite.h"

#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

static const struct kp_site_options mm = {.operation = "gemm/mm", .label = "ffn.up"};
static struct kp_handle *handle;

static void setup(void)
{
	plugind_begin(&plugind);
	handle = open_as("one", 0);
}

static void teardown(void)
{
	kp_close(handle);
	plugind_end(&plugind);
}

static int count_sockets(void)
{
	char link[64], target[PATH_MAX];
	int count = 0;

	for (int fd = 0; fd < 256; fd++) {
		snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
		count += readlink(link, target, sizeof(target)) > 7 &&
			 strncmp(target, "socket:", 7) == 0;
	}
	return count;
}

static bool has_asked(void *sockets)
{
	return count_sockets() > *(int *)sockets;
}

/* Of an operation that nobody here has asked for. */
static void *make_site(void *has_it)
{
	struct kp_site_options other = mm;

	other.operation = "elementwise/square";
	struct kp_site *site = site_of(handle, other);
	__atomic_store_n((bool *)has_it, true, __ATOMIC_SEQ_CST);
	kp_site_free(site);
	return NULL;
}

START_TEST(calls_and_scopes_of_others_go_on_while_a_site_is_made)
{
	struct kp_error error = fresh();
	struct kp_site *site = site_of(handle, mm);
	struct product product;
	int sockets = count_sockets();
	bool has_it = false;
	uint64_t scope = 0;
	pthread_t thread;

	product_init(&product, KP_CODE_FLOAT, EDGE);
	ck_assert_int_eq(kill(plugind.pid, SIGSTOP), 0);
	ck_assert_int_eq(pthread_create(&thread, NULL, make_site, &has_it), 0);
	plugind_await(has_asked, &sockets, "a question to plugind");
	must(kp_scope_begin(handle, "gemm/mm", "reference/gemm_mm", 0, &scope, &error));
	ck_assert(product_run(site, &product));
	runs(site, "reference/gemm_mm");
	must(kp_scope_end(handle, scope));
	ck_assert(product_run(site, &product));
	ck_assert(!__atomic_load_n(&has_it, __ATOMIC_SEQ_CST));
	ck_assert_int_eq(kill(plugind.pid, SIGCONT), 0);
	ck_assert_int_eq(pthread_join(thread, NULL), 0);
	ck_assert(has_it);
	product_finish(&product);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("host_hung");
	TCase *tcase = tcase_create("hung");

	tcase_set_timeout(tcase, 100);
	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, calls_and_scopes_of_others_go_on_while_a_site_is_made);
	suite_add_tcase(suite, tcase);
	return suite_run(suite);
}
