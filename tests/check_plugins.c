/* SPDX-License-Identifier: MIT */
/* What every built plugin has in common, and the configuration of openblas. */
#include <check.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/subject.h"
#include "tests/support/suite.h"

static const char *const plugins[] = {"reference", "x86", "openblas"};
enum { PLUGINS = sizeof(plugins) / sizeof(plugins[0]) };

static const struct kp_plugin *open_plugin(const char *name)
{
	char path[4096];
	void *handle =
		dlopen(subject_path(name, path, sizeof(path)), RTLD_NOW | RTLD_LOCAL);
	const struct kp_plugin *plugin;

	ck_assert_msg(handle != NULL, "%s: %s", path, dlerror());
	plugin = dlsym(handle, "kplug_plugin");
	ck_assert_ptr_nonnull(plugin);
	return plugin;
}

/* The names that `nm` prints for the library with these options, one a line. */
static void list_symbols(
	const char *plugin, const char *options, char *names, size_t size)
{
	char path[4096], command[5000];
	FILE *output;
	size_t length;

	snprintf(command, sizeof(command), "nm -D %s --format=just-symbols '%s'", options,
		subject_path(plugin, path, sizeof(path)));
	output = popen(command, "r");
	ck_assert_ptr_nonnull(output);
	length = fread(names, 1, size - 1, output);
	names[length] = '\0';
	ck_assert_int_eq(pclose(output), 0);
}

START_TEST(plugin_exports_its_one_symbol)
{
	char names[4096];

	list_symbols(plugins[_i], "--defined-only", names, sizeof(names));
	ck_assert_str_eq(names, "kplug_plugin\n");
}
END_TEST

START_TEST(plugin_leaves_no_symbol_of_kplug_undefined)
{
	char names[4096];

	list_symbols(plugins[_i], "--undefined-only", names, sizeof(names));
	ck_assert_ptr_null(strstr(names, "kp_"));
}
END_TEST

START_TEST(plugin_has_no_dependency_but_libc)
{
	char path[4096], command[5000], line[256];
	FILE *output;

	snprintf(command, sizeof(command), "readelf -dW '%s' | grep NEEDED",
		subject_path(plugins[_i], path, sizeof(path)));
	output = popen(command, "r");
	ck_assert_ptr_nonnull(output);
	while (fgets(line, sizeof(line), output))
		ck_assert_msg(strstr(line, "[libc.so") || strstr(line, "[libm.so") ||
				      strstr(line, "san.so") || strstr(line, "[ld-linux"),
			"%s", line);
	pclose(output);
}
END_TEST

START_TEST(plugin_is_of_this_abi_and_complete)
{
	const struct kp_plugin *plugin = open_plugin(plugins[_i]);

	ck_assert_uint_eq(plugin->size, sizeof(*plugin));
	ck_assert_uint_eq(plugin->abi_major, KP_ABI_MAJOR);
	ck_assert_uint_eq(plugin->abi_needed, 0);
	ck_assert_uint_gt(plugin->n_entries, 0);
	for (uint32_t i = 0; i < plugin->n_entries; i++) {
		const struct kp_kernel *kernel = plugin->entries[i]->vtable;

		ck_assert_uint_eq(plugin->entries[i]->kind, KP_ENTRY_KERNEL);
		ck_assert_uint_eq(kernel->size, sizeof(*kernel));
		ck_assert(kernel->run != NULL);
	}
}
END_TEST

/* Asking for availability must load nothing: OpenBLAS starts threads when opened. */
START_TEST(probing_openblas_does_not_open_its_library)
{
	const struct kp_plugin *plugin = open_plugin("openblas");
	const struct kp_kernel *kernel = plugin->entries[0]->vtable;
	struct kp_error error = {.size = sizeof(error)};

	if (kernel->available)
		ck_assert_int_eq(kernel->available(NULL, &error), KP_OK);
	ck_assert_ptr_null(dlopen("libopenblas.so.0", RTLD_NOW | RTLD_NOLOAD));
}
END_TEST

static int start(const char *config, struct kp_error *error)
{
	const struct kp_plugin *plugin = open_plugin("openblas");
	void *state = NULL;
	int status;

	memset(error, 0, sizeof(*error));
	error->size = sizeof(*error);
	status = plugin->start(NULL, config, &state, error);
	if (status == KP_OK) {
		ck_assert_ptr_nonnull(state);
		plugin->stop(state);
	} else {
		ck_assert_ptr_null(state);
		ck_assert_int_eq(error->status, status);
	}
	return status;
}

static void refused(const char *config, const char *words)
{
	struct kp_error error;

	ck_assert_msg(start(config, &error) == KP_INVALID, "%s", config);
	ck_assert_msg(strstr(error.text, words) != NULL, "%s: %s", config, error.text);
}

START_TEST(config_of_one_key_is_taken)
{
	static const char *const texts[] = {"{}", " { } ", "{\"threads\": 1}",
		"{\"threads\":1024}", "\t{ \"threads\" :\n 8 }\n"};
	struct kp_error error;

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		ck_assert_msg(
			start(texts[i], &error) == KP_OK, "%s: %s", texts[i], error.text);
}
END_TEST

START_TEST(a19_unknown_key_of_a_config_is_named)
{
	refused("{\"thread\": 1}", "unknown key \"thread\"");
	refused("{\"threads\": 1, \"fast\": true}", "unknown key \"fast\"");
	refused("{\"\": {}}", "unknown key \"\"");
	refused("{\"threads\\u0000\": 1}", "unknown key \"threads\\u0000\"");
	refused("{\"THREADS\": 1}", "unknown key \"THREADS\"");
}
END_TEST

START_TEST(a19_wrong_type_in_a_config_is_named)
{
	static const char *const values[] = {"\"4\"", "4.0", "4e0", "true", "null", "[4]",
		"{}", "0x4", "04", "-", "", "+4", "4 4"};

	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
		char text[64];

		snprintf(text, sizeof(text), "{\"threads\": %s}", values[i]);
		refused(text, i + 1 < sizeof(values) / sizeof(values[0])
				      ? "threads: an integer"
				      : "config:");
	}
}
END_TEST

START_TEST(a19_number_of_threads_outside_its_range_is_refused)
{
	refused("{\"threads\": 0}", "threads: 1 to 1024");
	refused("{\"threads\": -3}", "threads: 1 to 1024");
	refused("{\"threads\": 1025}", "threads: 1 to 1024");
	refused("{\"threads\": 99999999999999999999}", "threads: 1 to 1024");
	refused("{\"threads\": 1, \"threads\": 2}", "threads: given twice");
}
END_TEST

START_TEST(a19_config_that_is_no_object_is_refused)
{
	refused("", "object expected");
	refused("[]", "object expected");
	refused("4", "object expected");
	refused("\"threads\"", "object expected");
	refused("null", "object expected");
}
END_TEST

START_TEST(a19_damaged_config_is_refused)
{
	static const char *const texts[] = {"{", "{\"", "{\"threads", "{\"threads\"",
		"{\"threads\":", "{\"threads\": 1", "{\"threads\": 1,",
		"{\"threads\": 1,}", "{,}", "{\"threads\": 1}}", "{} {}", "{\"threads\\",
		"{threads: 1}"};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		refused(texts[i], "config:");
}
END_TEST

START_TEST(error_is_optional)
{
	const struct kp_plugin *plugin = open_plugin("openblas");
	void *state = NULL;

	ck_assert_int_eq(plugin->start(NULL, "[]", &state, NULL), KP_INVALID);
	ck_assert_ptr_null(state);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("plugins");
	TCase *all = tcase_create("all"), *config = tcase_create("config");

	tcase_add_loop_test(all, plugin_exports_its_one_symbol, 0, PLUGINS);
	tcase_add_loop_test(all, plugin_leaves_no_symbol_of_kplug_undefined, 0, PLUGINS);
	tcase_add_loop_test(all, plugin_has_no_dependency_but_libc, 0, PLUGINS);
	tcase_add_loop_test(all, plugin_is_of_this_abi_and_complete, 0, PLUGINS);
	tcase_add_test(all, probing_openblas_does_not_open_its_library);
	tcase_add_test(config, config_of_one_key_is_taken);
	tcase_add_test(config, a19_unknown_key_of_a_config_is_named);
	tcase_add_test(config, a19_wrong_type_in_a_config_is_named);
	tcase_add_test(config, a19_number_of_threads_outside_its_range_is_refused);
	tcase_add_test(config, a19_config_that_is_no_object_is_refused);
	tcase_add_test(config, a19_damaged_config_is_refused);
	tcase_add_test(config, error_is_optional);
	suite_add_tcase(suite, all);
	suite_add_tcase(suite, config);
	return suite_run(suite);
}
