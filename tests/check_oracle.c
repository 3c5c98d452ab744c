/* SPDX-License-Identifier: MIT */
/*
 * Every CPU kernel of every built plugin, in each of its signatures, over the
 * default and the edge shapes of its family: held against sums made here in
 * double, as the family says that results are compared.
 */
#include <check.h>
#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/worker/elf_image.h"
#include "daemon/worker/note_elf.h"
#include "lib/base/file.h"
#include "lib/base/text.h"
#include "lib/family/compare.h"
#include "lib/family/element.h"
#include "lib/family/family.h"
#include "lib/family/fill.h"
#include "lib/family/tensor.h"
#include "lib/plugin/note.h"
#include "tests/support/families.h"
#include "tests/support/guarded.h"
#include "tests/support/oracle.h"
#include "tests/support/subject.h"
#include "tests/support/suite.h"

enum { SEED = 20, PLUGINS_MOST = 32 };

static char plugins[PLUGINS_MOST][64];
static int n_plugins;

/* ---- what there is --------------------------------------------------------------- */

static const char *build(void)
{
	const char *named = getenv("KPLUG_BUILD");

	return named ? named : "build";
}

static void find_plugins(void)
{
	char pattern[4096];
	glob_t found;

	snprintf(pattern, sizeof(pattern), "%s/plugins/*.so", build());
	if (glob(pattern, 0, NULL, &found) != 0)
		return;
	for (size_t i = 0; i < found.gl_pathc && n_plugins < PLUGINS_MOST; i++) {
		const char *name = strrchr(found.gl_pathv[i], '/') + 1;

		snprintf(plugins[n_plugins], sizeof(plugins[0]), "%.*s",
			(int)strcspn(name, "."), name);
		n_plugins++;
	}
	globfree(&found);
}

static void read_note(const char *plugin, struct kp_note *note)
{
	char path[4096];
	struct elf_image image = {0};
	struct kp_diag diag = {0};
	const char *text;
	size_t size;
	int fd = kp_file_open(
		AT_FDCWD, subject_path(plugin, path, sizeof(path)), NULL, &diag);

	ck_assert_msg(fd >= 0 && elf_image_open(fd, path, &image, &diag) == 0 &&
			      note_elf_find(&image, &text, &size, &diag) == 0 &&
			      kp_note_parse(text, size, note, NULL, &diag) == 0,
		"%s: %s", path, diag.message);
	elf_image_finish(&image);
	kp_file_close(&fd);
}

/* ---- one call -------------------------------------------------------------------- */

/* A kernel in one of its signatures, in one shape. */
struct trial {
	struct subject subject;
	const struct kp_spec *spec;
	const struct kp_family *family;
	struct kp_signature signature;
	struct kp_shape shape;
	char what[512];

	enum guarded_layout layout; /* of the first role; the others' follow */
	struct guarded roles[SUBJECT_ROLES];
	struct arguments arguments;
};

static void lay_out(struct trial *trial, size_t i)
{
	const struct kp_role *role = &trial->family->roles[i];
	struct kp_format format;
	struct kp_layout layout;
	struct kp_diag diag;

	trial->arguments.roles[i] = NULL;
	if (!kp_family_format(role, &trial->signature, &format))
		return;
	ck_assert_msg(
		kp_layout_of_role(role, &trial->shape, &format, &layout, &diag) == 0,
		"%s: %s", trial->what, diag.message);
	guarded_init(&trial->roles[i], kp_element_code(format.element),
		trial->layout ? (trial->layout + i) % GUARDED_LAYOUTS : GUARDED_ROWS,
		layout.rank, layout.shape);
	trial->arguments.roles[i] = &trial->roles[i];
	if (role->direction != KP_OUT)
		ck_assert_msg(kp_fill(trial->family, role, &trial->shape, SEED,
				      &trial->roles[i].tensor, &diag) == 0,
			"%s: %s", trial->what, diag.message);
}

static void trial_init(struct trial *trial, enum guarded_layout layout)
{
	const struct kp_family *family = trial->family;

	ck_assert_uint_le(family->n_roles, SUBJECT_ROLES);
	trial->layout = layout;
	memset(&trial->arguments, 0, sizeof(trial->arguments));
	trial->arguments.n_roles = (uint32_t)family->n_roles;
	trial->arguments.n_attributes = (uint32_t)family->n_attributes;
	for (size_t i = 0; i < family->n_roles; i++)
		lay_out(trial, i);
	for (size_t i = 0; i < family->n_attributes; i++) {
		union kp_value *value = &trial->arguments.attributes[i];

		if (family->attributes[i].type == KP_ATTRIBUTE_FLOAT)
			value->f = family->attributes[i].preset;
		else
			value->i = (int64_t)family->attributes[i].preset;
	}
}

static void trial_finish(struct trial *trial)
{
	for (size_t i = 0; i < trial->family->n_roles; i++)
		if (trial->arguments.roles[i])
			guarded_finish(&trial->roles[i]);
}

/* The output is the last role of every family here. */
static struct guarded *output(struct trial *trial)
{
	return &trial->roles[trial->family->n_roles - 1];
}

static double *expect(struct trial *trial)
{
	const struct kp_tensor *tensors[SUBJECT_ROLES];
	double *expected;

	for (size_t i = 0; i < trial->family->n_roles; i++)
		tensors[i] = trial->arguments.roles[i] ? &trial->roles[i].tensor : NULL;
	expected = oracle_compute(trial->family->operation, tensors,
		trial->arguments.n_roles, trial->arguments.attributes);
	ck_assert_msg(expected != NULL, "%s is not computed by this test", trial->what);
	return expected;
}

/* Both in the type of the output: what is exact there is rounded there. */
static void compare(struct trial *trial, const double *values)
{
	struct guarded expected, *out = output(trial);
	struct kp_comparison result;
	struct kp_diag diag;
	char text[256];

	guarded_init(&expected, out->tensor.dtype.code, GUARDED_ROWS, out->tensor.ndim,
		out->shape);
	for (int64_t i = 0; i < expected.count; i++)
		guarded_set(&expected, i, values[i]);
	ck_assert_int_eq(kp_compare(trial->family->check, &out->tensor, &expected.tensor,
				 kp_compare_tolerance(trial->family, out->tensor.dtype),
				 &result, &diag),
		0);
	ck_assert_msg(result.right, "%s, layout %d: %s", trial->what, trial->layout,
		kp_comparison_print(&result, text, sizeof(text)));
	guarded_finish(&expected);
}

/* What a kernel has said that it does not take in its traits, or by its layout. */
static bool may_refuse(const struct trial *trial)
{
	return trial->layout != GUARDED_ROWS || trial->spec->n_traits > 0;
}

static void judge(struct trial *trial, const double *expected)
{
	int status = subject_run(&trial->subject, &trial->arguments);

	ck_assert_msg(trial->subject.workspace_intact, "%s", trial->what);
	ck_assert_msg(guarded_intact(output(trial)), "%s", trial->what);
	if (status == KP_UNSUPPORTED && may_refuse(trial)) {
		ck_assert_msg(guarded_untouched(output(trial)), "%s", trial->what);
		return;
	}
	ck_assert_msg(status == KP_OK, "%s: %d: %s", trial->what, status,
		trial->subject.error.text);
	compare(trial, expected);
}

/* ---- all of them ----------------------------------------------------------------- */

static void try_layouts(struct trial *trial, bool all)
{
	double *expected = NULL;

	for (int layout = 0; layout < (all ? GUARDED_LAYOUTS : 2); layout++) {
		trial_init(trial, layout);
		if (!expected)
			expected = expect(trial);
		judge(trial, expected);
		trial_finish(trial);
	}
	free(expected);
}

static void try_shapes(struct trial *trial, const char *signature)
{
	static const char *const kinds[] = {"default", "edge"};
	struct kp_diag diag;

	for (int k = 0; k < 2; k++) {
		const json_t *list = json_object_get(trial->family->shapes, kinds[k]);

		for (size_t i = 0; i < json_array_size(list); i++) {
			snprintf(trial->what, sizeof(trial->what), "%s/%s, %s, %s %zu",
				trial->subject.plugin, trial->spec->name, signature,
				kinds[k], i);
			ck_assert_int_eq(kp_shape_from_json(json_array_get(list, i),
						 trial->family, &trial->shape, &diag),
				0);
			try_layouts(trial, k == 1);
		}
	}
}

static void try_kernel(const struct kp_families *families, const char *plugin,
	const struct kp_spec *spec)
{
	struct trial trial = {
		.spec = spec, .family = kp_families_find(families, spec->operation)};
	struct kp_diag diag;

	ck_assert_msg(trial.family != NULL, "%s: no family", spec->operation);
	if (!subject_open(&trial.subject, plugin, spec->name)) {
		subject_close(&trial.subject);
		return;
	}
	for (size_t i = 0; i < spec->signatures.count; i++) {
		const char *signature = spec->signatures.items[i];

		ck_assert_int_eq(
			kp_signature_parse(signature, &trial.signature, &diag), 0);
		try_shapes(&trial, signature);
	}
	subject_close(&trial.subject);
}

START_TEST(kernels_are_right_in_every_signature_shape_and_layout)
{
	struct kp_families families = {0};
	struct kp_note note = {0};

	families_read(&families);
	read_note(plugins[_i], &note);
	for (size_t i = 0; i < note.n_kernels; i++)
		if (note.kernels[i].capability.device != KP_GPU)
			try_kernel(&families, plugins[_i], &note.kernels[i]);
	kp_note_finish(&note);
	kp_families_finish(&families);
}
END_TEST

static bool has(const struct kp_strings *strings, const char *text)
{
	return kp_text_among(text, strings->items, strings->count);
}

/* The signature of a family with bf16 for f32 throughout. */
static void in_bf16(const char *signature, char *text, size_t size)
{
	struct kp_signature parsed;
	struct kp_diag diag;

	ck_assert_int_eq(kp_signature_parse(signature, &parsed, &diag), 0);
	for (size_t i = 0; i < parsed.count; i++)
		if (parsed.operands[i].format.element == KP_F32)
			ck_assert_int_eq(kp_format_parse("bf16",
						 &parsed.operands[i].format, &diag),
				0);
	kp_signature_print(&parsed, text, size);
}

START_TEST(reference_has_every_family_in_f32_and_bf16)
{
	struct kp_families families = {0};
	struct kp_note note = {0};
	char half[KP_SIGNATURE_BYTES];

	families_read(&families);
	read_note("reference", &note);
	for (size_t i = 0; i < families.count; i++) {
		const struct kp_family *family = &families.items[i];
		const struct kp_spec *spec;

		spec = kp_note_find(&note, strchr(family->reference, '/') + 1);
		ck_assert_msg(spec != NULL, "%s", family->reference);
		ck_assert_str_eq(spec->operation, family->operation);
		in_bf16(family->signature, half, sizeof(half));
		ck_assert_msg(
			has(&spec->signatures, family->signature), "%s", spec->name);
		ck_assert_msg(has(&spec->signatures, half), "%s: %s", spec->name, half);
	}
	kp_note_finish(&note);
	kp_families_finish(&families);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("oracle");
	TCase *t = tcase_create("oracle");

	find_plugins();
	tcase_set_timeout(t, 120);
	tcase_add_loop_test(
		t, kernels_are_right_in_every_signature_shape_and_layout, 0, n_plugins);
	tcase_add_test(t, reference_has_every_family_in_f32_and_bf16);
	suite_add_tcase(suite, t);
	return suite_run(suite);
}
