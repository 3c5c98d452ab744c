/* SPDX-License-Identifier: MIT */
/* Loads a plugin and asks each kernel whether it can run here. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/worker/backtrace.h"
#include "daemon/worker/elf_facts.h"
#include "daemon/worker/elf_image.h"
#include "daemon/worker/hygiene.h"
#include "daemon/worker/loaded.h"
#include "daemon/worker/report.h"
#include "daemon/worker/search.h"
#include "lib/base/file.h"
#include "lib/base/text.h"
#include "lib/platform/cpu.h"
#include "lib/plugin/abi.h"

/* Where the plugin's own dlopen would look: found out when somebody asks. */
struct places {
	const char *stored;
	bool known;
	json_t *facts;
	char origin[4096];
	struct search_path path;
};

/* A library that cannot be read any more fails when it is loaded. */
static const struct search_path *path_of(struct places *places)
{
	struct elf_image image;
	__attribute__((cleanup(kp_file_close))) int fd = -1;

	if (places->known)
		return &places->path;
	places->known = true;
	places->path.origin =
		search_directory(places->stored, places->origin, sizeof(places->origin));
	fd = kp_file_open(AT_FDCWD, places->stored, NULL, NULL);
	if (fd < 0)
		return &places->path;
	if (elf_image_open(fd, places->stored, &image, NULL) == 0) {
		places->facts = elf_facts(&image);
		places->path.rpath = json_object_get(places->facts, "rpath");
		places->path.runpath = json_object_get(places->facts, "runpath");
		places->path.machine = image.header.e_machine;
		places->path.class = image.header.e_ident[EI_CLASS];
	}
	elf_image_finish(&image);
	return &places->path;
}

static void answer(const struct report *report, const char *kernel, const char *code,
	const char *why)
{
	char text[REPORT_TEXT];
	kp_text_clean(why, text, sizeof(text));
	report_line(
		report, json_pack("{s:s, s:b, s:s, s:s}", "kernel", kernel, "available",
				*code == '\0', "code", code, "message", text));
}

/* Nothing of the kernel is called when what it opens is not there. */
static bool has_libraries(
	const struct report *report, const struct kp_spec *spec, struct places *places)
{
	for (size_t i = 0; i < spec->needs.count; i++) {
		char text[1024];
		json_t *found = search_library(path_of(places), spec->needs.items[i]);
		bool there = search_found(found);
		if (!there)
			answer(report, spec->name, "missing_library",
				search_sentence(found, text, sizeof(text)));
		json_decref(found);
		if (!there)
			return false;
	}
	return true;
}

/*
 * A CPU kernel that its own capability excludes here is not called: it may hold
 * instructions that this processor does not have. Selection excludes it by name.
 */
static bool fits_here(const struct kp_capability *capability)
{
	struct kp_cpu cpu;

	if (capability->device != KP_CPU)
		return true;
	kp_cpu_detect(&cpu);
	struct kp_arch level = {true, (int32_t)cpu.level, 0};
	if (capability->min_arch.known &&
		kp_arch_compare(&level, &capability->min_arch) < 0)
		return false;
	if (capability->vendors.count > 0 &&
		!kp_text_among(
			cpu.vendor, capability->vendors.items, capability->vendors.count))
		return false;
	for (size_t i = 0; i < capability->features.count; i++)
		if (!kp_text_among(
			    capability->features.items[i], cpu.features, cpu.n_features))
			return false;
	return true;
}

/* True where code of the plugin ran for it. */
static bool ask(const struct report *report, const struct kp_spec *spec,
	const struct kp_kernel *kernel)
{
	const struct kp_device cpu = {KP_SIZED(struct kp_device), .type = KP_DEVICE_CPU};
	bool on_cpu = spec->capability.device == KP_CPU;
	struct kp_error error;
	char status[64];
	char text[sizeof(error.text) + 128];
	if (!kernel->available || !fits_here(&spec->capability)) {
		answer(report, spec->name, "", "");
		return false;
	}
	kp_error_reset(&error);
	int raw = kernel->available(on_cpu ? &cpu : NULL, &error);
	int known = kp_error_settle(&error, raw);
	if (known == KP_OK) {
		answer(report, spec->name, "", "");
		return true;
	}
	snprintf(text, sizeof(text), "available() returned %s%s%s",
		kp_status_text(raw, status, sizeof(status)), *error.text ? ": " : "",
		error.text);
	if (known == KP_UNAVAILABLE)
		answer(report, spec->name, "unavailable",
			*error.text ? error.text : text);
	else
		answer(report, spec->name, "available_failed", text);
	return true;
}

static bool ask_all(const struct report *report, struct places *places,
	const struct kp_note *note, const struct loaded *loaded)
{
	bool ran = false;

	for (size_t i = 0; i < note->n_kernels; i++) {
		const struct kp_spec *spec = &note->kernels[i];
		report_stage(report, "probe kernel %s", spec->name);
		if (has_libraries(report, spec, places))
			ran |= ask(report, spec, loaded_kernel(loaded, spec->name));
	}
	return ran;
}

/* The loader does not say where it looked. */
static void add_places(struct kp_diag *diag, struct places *places)
{
	char name[sizeof(diag->object)];
	char text[sizeof(diag->message) - 32];
	if (strcmp(diag->code, "missing_library") != 0)
		return;
	memcpy(name, diag->object, sizeof(name));
	json_t *found = search_library(path_of(places), name);
	if (found && !search_found(found))
		kp_diag_set(diag, "missing_library", name, "cannot be loaded: %s",
			search_sentence(found, text, sizeof(text)));
	json_decref(found);
}

/* Told once: what is there now is what the next step begins with. */
static void tell_hygiene(
	const struct report *report, struct hygiene *hygiene, const char *when)
{
	json_t *warnings = json_array();

	if (hygiene)
		hygiene_compare(hygiene, when, warnings);
	if (json_array_size(warnings) > 0)
		report_line(report, json_pack("{s:O}", "warnings", warnings));
	json_decref(warnings);
}

static void probe(
	const struct report *report, const char *stored, const struct kp_note *note)
{
	struct loaded loaded;
	struct places places = {.stored = stored};
	struct kp_diag diag;
	struct hygiene *hygiene = hygiene_take();
	backtrace_while_loading(true);
	int failed = loaded_open(stored, note, &loaded, &diag);
	backtrace_while_loading(false);
	if (!failed) {
		tell_hygiene(report, hygiene, "loading it");
		if (ask_all(report, &places, note, &loaded))
			tell_hygiene(report, hygiene, "asking its kernels");
	} else {
		add_places(&diag, &places);
		if (*loaded.loader)
			report_loader(report, loaded.loader);
		/* What would not load did something; what loaded is something else. */
		report_failed(report, loaded.handle ? "rejected" : "failed", &diag);
	}
	hygiene_free(hygiene);
	json_decref(places.facts);
}

static int run(
	const struct report *report, const json_t *job, const int *fds, size_t n_fds)
{
	const char *stored = json_string_value(json_object_get(job, "stored"));
	struct kp_note note = {0};
	struct kp_diags warnings = {0};
	struct kp_diag diag;
	(void)fds;
	(void)n_fds;
	report_stage(report, "load");
	backtrace_on_end(report);
	if (!stored) {
		kp_diag_set(&diag, "bad_job", NULL, "the job names no stored library");
		report_failed(report, "failed", &diag);
	} else if (kp_note_from_json(
			   json_object_get(job, "note"), &note, &warnings, &diag) < 0) {
		report_failed(report, "rejected", &diag);
	} else {
		probe(report, stored, &note);
	}
	/* Freed by nobody: code of the plugin may still run, and the end is near. */
	report_end(report);
	return EXIT_SUCCESS;
}

const struct job_kind job_probe = {.name = "probe", .run = run};
