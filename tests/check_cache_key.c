/* SPDX-License-Identifier: MIT */
/* The key of the probe cache: whatever a verdict depends on changes it, nothing else. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/scan/inputs.h"
#include "daemon/store/cache.h"
#include "lib/base/owned.h"
#include "lib/base/random.h"
#include "tests/support/suite.h"

enum { ROUNDS = 300, TEXT = 80, DEVICES = 3 };

static struct kp_random chance;

static void set_up(void)
{
	kp_random_seed(&chance, 55, "cache key");
}

static size_t below(size_t n)
{
	return (size_t)kp_random_below(&chance, n);
}

/* ---- terms ----------------------------------------------------------------------- */

/* Texts as they come: digests, names, JSON, also empty. None has a line's end. */
static void fill_text(char text[TEXT])
{
	static const char letters[] = "0123456789abcdef{}\":,-_ ";
	size_t length = below(TEXT - 2);

	for (size_t i = 0; i < length; i++)
		text[i] = letters[below(sizeof(letters) - 1)];
	text[length] = '\0';
}

/* One letter more, less, or another one; never the same text. */
static void change_text(char text[TEXT])
{
	size_t length = strlen(text);

	if (length == 0 || (length < TEXT - 1 && below(3) == 0)) {
		text[length + 1] = '\0';
		text[length] = 'x';
	} else if (below(2) == 0) {
		text[length - 1] = '\0';
	} else {
		text[below(length)] ^= 1;
	}
}

struct texts {
	char closure[TEXT], deps[TEXT], platform[TEXT], signatures[TEXT];
	struct kp_confinement confinement;
};

static void key_of(const struct texts *texts, char key[DIGEST_TEXT])
{
	/* Copies: an address is no part of it. */
	owned_text closure = strdup(texts->closure);
	owned_text deps = strdup(texts->deps);
	const struct cache_terms terms = {
		closure, deps, texts->platform, texts->signatures, texts->confinement};

	cache_key(&terms, key);
	ck_assert_uint_eq(strlen(key), DIGEST_TEXT - 1);
}

static void fill(struct texts *texts)
{
	fill_text(texts->closure);
	fill_text(texts->deps);
	fill_text(texts->platform);
	fill_text(texts->signatures);
	texts->confinement.filter = below(2) == 1;
	texts->confinement.landlock = (int)below(6);
}

static void change(struct texts *texts, int which)
{
	char *const fields[] = {
		texts->closure, texts->deps, texts->platform, texts->signatures};

	if (which < 4)
		change_text(fields[which]);
	else if (which == 4)
		texts->confinement.filter = !texts->confinement.filter;
	else
		texts->confinement.landlock += 1 + (int)below(3);
}

START_TEST(t55_any_change_of_a_term_changes_the_key)
{
	char before[DIGEST_TEXT], after[DIGEST_TEXT];

	for (int i = 0; i < ROUNDS; i++) {
		struct texts texts;
		fill(&texts);
		key_of(&texts, before);
		change(&texts, _i);
		key_of(&texts, after);
		ck_assert_str_ne(before, after);
	}
}
END_TEST

START_TEST(t55_the_same_terms_have_the_same_key)
{
	char before[DIGEST_TEXT], after[DIGEST_TEXT];

	for (int i = 0; i < ROUNDS; i++) {
		struct texts texts;
		fill(&texts);
		key_of(&texts, before);
		struct texts again = texts;
		key_of(&again, after);
		ck_assert_str_eq(before, after);
	}
}
END_TEST

/* What moves from one field to the next is another thing there. */
START_TEST(t55_no_term_runs_into_the_next)
{
	static const struct texts apart[] = {
		{"ab", "c", "d", "e", {false, 1}},
		{"a", "bc", "d", "e", {false, 1}},
		{"a", "b", "cd", "e", {false, 1}},
		{"a", "b", "c", "de", {false, 1}},
		{"", "abc", "d", "e", {false, 1}},
		{"abc", "", "d", "e", {false, 1}},
		{"abcd", "", "", "e", {false, 1}},
		{"ab", "c", "d", "e", {true, 0}},
		{"ab", "c", "d", "e0", {true, 1}},
		{"ab", "c", "d", "e", {true, 1}},
		{"ab", "c", "d", "e", {false, 11}},
	};
	char keys[KP_COUNT(apart)][DIGEST_TEXT];

	for (size_t i = 0; i < KP_COUNT(apart); i++) {
		key_of(&apart[i], keys[i]);
		for (size_t k = 0; k < i; k++)
			ck_assert_str_ne(keys[i], keys[k]);
	}
}
END_TEST

/* ---- the platform ---------------------------------------------------------------- */

static void fill_device(struct kp_device_facts *device, size_t i)
{
	*device = (struct kp_device_facts){
		.kind = i == 0 ? KP_CPU : KP_GPU,
		.arch = {true, (int32_t)(1 + below(9)), (int32_t)below(9)},
		.memory = 1 + below(1 << 20),
		.n_features = below(KP_DEVICE_FEATURES - 1),
	};
	(void)snprintf(device->id, sizeof(device->id), "device%zu", i);
	(void)snprintf(device->vendor, sizeof(device->vendor), "v%zu", below(100));
	(void)snprintf(device->driver, sizeof(device->driver), "5%zu.1", below(100));
	(void)snprintf(device->bound, sizeof(device->bound), "d%zu", below(100));
	(void)snprintf(device->uuid, sizeof(device->uuid), "GPU-%zu", below(100));
	(void)snprintf(device->name, sizeof(device->name), "model %zu", below(100));
	for (size_t k = 0; k < device->n_features; k++)
		(void)snprintf(device->features[k], sizeof(device->features[k]), "f%zu",
			100 + k);
}

static void last_letter(char *text)
{
	text[strlen(text) - 1] ^= 1;
}

static void drop_feature(struct kp_device_facts *device)
{
	if (device->n_features == 0)
		(void)strcpy(device->features[device->n_features++], "new");
	else
		device->n_features--;
}

static void other_feature(struct kp_device_facts *device)
{
	if (device->n_features == 0)
		drop_feature(device);
	else
		last_letter(device->features[below(device->n_features)]);
}

static void other_kind(struct kp_device_facts *device)
{
	device->kind = device->kind == KP_CPU ? KP_GPU : KP_CPU;
}
static void other_id(struct kp_device_facts *device)
{
	last_letter(device->id);
}
static void other_vendor(struct kp_device_facts *device)
{
	last_letter(device->vendor);
}
static void other_arch(struct kp_device_facts *device)
{
	device->arch.major++;
}
static void other_minor(struct kp_device_facts *device)
{
	device->arch.minor++;
}
static void no_arch(struct kp_device_facts *device)
{
	device->arch.known = false;
}
static void other_driver(struct kp_device_facts *device)
{
	last_letter(device->driver);
}
static void no_driver(struct kp_device_facts *device)
{
	device->driver[0] = '\0';
}
static void other_hands(struct kp_device_facts *device)
{
	last_letter(device->bound);
}

static void (*const changes[])(struct kp_device_facts *) = {drop_feature, other_feature,
	other_kind, other_id, other_vendor, other_arch, other_minor, no_arch,
	other_driver, no_driver, other_hands};

/* Known only once somebody asked the device: it is the same one. */
static void learn(struct kp_device_facts *device)
{
	last_letter(device->uuid);
	last_letter(device->name);
	device->memory++;
}

struct machine {
	struct kp_device_facts devices[DEVICES];
	struct kp_platform platform;
};

static void fill_machine(struct machine *machine)
{
	*machine = (struct machine){.platform = {.name = "here"}};
	machine->platform.n_devices = 1 + below(DEVICES);
	machine->platform.devices = machine->devices;
	for (size_t i = 0; i < machine->platform.n_devices; i++)
		fill_device(&machine->devices[i], i);
}

static char *text_of(const struct machine *machine)
{
	char *text = inputs_platform_key(&machine->platform);

	ck_assert_ptr_nonnull(text);
	ck_assert_ptr_null(strchr(text, '\n'));
	return text;
}

START_TEST(t55_any_change_of_a_device_changes_the_platforms_text)
{
	for (int i = 0; i < ROUNDS / 10; i++) {
		struct machine machine;
		fill_machine(&machine);
		owned_text before = text_of(&machine);
		changes[_i](&machine.devices[below(machine.platform.n_devices)]);
		owned_text after = text_of(&machine);
		ck_assert_str_ne(before, after);
	}
}
END_TEST

START_TEST(t55_a_device_more_or_less_or_another_name_changes_it)
{
	struct machine machine;
	fill_machine(&machine);
	machine.platform.n_devices = 2;
	fill_device(&machine.devices[1], 1);
	owned_text before = text_of(&machine);
	machine.platform.n_devices = 1;
	owned_text fewer = text_of(&machine);
	ck_assert_str_ne(before, fewer);
	machine.platform.n_devices = 2;
	machine.platform.name[0] = 'H';
	owned_text renamed = text_of(&machine);
	ck_assert_str_ne(before, renamed);
}
END_TEST

START_TEST(t55_what_a_device_tells_when_it_wakes_up_changes_nothing)
{
	for (int i = 0; i < ROUNDS / 10; i++) {
		struct machine machine;
		fill_machine(&machine);
		owned_text before = text_of(&machine);
		learn(&machine.devices[below(machine.platform.n_devices)]);
		owned_text after = text_of(&machine);
		ck_assert_str_eq(before, after);
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("cache_key");
	TCase *tcase = tcase_create("key");
	tcase_add_checked_fixture(tcase, set_up, NULL);
	tcase_add_loop_test(tcase, t55_any_change_of_a_term_changes_the_key, 0, 6);
	tcase_add_test(tcase, t55_the_same_terms_have_the_same_key);
	tcase_add_test(tcase, t55_no_term_runs_into_the_next);
	tcase_add_loop_test(tcase, t55_any_change_of_a_device_changes_the_platforms_text,
		0, (int)KP_COUNT(changes));
	tcase_add_test(tcase, t55_a_device_more_or_less_or_another_name_changes_it);
	tcase_add_test(tcase, t55_what_a_device_tells_when_it_wakes_up_changes_nothing);
	suite_add_tcase(suite, tcase);
	return suite_run(suite);
}
