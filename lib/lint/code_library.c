/* SPDX-License-Identifier: MIT */
/* Codes of libraries, in byte order: see lib/lint/code.h. */
#include "lib/lint/code.h"

#include "lib/base/owned.h"

static const struct kp_code rows[] = {
	{"bad_cache", KP_SEVERITY_ERROR, "plugin-worker's verdict cannot be read.",
		"Install kplug again, whole: worker and tool must be of one version."},
	{"cpu_isa_missing", KP_SEVERITY_ERROR,
		"A kernel claims CPUs on which its library cannot be loaded.",
		"Raise min_arch of its capability, or build the library for less."},
	{"elf_damaged", KP_SEVERITY_ERROR,
		"The library's ELF headers contradict each other or the file.",
		"Link it again; a tool that edited it may have broken it."},
	{"elf_truncated", KP_SEVERITY_ERROR,
		"The library's file ends before its content does.",
		"Copy or build it again, whole."},
	{"empty_file", KP_SEVERITY_ERROR, "The file is empty.",
		"Copy or build it again."},
	{"executable_stack", KP_SEVERITY_ERROR,
		"The library wants an executable stack: C libraries from glibc 2.41 on "
		"refuse it, older ones make every stack of the application executable.",
		"Link with -Wl,-z,noexecstack; avoid nested functions, and mark "
		"assembly with .section .note.GNU-stack."},
	{"exports_more", KP_SEVERITY_ERROR, "The library exports more than kplug_plugin.",
		"Link with -Wl,--version-script=kplug/plugin.map."},
	{"filter_library", KP_SEVERITY_ERROR,
		"The loader opens another library in front of this one, which is not "
		"among what it needs.",
		"Link without -f and -F (--auxiliary, --filter)."},
	{"float_startup_code", KP_SEVERITY_WARNING,
		"Loading the library makes the thread flush small numbers to zero.",
		"Link without -ffast-math, -Ofast and -funsafe-math-optimizations "
		"(compiling with them is fine), or with -mdaz-ftz off."},
	{"foreign_search_path", KP_SEVERITY_WARNING,
		"The library is looked for in a directory of the machine that built it.",
		"Link without that -rpath, or use $ORIGIN."},
	{"gpu_arch_gap", KP_SEVERITY_WARNING,
		"On the lowest architecture that a kernel claims none of its code runs.",
		"Build for that architecture too, or raise min_arch."},
	{"gpu_arch_missing", KP_SEVERITY_ERROR,
		"A kernel claims GPUs for which the library has no code.",
		"Build for those architectures, or mend min_arch and max_arch."},
	{"gpu_code_damaged", KP_SEVERITY_WARNING,
		"A fat binary inside the library does not add up.",
		"Build the library again."},
	{"library_not_found", KP_SEVERITY_WARNING,
		"The library that a manifest names is not there.",
		"Put it there, or say with --plugin-dir where libraries are."},
	{"link_loop", KP_SEVERITY_ERROR, "Links lead to each other.",
		"Make the link lead to the file."},
	{"missing_file", KP_SEVERITY_ERROR, "The file is not there.",
		"See whether the path is right."},
	{"missing_library", KP_SEVERITY_ERROR,
		"A library that this one needs is not found.",
		"Install the package with it, or put it beside and link with "
		"-Wl,-rpath,'$ORIGIN'."},
	{"needed_with_path", KP_SEVERITY_ERROR,
		"A needed library is named by a path that depends on who loads it.",
		"Link by soname: build that library with -Wl,-soname."},
	{"needs_absent_library", KP_SEVERITY_WARNING,
		"A library that a kernel opens by itself is not found: the kernel is "
		"not available here.",
		"Install the package with it, or do without that kernel."},
	{"no_note", KP_SEVERITY_ERROR, "The library has no note of kplug.",
		"Embed one with KPLUG_PLUGIN_NOTE; see plugins/README."},
	{"no_plugin_symbol", KP_SEVERITY_ERROR,
		"The library does not export kplug_plugin as an object.",
		"Define `KPLUG_PLUGIN_EXPORT const struct kp_plugin kplug_plugin`, as "
		"C."},
	{"not_elf", KP_SEVERITY_ERROR, "The file is not an ELF file.",
		"Name the built library; an archive, a script or a text is none."},
	{"not_regular_file", KP_SEVERITY_ERROR, "It is not a regular file.",
		"Put the file itself there."},
	{"not_shared_object", KP_SEVERITY_ERROR, "The ELF file is no shared object.",
		"Link it with -shared."},
	{"note_too_large", KP_SEVERITY_ERROR, "The note is larger than 4 MiB.",
		"Say less in it."},
	{"note_truncated", KP_SEVERITY_ERROR,
		"A note goes on behind the end of its segment.",
		"Embed it with KPLUG_PLUGIN_NOTE, which counts its bytes."},
	{"note_wrong_owner", KP_SEVERITY_ERROR,
		"A note that looks like one for kplug has another owner.",
		"Embed it with KPLUG_PLUGIN_NOTE."},
	{"note_wrong_type", KP_SEVERITY_ERROR,
		"The note is of a type that this kplug does not read.",
		"Embed it with the KPLUG_PLUGIN_NOTE of this kplug."},
	{"relative_search_path", KP_SEVERITY_ERROR,
		"A search path of the library depends on the directory that an "
		"application runs in.",
		"Link with -Wl,-rpath,'$ORIGIN', or with an absolute path, or with "
		"none."},
	{"runs_at_load", KP_SEVERITY_NOTE,
		"The library runs code of its own as soon as it is loaded.",
		"Prefer `start` and the kernels' `load`; what runs at load runs in "
		"every probe, too."},
	{"several_notes", KP_SEVERITY_ERROR,
		"The library has more than one note of kplug.",
		"Use KPLUG_PLUGIN_NOTE in one file only."},
	{"shadowed_library", KP_SEVERITY_WARNING,
		"A library lies beside the plugin, but another one of that name is "
		"found first.",
		"Link with -Wl,-rpath,'$ORIGIN', or remove the copy."},
	{"soname_conflict", KP_SEVERITY_WARNING,
		"Two plugins bring different libraries of one soname: an application "
		"can load only one of the two.",
		"Link the library into the plugin statically, give it a soname of its "
		"own, or bring the same file."},
	{"static_tls", KP_SEVERITY_WARNING,
		"The library needs static thread-local storage, of which a running "
		"process has little.",
		"Compile with -ftls-model=global-dynamic, and make thread-local data "
		"smaller."},
	{"symbol_version_missing", KP_SEVERITY_ERROR,
		"The library needs a version of symbols that a library of this machine "
		"does not have.",
		"Build on the oldest system that it shall run on, or install a newer "
		"library."},
	{"text_relocations", KP_SEVERITY_WARNING,
		"The library's code is changed while it is loaded: hardened systems "
		"refuse that.",
		"Compile everything in it with -fPIC."},
	{"timed_out", KP_SEVERITY_ERROR,
		"plugin-worker did not finish with the file in time.",
		"Give it more by --timeout, in seconds."},
	{"too_many_needed", KP_SEVERITY_ERROR,
		"The library needs more libraries than what is looked for.",
		"Link fewer."},
	{"too_many_search_paths", KP_SEVERITY_ERROR,
		"The library has more search paths than what is looked at.",
		"Link with fewer -rpath."},
	{"too_many_values", KP_SEVERITY_ERROR,
		"The note has more values than what is read.", "Say less in it."},
	{"unclaimed", KP_SEVERITY_NOTE,
		"No manifest names this plugin's library: plugind does not know it.",
		"Write a manifest, or let `pluginctl install` do so."},
	{"undeclared_library", KP_SEVERITY_WARNING,
		"The library uses symbols of a library that it does not name as needed: "
		"it loads only where the application happens to have that library.",
		"Link with the library that is named; -Wl,-z,defs finds this when "
		"linking."},
	{"undefined_symbol", KP_SEVERITY_ERROR,
		"A symbol that the library uses is in none of the libraries that it "
		"needs.",
		"Link with the library that has it; -Wl,-z,defs finds this when "
		"linking."},
	{"unmarked_stack", KP_SEVERITY_ERROR,
		"The library does not say what stack it needs: that counts as "
		"executable.",
		"Mark assembly with .section .note.GNU-stack, and link with "
		"-Wl,-z,noexecstack."},
	{"unreadable_file", KP_SEVERITY_ERROR, "The file cannot be read.",
		"Change its mode or owner."},
	{"worker_failed", KP_SEVERITY_ERROR,
		"plugin-worker did not say what the file is.",
		"Tell us: no file may do that; `plugin-worker --identify FILE` shows "
		"what happens."},
	{"worker_lost", KP_SEVERITY_ERROR,
		"plugin-worker was lost while it read the file.",
		"Try again; plugind's log says more."},
	{"writable_code", KP_SEVERITY_WARNING,
		"A segment of the library is writable and executable.",
		"Link without -N and -Wl,--omagic."},
	{"writable_search_path", KP_SEVERITY_ERROR,
		"Everybody may write a directory that the library's needs are searched "
		"in.",
		"chmod o-w the directory, or link without that -rpath."},
	{"wrong_class", KP_SEVERITY_ERROR, "The library is for another word size.",
		"Build it for this machine."},
	{"wrong_endian", KP_SEVERITY_ERROR, "The library is for another byte order.",
		"Build it for this machine."},
	{"wrong_machine", KP_SEVERITY_ERROR, "The library is for another processor.",
		"Build it for this machine."},
};

const struct kp_code_table kp_codes_of_library = {rows, KP_COUNT(rows)};
