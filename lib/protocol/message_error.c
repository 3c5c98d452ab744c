/* SPDX-License-Identifier: MIT */
/* Which error of the interface a code belongs to, and the exit status of each. */
#include <stddef.h>
#include <string.h>

#include "lib/protocol/message.h"

static const char *const not_found[] = {
	"no_such_device",
	"no_such_incident",
	"no_such_kernel",
	"no_such_plugin",
	"no_such_solution",
	"unknown_family",
	"unknown_operation",
	"unknown_schema",
	NULL,
};

/* What was asked for is wrong: the one who asks can mend it. */
static const char *const argument[] = {
	/* a command line */
	"bad_count",
	"bad_rounds",
	"bad_seed",
	"bad_settle",
	"bad_threads",
	"bad_threshold",
	"bad_time",
	"bad_timeout",
	"empty_value",
	"file_exists",
	"missing_argument",
	"missing_command",
	"missing_value",
	"needs_offline",
	"needs_override",
	"no_runtime_layer",
	"not_offline",
	"not_a_plugin",
	"not_utf8",
	"repeated_option",
	"unexpected_argument",
	"unexpected_value",
	"unknown_command",
	"unknown_option",
	"usage",
	/* JSON, and a file that was named */
	"bad_fingerprint",
	"bad_result",
	"file_too_large",
	"foreign_result",
	"json_duplicate_key",
	"json_not_utf8",
	"json_nul",
	"json_syntax",
	"json_too_deep",
	"json_too_large",
	"message_too_large",
	"missing_file",
	"missing_key",
	"not_loaded",
	"not_readable",
	"not_regular_file",
	"other_operation",
	"other_revision",
	"path_too_long",
	"unexpected_descriptor",
	"unlinked_file",
	"unreadable_file",
	"unknown_key",
	"wrong_format",
	"wrong_type",
	/* a request, a platform */
	"ambiguous_name",
	"ambiguous_signature",
	"bad_arch",
	"bad_dtype",
	"bad_every",
	"bad_extent",
	"bad_generation",
	"bad_name",
	"bad_operation",
	"bad_platform",
	"bad_report",
	"bad_shape",
	"bad_signature",
	"bad_since",
	"bad_trait",
	"bad_version",
	"disabled_as_other",
	"format_not_allowed",
	"missing_dim",
	"missing_role",
	"name_taken",
	"no_descriptor",
	"no_family",
	"no_shape",
	"no_reference",
	"no_signature",
	"reason_too_long",
	"repeated_dim",
	"too_many",
	"undescribed",
	"unknown_device",
	"unknown_dim",
	"unknown_flag",
	"unknown_layout",
	"unknown_objective",
	"unknown_platform",
	"unknown_role",
	"unknown_state",
	"unknown_trait",
	"unknown_without",
	"unsupported_block",
	"unsupported_format",
	NULL,
};

/* What was asked for is right, and could not be done. */
static const char *const failed[] = {
	/* the daemon, its files and its children */
	"already_running",
	"application_gone",
	"bad_cache",
	"bad_decisions",
	"bad_families_dir",
	"bad_family",
	"bad_incidents",
	"bad_index",
	"bad_interface",
	"bad_job",
	"bad_log_level",
	"bad_policy",
	"bad_reply",
	"bad_table",
	"bad_view",
	"bad_worker",
	"cache_damaged",
	"cancelled",
	"damaged_state",
	"decisions_full",
	"disconnected",
	"failed",
	"foreign_file",
	"garbled_report",
	"incomplete_report",
	"interrupted",
	"io_error",
	"keeps_changing",
	"killed_by_signal",
	"killed_its_keeper",
	"killed_the_launcher",
	"launcher_failed",
	"lingering_process",
	"newer_format",
	"no_daemon",
	"no_memory",
	"no_threads",
	"no_watch",
	"no_worker",
	"not_installed",
	"protocol_error",
	"stopping",
	"table_too_large",
	"too_many_files",
	"unreadable_directory",
	"worker_failed",
	"worker_lost",
	"write_failed",
	/* the devices and their drivers */
	"asking",
	"driver_crashed",
	"driver_error",
	"driver_hangs",
	"driver_library_missing",
	"driver_library_unusable",
	"driver_no_permission",
	"driver_not_loaded",
	"driver_version_mismatch",
	"gpu_has_other_driver",
	"gpu_lost",
	"gpu_not_found",
	"no_arch",
	"no_way_to_ask",
	/* a manifest, a library or its note: a plugin's reason, no answer to a call */
	"abi_major",
	"abi_minor",
	"bad_abi",
	"bad_capability",
	"bad_digest",
	"bad_entry_name",
	"bad_library",
	"bad_need",
	"bad_priority",
	"bad_priority_offset",
	"bad_revision",
	"bad_struct_size",
	"config_too_large",
	"cpu_isa_missing",
	"dangling_link",
	"digest_mismatch",
	"duplicate_kernel",
	"elf_damaged",
	"elf_truncated",
	"empty_file",
	"empty_range",
	"entries_differ",
	"executable_stack",
	"exports_more",
	"float_startup_code",
	"foreign_search_path",
	"gpu_arch_gap",
	"gpu_arch_missing",
	"gpu_code_damaged",
	"host_too_new",
	"host_too_old",
	"link_loop",
	"load_failed",
	"missing_directory",
	"missing_library",
	"missing_pointer",
	"needed_with_path",
	"needs_absent_library",
	"newer_revision",
	"no_note",
	"no_plugin_symbol",
	"not_elf",
	"not_shared_object",
	"not_trusted",
	"not_world_readable",
	"note_too_large",
	"note_truncated",
	"note_wrong_owner",
	"note_wrong_type",
	"null_entry",
	"outside",
	"relative_search_path",
	"runs_at_load",
	"several_notes",
	"shadowed_library",
	"static_tls",
	"symbol_version_missing",
	"text_relocations",
	"too_many_kernels",
	"too_many_needed",
	"too_many_search_paths",
	"too_many_values",
	"undeclared_library",
	"undefined_symbol",
	"unknown_entry_kind",
	"unmarked_stack",
	"writable_code",
	"writable_search_path",
	"wrong_class",
	"wrong_endian",
	"wrong_machine",
	/* a call of a kernel, in a worker or an application */
	"bad_fill",
	"bad_tensor",
	"dims_disagree",
	"error",
	"missing_tensor",
	"out_of_bounds",
	"overlap",
	"shapes_differ",
	"too_large",
	"unexpected_tensor",
	"unsupported_check",
	"unsupported_role",
	"wrong",
	"wrong_count",
	"wrong_device",
	"wrong_dtype",
	"wrong_rank",
	/* findings of check and doctor, which no call has */
	"bad_config",
	"clock_not_kept",
	"clock_not_set",
	"cpu_frequency_varies",
	"cpu_siblings",
	"daemon_silent",
	"daemon_warns",
	"duplicate_of",
	"equal_rank",
	"group_missing",
	"kernel_feature_missing",
	"library_not_found",
	"limit_too_low",
	"no_kernels",
	"no_watches",
	"not_writable",
	"nothing_to_check",
	"socket_not_permitted",
	"soname_conflict",
	"store_full",
	"store_noexec",
	"two_daemons",
	"unclaimed",
	"unknown_feature",
	"unknown_kind",
	"unknown_tag",
	"unknown_variable",
	"unknown_vendor",
	/* remarks beside a decision */
	"forced",
	"not_considered",
	"unavailable",
	"unavailable_here",
	NULL,
};

static const char *const not_permitted[] = {
	"not_permitted", "untrusted_daemon", "untrusted_layer", NULL};
static const char *const override_ineligible[] = {"override_ineligible", NULL};
static const char *const timed_out[] = {"timed_out", "still_held", NULL};
static const char *const busy[] = {"busy", "bench_busy", NULL};

static const struct {
	const char *error;
	enum kp_exit status;
	const char *const *codes;
} rows[] = {
	{KP_INTERFACE ".NotFound", KP_EXIT_NOT_FOUND, not_found},
	{KP_INTERFACE ".InvalidArgument", KP_EXIT_USAGE, argument},
	{KP_INTERFACE ".NotPermitted", KP_EXIT_NOT_PERMITTED, not_permitted},
	{KP_INTERFACE ".OverrideIneligible", KP_EXIT_NO, override_ineligible},
	{KP_INTERFACE ".TimedOut", KP_EXIT_TIMED_OUT, timed_out},
	{KP_INTERFACE ".Busy", KP_EXIT_FAILED, busy},
	{KP_INTERFACE ".Failed", KP_EXIT_FAILED, failed},
};

enum { ROWS = sizeof(rows) / sizeof(rows[0]) };

enum kp_exit kp_error_exit(const char *error)
{
	if (!error)
		return KP_EXIT_OK;
	for (size_t i = 0; i < ROWS; i++)
		if (strcmp(rows[i].error, error) == 0)
			return rows[i].status;
	return strcmp(error, "org.varlink.service.InvalidParameter") == 0
		       ? KP_EXIT_USAGE
		       : KP_EXIT_FAILED;
}

const char *kp_error_code(const char *code)
{
	for (size_t i = 0; i < ROWS; i++)
		for (const char *const *at = rows[i].codes; *at; at++)
			if (strcmp(*at, code) == 0)
				return *at;
	return "failed";
}

const char *kp_error_name(const char *code)
{
	for (size_t i = 0; i < ROWS; i++)
		for (const char *const *at = rows[i].codes; *at; at++)
			if (strcmp(*at, code) == 0)
				return rows[i].error;
	/* Nobody is told that a mistake of ours is theirs. */
	return KP_INTERFACE ".Failed";
}
