/* SPDX-License-Identifier: MIT */
/* Manifests that somebody else may change or replace. */
#include <check.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/trust.h"
#include "lib/plugin/manifest.h"
#include "tests/support/suite.h"

static char root[200];
static char layers[2][256];
static const char *const dirs[] = {layers[0], layers[1]};

static void setup(void)
{
	const char *tmp = getenv("TMPDIR");
	snprintf(root, sizeof(root), "%.100s/kplug-trust-XXXXXX", tmp ? tmp : "/tmp");
	ck_assert_ptr_nonnull(mkdtemp(root));
	for (int i = 0; i < 2; i++) {
		snprintf(layers[i], sizeof(layers[i]), "%s/layer%d", root, i);
		ck_assert_int_eq(mkdir(layers[i], 0755), 0);
	}
}

static void teardown(void)
{
	char command[256];
	snprintf(command, sizeof(command), "rm -rf '%s'", root);
	ck_assert_int_eq(system(command), 0);
}

static const char *at(int layer, const char *file)
{
	static char path[400];
	snprintf(path, sizeof(path), "%s/%s", layers[layer], file);
	return path;
}

static void put(int layer, const char *file, mode_t mode)
{
	static const char text[] = "{\"library\":\"x.so\"}";
	int fd = open(at(layer, file), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	ck_assert_int_eq(fchmod(fd, mode), 0);
	close(fd);
}

static void read_all(struct kp_manifests *manifests)
{
	const struct kp_trust trust = {.owner = geteuid(), .group = KP_TRUST_NO_GROUP};
	struct kp_diag diag;
	ck_assert_int_eq(kp_manifests_read_trusted(dirs, 2, &trust, manifests, &diag), 0);
}

/* NULL: trusted; else the code. */
static const char *judged(const char *name, char *message, size_t size)
{
	struct kp_manifests manifests;
	const char *code = NULL;

	read_all(&manifests);
	const struct kp_manifest *manifest = kp_manifests_find(&manifests, name);
	ck_assert_msg(manifest != NULL, "%s", name);
	if (manifest->error) {
		ck_assert_str_eq(manifest->error->code, "writable_by_others");
		snprintf(message, size, "%s", manifest->error->message);
		code = "writable_by_others";
	}
	kp_manifests_finish(&manifests);
	return code;
}

static void is_trusted(const char *name)
{
	char message[800] = "";
	ck_assert_msg(!judged(name, message, sizeof(message)), "%s", message);
}

static void is_not_trusted(const char *name, const char *part)
{
	char message[800] = "";
	ck_assert_msg(judged(name, message, sizeof(message)) != NULL, "%s", name);
	ck_assert_msg(strstr(message, part) != NULL, "%s", message);
}

START_TEST(t14_a_manifest_that_others_may_write_is_not_trusted)
{
	static const mode_t modes[] = {0664, 0646, 0666};
	char words[64];

	for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
		put(0, "a.json", modes[i]);
		snprintf(words, sizeof(words), "uid %u and has mode %04o",
			(unsigned)geteuid(), (unsigned)modes[i]);
		is_not_trusted("a", words);
	}
	put(0, "a.json", 0644);
	is_trusted("a");
}
END_TEST

START_TEST(t14_nothing_of_a_layer_that_others_may_write_is_trusted)
{
	static const mode_t modes[] = {0775, 0777, 01777};

	put(0, "a.json", 0644);
	put(1, "b.json", 0644);
	ck_assert_int_eq(symlink("/dev/null", at(0, "masked.json")), 0);
	for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
		ck_assert_int_eq(chmod(layers[0], modes[i]), 0);
		is_not_trusted("a", layers[0]);
		is_not_trusted("masked", layers[0]);
		is_trusted("b");
	}
}
END_TEST

START_TEST(t14_a_directory_above_the_layers_counts)
{
	put(0, "a.json", 0644);
	ck_assert_int_eq(chmod(root, 0777), 0);
	is_not_trusted("a", "mode 0777");
	ck_assert_int_eq(chmod(root, 0755), 0);
	is_trusted("a");
}
END_TEST

START_TEST(t14_what_a_link_leads_through_counts)
{
	char open_dir[256], target[300];
	snprintf(open_dir, sizeof(open_dir), "%s/open", root);
	snprintf(target, sizeof(target), "%s/a.json", open_dir);
	ck_assert_int_eq(mkdir(open_dir, 0755), 0);
	put(1, "plain.json", 0644);
	ck_assert_int_eq(rename(at(1, "plain.json"), target), 0);
	ck_assert_int_eq(symlink(target, at(0, "a.json")), 0);
	is_trusted("a");
	ck_assert_int_eq(chmod(open_dir, 0777), 0);
	is_not_trusted("a", open_dir);
}
END_TEST

START_TEST(a_mask_of_a_trusted_layer_masks)
{
	struct kp_manifests manifests;

	put(1, "a.json", 0644);
	ck_assert_int_eq(symlink("/dev/null", at(0, "a.json")), 0);
	read_all(&manifests);
	const struct kp_manifest *manifest = kp_manifests_find(&manifests, "a");
	ck_assert_ptr_nonnull(manifest);
	ck_assert(manifest->masked && !manifest->error);
	kp_manifests_finish(&manifests);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("manifest trust");
	TCase *tcase = tcase_create("trust");
	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, t14_a_manifest_that_others_may_write_is_not_trusted);
	tcase_add_test(tcase, t14_nothing_of_a_layer_that_others_may_write_is_trusted);
	tcase_add_test(tcase, t14_a_directory_above_the_layers_counts);
	tcase_add_test(tcase, t14_what_a_link_leads_through_counts);
	tcase_add_test(tcase, a_mask_of_a_trusted_layer_masks);
	suite_add_tcase(suite, tcase);
	return suite_run(suite);
}
