/* SPDX-License-Identifier: MIT */
/* The files of an installed plugin, changed together by one run at a time. */
#include "cmd/install_target.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/field.h"
#include "cmd/identify.h"
#include "lib/base/file.h"
#include "lib/base/place.h"
#include "lib/plugin/manifest.h"

static const struct question asking_status = {
	"Status", {{"plugin_dir", KP_JSON_STRING, true}, {"mode", KP_JSON_STRING, true}}};

/* ---- where ------------------------------------------------------------------------ */

static int open_made(struct session *session, const char *path, int *fd)
{
	struct kp_diag diag;
	if (kp_file_make_dirs(path, 0755, &diag) < 0)
		return output_fail_diag(&session->output, &diag);
	*fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (*fd >= 0 && faccessat(*fd, ".", W_OK, AT_EACCESS) == 0)
		return KP_EXIT_OK;
	int error = errno;
	return output_refuse(&session->output,
		error == EACCES || error == EROFS ? "not_permitted" : "write_failed",
		path, "cannot write in %s: %s%s", path, strerror(error),
		layer_remedy(error));
}

/* That of plugind; a user's own where it is that of all, or not to be written. */
static int find_libraries(struct session *session, struct install_target *target)
{
	owned_json *reply = NULL;
	int status = session_ask(session, &asking_status, json_object(), &reply);
	if (status != KP_EXIT_OK)
		return status;
	const char *dir = field_text(reply, "plugin_dir", "");
	owned_text usual = kp_place_find("plugins");
	bool system = field_is(reply, "mode", "system");
	bool shared = !usual || strcmp(dir, usual) == 0;
	target->is_plugin_dir = system || (!shared && access(dir, W_OK) == 0);
	owned_text own = target->is_plugin_dir ? strdup(dir) : kp_place_library_dir();
	if (!own || (size_t)snprintf(target->libraries, sizeof(target->libraries), "%s",
			    own) >= sizeof(target->libraries))
		return output_no_memory(&session->output);
	return KP_EXIT_OK;
}

static void name_files(struct install_target *target)
{
	(void)snprintf(target->manifest, INSTALL_FILE_BYTES, "%s.json", target->name);
	(void)snprintf(target->library, INSTALL_FILE_BYTES, "%s.so", target->name);
	(void)snprintf(
		target->old_manifest, INSTALL_FILE_BYTES, ".%s.json.old", target->name);
	(void)snprintf(
		target->old_library, INSTALL_FILE_BYTES, ".%s.so.old", target->name);
	(void)snprintf(target->seal, INSTALL_FILE_BYTES, "%s.so.minisig", target->name);
	(void)snprintf(
		target->old_seal, INSTALL_FILE_BYTES, ".%s.so.minisig.old", target->name);
	(void)snprintf(target->lock, INSTALL_FILE_BYTES, ".%s.lock", target->name);
}

/* ---- what was there -------------------------------------------------------------- */

/* Keeps what is there under another name; nothing there is fine. */
static bool keep_old(int dir, const char *file, const char *old)
{
	(void)unlinkat(dir, old, 0);
	return linkat(dir, file, dir, old, 0) == 0 || errno == ENOENT;
}

bool install_target_keep(const struct install_target *target)
{
	return keep_old(target->libraries_fd, target->seal, target->old_seal) &&
	       keep_old(target->libraries_fd, target->library, target->old_library) &&
	       keep_old(target->layer_fd, target->manifest, target->old_manifest);
}

void install_target_forget(const struct install_target *target)
{
	(void)unlinkat(target->libraries_fd, target->old_seal, 0);
	(void)unlinkat(target->libraries_fd, target->old_library, 0);
	(void)unlinkat(target->layer_fd, target->old_manifest, 0);
}

static void put_back(int dir, const char *file, const char *old)
{
	if (renameat(dir, old, dir, file) < 0 && errno == ENOENT)
		(void)unlinkat(dir, file, 0);
}

void install_target_put_back(const struct install_target *target)
{
	put_back(target->libraries_fd, target->seal, target->old_seal);
	put_back(target->libraries_fd, target->library, target->old_library);
	put_back(target->layer_fd, target->manifest, target->old_manifest);
	/* Of a file that was not replaced rename leaves both names. */
	install_target_forget(target);
}

json_t *install_target_manifest(const struct install_target *target)
{
	owned_text text = NULL;
	size_t size;
	json_t *manifest = NULL;
	if (kp_file_read(target->layer_fd, target->manifest, KP_MANIFEST_BYTES, &text,
		    &size, NULL) == 0 &&
		kp_json_parse(text, size, target->manifest, &manifest, NULL) == 0 &&
		json_is_object(manifest))
		return manifest;
	json_decref(manifest);
	return NULL;
}

/* ---- runs that were killed --------------------------------------------------------- */

static bool is_kept(int dir, const char *old)
{
	return faccessat(dir, old, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

/* Do the two files that are there belong together? */
static bool is_whole(struct session *session, const struct install_target *target)
{
	owned_json *manifest = install_target_manifest(target);
	owned_json *info = NULL;
	owned_text path = NULL;
	struct kp_diag diag;
	const char *digest = field_text(manifest, "sha256", NULL);
	if (!digest || asprintf(&path, "%s/%s", target->libraries, target->library) < 0 ||
		identify_file(path, NULL, session->timeout_ms, &info, &diag) < 0)
		return false;
	return field_is(json_object_get(info, "plugin"), "sha256", digest);
}

static void recover(struct session *session, const struct install_target *target)
{
	bool library = is_kept(target->libraries_fd, target->old_library);
	bool manifest = is_kept(target->layer_fd, target->old_manifest);
	if ((library || manifest) && !is_whole(session, target)) {
		output_remark(&session->output,
			"%s: what an earlier run has left half done is taken back",
			target->name);
		if (is_kept(target->libraries_fd, target->old_seal))
			put_back(target->libraries_fd, target->seal, target->old_seal);
		if (library)
			put_back(target->libraries_fd, target->library,
				target->old_library);
		if (manifest)
			put_back(
				target->layer_fd, target->manifest, target->old_manifest);
	}
	install_target_forget(target);
}

/* ---- the whole --------------------------------------------------------------------- */

static int claim(struct session *session, struct install_target *target)
{
	target->lock_fd = kp_file_claim(target->layer_fd, target->lock);
	return target->lock_fd < 0
		       ? layer_fail(session, &target->layer, "claim", target->lock)
		       : KP_EXIT_OK;
}

int install_target_open(struct session *session, struct install_target *target)
{
	name_files(target);
	int status = layer_find(session, target->name, false, &target->layer);
	if (status == KP_EXIT_OK)
		status = find_libraries(session, target);
	if (status == KP_EXIT_OK)
		status = open_made(session, target->layer.dir, &target->layer_fd);
	if (status == KP_EXIT_OK)
		status = open_made(session, target->libraries, &target->libraries_fd);
	if (status == KP_EXIT_OK)
		status = claim(session, target);
	if (status == KP_EXIT_OK)
		recover(session, target);
	return status;
}

void install_target_finish(struct install_target *target)
{
	if (target->lock_fd >= 0)
		(void)unlinkat(target->layer_fd, target->lock, 0);
	kp_file_close(&target->lock_fd);
	layer_finish(&target->layer);
	kp_file_close(&target->layer_fd);
	kp_file_close(&target->libraries_fd);
	json_decref(target->info);
	json_decref(target->plugin);
}
