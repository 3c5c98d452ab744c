/* SPDX-License-Identifier: MIT */
/* Manifests: their texts, and which file of the layers counts. */
#include <check.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/plugin/manifest.h"
#include "tests/support/suite.h"

static char root[200];
static char dirs[3][256];
static const char *layers[3];

static void setup(void)
{
	const char *tmp = getenv("TMPDIR");
	snprintf(root, sizeof(root), "%.150s/kplug-manifest-XXXXXX", tmp ? tmp : "/tmp");
	ck_assert_ptr_nonnull(mkdtemp(root));
	for (int i = 0; i < 3; i++) {
		snprintf(dirs[i], sizeof(dirs[i]), "%s/layer%d", root, i);
		ck_assert_int_eq(mkdir(dirs[i], 0755), 0);
		layers[i] = dirs[i];
	}
}

static void teardown(void)
{
	char command[256];
	snprintf(command, sizeof(command), "rm -rf '%s'", root);
	ck_assert_int_eq(system(command), 0);
}

static const char *in_layer(int layer, const char *file, char path[512])
{
	snprintf(path, 512, "%s/%s", dirs[layer], file);
	return path;
}

static void put(int layer, const char *file, const char *text)
{
	char path[512];
	int fd = open(in_layer(layer, file, path),
		O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	ck_assert_msg(fd >= 0, "%s", path);
	ck_assert_int_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	close(fd);
}

static void read_layers(struct kp_manifests *manifests)
{
	struct kp_diag diag;
	ck_assert_int_eq(kp_manifests_read(layers, 3, manifests, &diag), 0);
}

/* The manifest of a name, which must be there. */
static const struct kp_manifest *found(
	const struct kp_manifests *manifests, const char *name)
{
	const struct kp_manifest *manifest = kp_manifests_find(manifests, name);
	ck_assert_msg(manifest != NULL, "%s", name);
	return manifest;
}

/* ---- one text ---- */

static int parse(const char *text, struct kp_manifest *manifest, struct kp_diag *diag)
{
	return kp_manifest_parse(text, strlen(text), "/m/alpha.json", manifest, diag);
}

START_TEST(every_key_is_read)
{
	struct kp_manifest m;
	struct kp_diag diag;
	int result =
		parse("{\"library\":\"x.so\",\"config\":{\"threads\":4},"
		      "\"sha256\":\"ABCDEFabcdef0123456789012345678901234567890123456789"
		      "012345678901\",\"timeout_ms\":1500,\"priority_offset\":-3,"
		      "\"enabled\":false,\"$schema\":\"manifest.json\"}",
			&m, &diag);
	ck_assert_msg(result == 0, "%s", diag.message);
	ck_assert_str_eq(m.name, "alpha");
	ck_assert_str_eq(m.path, "/m/alpha.json");
	ck_assert_str_eq(m.library, "x.so");
	ck_assert_int_eq(json_integer_value(json_object_get(m.config, "threads")), 4);
	ck_assert_str_eq(m.sha256,
		"abcdefabcdef0123456789012345678901234567890123456789012345678901");
	ck_assert_uint_eq(m.timeout_ms, 1500);
	ck_assert_int_eq(m.priority_offset, -3);
	ck_assert(!m.enabled && !m.masked);
	ck_assert_uint_eq(strlen(m.digest), 16);
	ck_assert_ptr_null(m.error);
	kp_manifest_finish(&m);
}
END_TEST

START_TEST(library_alone_is_enough)
{
	struct kp_manifest m;
	struct kp_diag diag;
	ck_assert_int_eq(parse("{\"library\":\"x.so\"}", &m, &diag), 0);
	ck_assert_ptr_null(m.config);
	ck_assert_str_eq(m.sha256, "");
	ck_assert_uint_eq(m.timeout_ms, KP_MANIFEST_TIMEOUT_MS);
	ck_assert_int_eq(m.priority_offset, 0);
	ck_assert(m.enabled);
	kp_manifest_finish(&m);
}
END_TEST

START_TEST(digest_changes_with_the_text)
{
	struct kp_manifest one, same, other;
	struct kp_diag diag;
	ck_assert_int_eq(parse("{\"library\":\"x.so\"}", &one, &diag), 0);
	ck_assert_int_eq(parse("{\"library\":\"x.so\"}", &same, &diag), 0);
	ck_assert_int_eq(parse("{\"library\":\"x.so\" }", &other, &diag), 0);
	ck_assert_str_eq(one.digest, same.digest);
	ck_assert_str_ne(one.digest, other.digest);
	kp_manifest_finish(&one);
	kp_manifest_finish(&same);
	kp_manifest_finish(&other);
}
END_TEST

static const struct {
	const char *text, *code, *object, *part;
	unsigned line, column;
} wrong[] = {
	/* T06: each required key in turn */
	{"{}", "missing_key", "library", "library is missing", 1, 1},
	{"\n {\"enabled\":true}", "missing_key", "library", "library is missing", 2, 2},
	/* each key of the wrong type in turn */
	{"{\"library\":7}", "wrong_type", "library", "a string expected, not an integer",
		1, 2},
	{"{\"library\":null}", "wrong_type", "library", "not null", 1, 2},
	{"{\"library\":\"x\",\n\"config\":[]}", "wrong_type", "config",
		"an object expected, not an array", 2, 1},
	{"{\"library\":\"x\",\n\"config\":\"{}\"}", "wrong_type", "config",
		"an object expected, not a string", 2, 1},
	{"{\"library\":\"x\",\"sha256\":1}", "wrong_type", "sha256", "a string expected",
		1, 16},
	{"{\"library\":\"x\",\"timeout_ms\":1.5}", "wrong_type", "timeout_ms",
		"an integer expected", 1, 16},
	{"{\"library\":\"x\",\"priority_offset\":\"1\"}", "wrong_type", "priority_offset",
		"an integer expected", 1, 16},
	{"{\"library\":\"x\",\"enabled\":1}", "wrong_type", "enabled",
		"a boolean expected", 1, 16},
	{"[]", "wrong_type", "", "an object expected", 1, 1},
	{"7", "wrong_type", "", "an object expected", 1, 1},
	/* unknown keys, with the nearest one */
	{"{\"libary\":\"x\"}", "unknown_key", "libary", "did you mean library?", 1, 2},
	{"{\"library\":\"x\",\n\t\"timeout\":1}", "unknown_key", "timeout", "timeout", 2,
		2},
	{"{\"library\":\"x\",\"Enabled\":true}", "unknown_key", "Enabled",
		"mean enabled?", 1, 16},
	/* values */
	{"{\"library\":\"\"}", "bad_library", "library", "not the path of a file", 1, 2},
	{"{\"library\":\"dir/\"}", "bad_library", "library", "not the path of a file", 1,
		2},
	{"{\"library\":\"../x.so\"}", "bad_library", "library",
		"leaves the plugin directory", 1, 2},
	{"{\"library\":\"a/../../x.so\"}", "bad_library", "library", "leaves the plugin",
		1, 2},
	{"{\"library\":\"x\",\"sha256\":\"abc\"}", "bad_digest", "sha256",
		"64 hexadecimal", 1, 16},
	{"{\"library\":\"x\",\"sha256\":"
	 "\"zzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzz"
	 "zzzzzzzzz\"}",
		"bad_digest", "sha256", "64 hexadecimal", 1, 16},
	{"{\"library\":\"x\",\"timeout_ms\":0}", "bad_timeout", "timeout_ms",
		"from 1 to 600000", 1, 16},
	{"{\"library\":\"x\",\"timeout_ms\":600001}", "bad_timeout", "timeout_ms",
		"not 600001", 1, 16},
	{"{\"library\":\"x\",\"priority_offset\":20}", "bad_priority_offset",
		"priority_offset", "from -19 to 19", 1, 16},
	{"{\"library\":\"x\",\"priority_offset\":-20}", "bad_priority_offset",
		"priority_offset", "not -20", 1, 16},
};
enum { WRONG = sizeof(wrong) / sizeof(wrong[0]) };

START_TEST(t06_wrong_manifest_names_key_and_place)
{
	struct kp_manifest m = {.name = root};
	struct kp_diag diag;
	ck_assert_int_eq(parse(wrong[_i].text, &m, &diag), -1);
	ck_assert_str_eq(diag.code, wrong[_i].code);
	ck_assert_str_eq(diag.object, wrong[_i].object);
	ck_assert_msg(strstr(diag.message, wrong[_i].part) != NULL, "%s", diag.message);
	ck_assert_str_eq(diag.file, "/m/alpha.json");
	ck_assert_uint_eq(diag.line, wrong[_i].line);
	ck_assert_uint_eq(diag.column, wrong[_i].column);
	ck_assert_ptr_eq(m.name, root);
}
END_TEST

static const struct {
	const char *text, *code;
	unsigned line;
} garbage[] = {
	{"{\"library\":\"x\",}", "json_syntax", 1},
	{"{\n\"library\":\n}", "json_syntax", 3},
	{"{\"library\":\"x\"} {}", "json_syntax", 1},
	{"{\"library\":\"x\",\n\"library\":\"y\"}", "json_duplicate_key", 2},
	{"{\"library\":\"\xff\"}", "json_not_utf8", 1},
	{"   ", "json_syntax", 1},
};
enum { GARBAGE = sizeof(garbage) / sizeof(garbage[0]) };

START_TEST(t07_bad_json_has_a_place_and_the_parsers_words)
{
	struct kp_manifest m;
	struct kp_diag diag;
	ck_assert_int_eq(parse(garbage[_i].text, &m, &diag), -1);
	ck_assert_str_eq(diag.code, garbage[_i].code);
	ck_assert_str_eq(diag.file, "/m/alpha.json");
	ck_assert_uint_eq(diag.line, garbage[_i].line);
	ck_assert_uint_gt(diag.column, 0);
	ck_assert_str_ne(diag.message, "");
	ck_assert_ptr_null(strstr(diag.message, "memory"));
}
END_TEST

/* {"library":"x","config":{"k":"aaaa..."}} with `size` letters. */
static char *with_config(size_t size)
{
	char *text = malloc(size + 64);
	ck_assert_ptr_nonnull(text);
	size_t used = (size_t)sprintf(text, "{\"library\":\"x\",\"config\":{\"k\":\"");
	memset(text + used, 'a', size);
	strcpy(text + used + size, "\"}}");
	return text;
}

START_TEST(a19_config_is_bounded)
{
	struct kp_manifest m;
	struct kp_diag diag;
	char *fits = with_config(KP_MANIFEST_CONFIG_BYTES - 8);
	char *large = with_config(KP_MANIFEST_CONFIG_BYTES);
	char *huge = with_config(5 << 20);
	ck_assert_int_eq(parse(fits, &m, &diag), 0);
	kp_manifest_finish(&m);
	ck_assert_int_eq(parse(large, &m, &diag), -1);
	ck_assert_str_eq(diag.code, "config_too_large");
	ck_assert_str_eq(diag.object, "config");
	ck_assert_int_eq(parse(huge, &m, &diag), -1);
	ck_assert_str_eq(diag.code, "file_too_large");
	free(fits);
	free(large);
	free(huge);
}
END_TEST

static void library_is(const char *library, const char *expected)
{
	struct kp_manifest m = {.library = (char[300]){0}};
	struct kp_diag diag;
	char *path;
	strcpy(m.library, library);
	ck_assert_int_eq(kp_manifest_library(&m, "/plugins", &path, &diag), 0);
	ck_assert_str_eq(path, expected);
	free(path);
}

START_TEST(a18_library_is_absolute_or_in_the_plugin_directory)
{
	library_is("x.so", "/plugins/x.so");
	library_is("sub/x.so", "/plugins/sub/x.so");
	library_is("..x.so", "/plugins/..x.so");
	library_is("/opt/x.so", "/opt/x.so");
	library_is("/opt/../x.so", "/opt/../x.so");
}
END_TEST

START_TEST(library_outside_the_plugin_directory_is_refused)
{
	struct kp_manifest m = {.library = (char[]){"a/../../x.so"}};
	struct kp_diag diag;
	char *path = NULL;
	ck_assert_int_eq(kp_manifest_library(&m, "/plugins", &path, &diag), -1);
	ck_assert_str_eq(diag.code, "bad_library");
	ck_assert_ptr_null(path);
}
END_TEST

START_TEST(copy_outlives_its_original)
{
	struct kp_manifest m, copy;
	struct kp_diag diag;
	ck_assert_int_eq(
		parse("{\"library\":\"x.so\",\"config\":{\"a\":1}}", &m, &diag), 0);
	ck_assert_int_eq(kp_manifest_copy(&m, &copy), 0);
	kp_manifest_finish(&m);
	ck_assert_str_eq(copy.name, "alpha");
	ck_assert_str_eq(copy.library, "x.so");
	ck_assert_int_eq(json_integer_value(json_object_get(copy.config, "a")), 1);
	kp_manifest_finish(&copy);
	kp_manifest_finish(&copy);
}
END_TEST

/* ---- layers ---- */

START_TEST(pl04_empty_and_absent_directories_hold_nothing)
{
	struct kp_manifests manifests;
	rmdir(dirs[1]);
	read_layers(&manifests);
	ck_assert_uint_eq(manifests.count, 0);
	ck_assert_uint_eq(manifests.warnings.count, 0);
	ck_assert_ptr_null(kp_manifests_find(&manifests, "x"));
	kp_manifests_finish(&manifests);
}
END_TEST

START_TEST(pl06_order_is_byte_order_of_name)
{
	static const char *const files[] = {"zeta.json", "alpha.json", "mu.json",
		"Beta.json", "alpha2.json", "9.json"};
	static const char *const names[] = {"9", "Beta", "alpha", "alpha2", "mu", "zeta"};
	struct kp_manifests manifests;
	for (int i = 0; i < 6; i++)
		put(i % 3, files[i], "{\"library\":\"x.so\"}");
	read_layers(&manifests);
	ck_assert_uint_eq(manifests.count, 6);
	for (size_t i = 0; i < 6; i++)
		ck_assert_str_eq(manifests.items[i].name, names[i]);
	kp_manifests_finish(&manifests);
}
END_TEST

START_TEST(t11_order_of_creation_changes_nothing)
{
	static const char *const files[] = {
		"a.json", "b.json", "c.json", "d.json", "e.json"};
	for (int first = 0; first < 5; first++) {
		struct kp_manifests manifests;
		char path[512];
		for (int i = 0; i < 5; i++)
			put(0, files[(first + i * 2) % 5], "{\"library\":\"x.so\"}");
		read_layers(&manifests);
		ck_assert_uint_eq(manifests.count, 5);
		for (int i = 0; i < 5; i++) {
			ck_assert_int_eq(manifests.items[i].name[0], 'a' + i);
			unlink(in_layer(0, files[i], path));
		}
		kp_manifests_finish(&manifests);
	}
}
END_TEST

START_TEST(higher_layer_hides_its_namesake)
{
	struct kp_manifests manifests;
	char path[512];
	put(2, "x.json", "{\"library\":\"low.so\"}");
	put(1, "x.json", "{\"library\":\"middle.so\"}");
	put(2, "y.json", "{\"library\":\"y.so\"}");
	read_layers(&manifests);
	ck_assert_uint_eq(manifests.count, 2);
	const struct kp_manifest *x = found(&manifests, "x");
	ck_assert_str_eq(x->library, "middle.so");
	ck_assert_uint_eq(x->layer, 1);
	ck_assert_str_eq(x->path, in_layer(1, "x.json", path));
	ck_assert_uint_eq(found(&manifests, "y")->layer, 2);
	kp_manifests_finish(&manifests);
}
END_TEST

START_TEST(wrong_file_still_hides_its_namesake)
{
	struct kp_manifests manifests;
	put(2, "x.json", "{\"library\":\"low.so\"}");
	put(0, "x.json", "{");
	read_layers(&manifests);
	ck_assert_uint_eq(manifests.count, 1);
	ck_assert_ptr_nonnull(found(&manifests, "x")->error);
	ck_assert_str_eq(found(&manifests, "x")->error->code, "json_syntax");
	kp_manifests_finish(&manifests);
}
END_TEST

START_TEST(link_to_dev_null_masks)
{
	struct kp_manifests manifests;
	char path[512];
	put(2, "x.json", "{\"library\":\"low.so\"}");
	ck_assert_int_eq(symlink("/dev/null", in_layer(0, "x.json", path)), 0);
	read_layers(&manifests);
	ck_assert_uint_eq(manifests.count, 1);
	ck_assert(found(&manifests, "x")->masked);
	ck_assert_ptr_null(found(&manifests, "x")->error);
	ck_assert_uint_eq(found(&manifests, "x")->layer, 0);
	kp_manifests_finish(&manifests);
}
END_TEST

START_TEST(empty_file_masks_and_a_blank_one_is_wrong)
{
	struct kp_manifests manifests;
	put(0, "empty.json", "");
	put(0, "blank.json", "\n");
	read_layers(&manifests);
	ck_assert(found(&manifests, "empty")->masked);
	ck_assert(!found(&manifests, "blank")->masked);
	ck_assert_ptr_nonnull(found(&manifests, "blank")->error);
	kp_manifests_finish(&manifests);
}
END_TEST

START_TEST(t16_files_of_editors_are_no_manifests)
{
	static const char *const files[] = {".x.json", ".x.json.swp", "x.json~",
		"#x.json#", "x.json.dpkg-old", "4913", "x.JSON", ".json", "x.so", "json"};
	struct kp_manifests manifests;
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		put(0, files[i], "{\"library\":\"x.so\"}");
	read_layers(&manifests);
	ck_assert_uint_eq(manifests.count, 0);
	kp_manifests_finish(&manifests);
}
END_TEST

static const char *const bad_names[] = {"a b.json", "-x.json", "\x01.json", "\xff.json",
	"\xc3\xa4.json", "_x.json",
	"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa.json"};

START_TEST(name_that_breaks_the_rule_is_an_item_with_an_error)
{
	struct kp_manifests manifests;
	put(0, bad_names[_i], "{\"library\":\"x.so\"}");
	read_layers(&manifests);
	ck_assert_uint_eq(manifests.count, 1);
	ck_assert_ptr_nonnull(manifests.items[0].error);
	ck_assert_str_eq(manifests.items[0].error->code, "bad_name");
	ck_assert_ptr_nonnull(strstr(manifests.items[0].error->message, "1 to 64"));
	json_t *shown = json_string(manifests.items[0].name);
	ck_assert_msg(shown != NULL, "the name is not UTF-8");
	json_decref(shown);
	kp_manifests_finish(&manifests);
}
END_TEST

START_TEST(t01_fifo_directory_and_loop_are_items_with_an_error)
{
	struct kp_manifests manifests;
	char path[512];
	ck_assert_int_eq(mkfifo(in_layer(0, "fifo.json", path), 0644), 0);
	ck_assert_int_eq(mkdir(in_layer(0, "dir.json", path), 0755), 0);
	ck_assert_int_eq(symlink("loop.json", in_layer(0, "loop.json", path)), 0);
	ck_assert_int_eq(symlink("/nowhere/x", in_layer(0, "dangling.json", path)), 0);
	ck_assert_int_eq(symlink("/dev/zero", in_layer(0, "zero.json", path)), 0);
	put(0, "good.json", "{\"library\":\"x.so\"}");
	read_layers(&manifests);
	ck_assert_uint_eq(manifests.count, 6);
	ck_assert_str_eq(found(&manifests, "fifo")->error->code, "not_regular_file");
	ck_assert_str_eq(found(&manifests, "dir")->error->code, "not_regular_file");
	ck_assert_str_eq(found(&manifests, "loop")->error->code, "link_loop");
	ck_assert_str_eq(found(&manifests, "dangling")->error->code, "missing_file");
	ck_assert_str_eq(found(&manifests, "zero")->error->code, "not_regular_file");
	ck_assert_ptr_null(found(&manifests, "good")->error);
	ck_assert_str_eq(
		found(&manifests, "fifo")->error->file, in_layer(0, "fifo.json", path));
	kp_manifests_finish(&manifests);
}
END_TEST

START_TEST(manifest_beyond_its_bound_is_an_item_with_an_error)
{
	struct kp_manifests manifests;
	char *text = malloc(KP_MANIFEST_BYTES + 2);
	ck_assert_ptr_nonnull(text);
	memset(text, ' ', KP_MANIFEST_BYTES + 1);
	text[KP_MANIFEST_BYTES + 1] = '\0';
	put(0, "x.json", text);
	free(text);
	read_layers(&manifests);
	ck_assert_str_eq(found(&manifests, "x")->error->code, "file_too_large");
	kp_manifests_finish(&manifests);
}
END_TEST

START_TEST(digest_follows_the_content_of_a_wrong_file)
{
	struct kp_manifests manifests;
	char before[17];
	put(0, "x.json", "{");
	read_layers(&manifests);
	strcpy(before, found(&manifests, "x")->digest);
	kp_manifests_finish(&manifests);
	put(0, "x.json", "[");
	read_layers(&manifests);
	ck_assert_str_ne(found(&manifests, "x")->digest, before);
	kp_manifests_finish(&manifests);
}
END_TEST

START_TEST(directory_that_is_none_is_a_warning)
{
	struct kp_manifests manifests;
	char path[512];
	put(0, "file", "");
	layers[1] = in_layer(0, "file", path);
	put(2, "x.json", "{\"library\":\"x.so\"}");
	read_layers(&manifests);
	ck_assert_uint_eq(manifests.count, 1);
	ck_assert_uint_eq(manifests.warnings.count, 1);
	ck_assert_str_eq(manifests.warnings.items[0].code, "unreadable_directory");
	ck_assert_str_eq(manifests.warnings.items[0].object, path);
	kp_manifests_finish(&manifests);
}
END_TEST

START_TEST(swapped_link_to_a_directory_is_followed)
{
	struct kp_manifests manifests;
	char link[256];
	snprintf(link, sizeof(link), "%s/..data", root);
	put(1, "old.json", "{\"library\":\"x.so\"}");
	put(2, "new.json", "{\"library\":\"x.so\"}");
	const char *only[] = {link};
	struct kp_diag diag;
	ck_assert_int_eq(symlink("layer1", link), 0);
	ck_assert_int_eq(kp_manifests_read(only, 1, &manifests, &diag), 0);
	ck_assert_ptr_nonnull(kp_manifests_find(&manifests, "old"));
	kp_manifests_finish(&manifests);
	ck_assert_int_eq(unlink(link), 0);
	ck_assert_int_eq(symlink("layer2", link), 0);
	ck_assert_int_eq(kp_manifests_read(only, 1, &manifests, &diag), 0);
	ck_assert_ptr_null(kp_manifests_find(&manifests, "old"));
	ck_assert_ptr_nonnull(kp_manifests_find(&manifests, "new"));
	kp_manifests_finish(&manifests);
}
END_TEST

START_TEST(manifests_beyond_the_bound_are_left_out_with_a_warning)
{
	struct kp_manifests manifests;
	char file[32];
	put(0, "00000.json", "");
	int dir = open(dirs[0], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	for (int i = 1; i <= KP_MANIFESTS; i++) {
		snprintf(file, sizeof(file), "%05d.json", i);
		ck_assert_int_eq(linkat(dir, "00000.json", dir, file, 0), 0);
	}
	close(dir);
	read_layers(&manifests);
	ck_assert_uint_eq(manifests.count, KP_MANIFESTS);
	ck_assert_uint_eq(manifests.warnings.count, 1);
	ck_assert_str_eq(manifests.warnings.items[0].code, "too_many");
	ck_assert_str_eq(manifests.warnings.items[0].object, "16384");
	ck_assert_ptr_null(kp_manifests_find(&manifests, "16384"));
	ck_assert_ptr_nonnull(kp_manifests_find(&manifests, "16383"));
	kp_manifests_finish(&manifests);
}
END_TEST

static TCase *texts(void)
{
	TCase *tcase = tcase_create("text");
	tcase_add_test(tcase, every_key_is_read);
	tcase_add_test(tcase, library_alone_is_enough);
	tcase_add_test(tcase, digest_changes_with_the_text);
	tcase_add_loop_test(tcase, t06_wrong_manifest_names_key_and_place, 0, WRONG);
	tcase_add_loop_test(
		tcase, t07_bad_json_has_a_place_and_the_parsers_words, 0, GARBAGE);
	tcase_add_test(tcase, a19_config_is_bounded);
	tcase_add_test(tcase, a18_library_is_absolute_or_in_the_plugin_directory);
	tcase_add_test(tcase, library_outside_the_plugin_directory_is_refused);
	tcase_add_test(tcase, copy_outlives_its_original);
	return tcase;
}

static TCase *directories(void)
{
	TCase *tcase = tcase_create("layers");
	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, pl04_empty_and_absent_directories_hold_nothing);
	tcase_add_test(tcase, pl06_order_is_byte_order_of_name);
	tcase_add_test(tcase, t11_order_of_creation_changes_nothing);
	tcase_add_test(tcase, higher_layer_hides_its_namesake);
	tcase_add_test(tcase, wrong_file_still_hides_its_namesake);
	tcase_add_test(tcase, link_to_dev_null_masks);
	tcase_add_test(tcase, empty_file_masks_and_a_blank_one_is_wrong);
	tcase_add_test(tcase, t16_files_of_editors_are_no_manifests);
	tcase_add_loop_test(tcase, name_that_breaks_the_rule_is_an_item_with_an_error, 0,
		sizeof(bad_names) / sizeof(bad_names[0]));
	tcase_add_test(tcase, t01_fifo_directory_and_loop_are_items_with_an_error);
	tcase_add_test(tcase, manifest_beyond_its_bound_is_an_item_with_an_error);
	tcase_add_test(tcase, digest_follows_the_content_of_a_wrong_file);
	tcase_add_test(tcase, directory_that_is_none_is_a_warning);
	tcase_add_test(tcase, swapped_link_to_a_directory_is_followed);
	tcase_add_test(tcase, manifests_beyond_the_bound_are_left_out_with_a_warning);
	return tcase;
}

int main(void)
{
	Suite *suite = suite_create("manifest");
	suite_add_tcase(suite, texts());
	suite_add_tcase(suite, directories());
	return suite_run(suite);
}
