/* SPDX-License-Identifier: MIT */
/* Asking plugind for its layers, and whether to believe it. */
#include "cmd/layer.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cmd/field.h"
#include "cmd/session.h"

static const struct question asking_layers = {
	"Layers", {{"mask_dir", KP_JSON_STRING, true},
			  {"runtime_dir", KP_JSON_STRING | KP_JSON_NULL, false}}};

void layer_finish(struct layer *layer)
{
	json_decref(layer->layers);
}

static int check_peer(struct session *session)
{
	uid_t uid;
	struct kp_diag diag;
	int status = session_connect(session);
	if (status != KP_EXIT_OK)
		return status;
	if (kp_client_peer(session->client, &uid, &diag) < 0)
		return output_fail_diag(&session->output, &diag);
	if (uid == 0 || uid == geteuid())
		return KP_EXIT_OK;
	return output_refuse(&session->output, "untrusted_layer",
		kp_client_path(session->client),
		"plugind at %s runs as uid %u: where that tells to write, uid %u does "
		"not",
		kp_client_path(session->client), (unsigned)uid, (unsigned)geteuid());
}

int layer_find(
	struct session *session, const char *name, bool runtime, struct layer *layer)
{
	int status = check_peer(session);
	if (status == KP_EXIT_OK)
		status = session_ask(
			session, &asking_layers, json_object(), &layer->layers);
	if (status != KP_EXIT_OK)
		return status;
	const char *dir =
		field_text(layer->layers, runtime ? "runtime_dir" : "mask_dir", NULL);
	if (!dir)
		return output_refuse(&session->output, "no_runtime_layer", name,
			"this plugind was given its own manifest directories, and the "
			"runtime layer is none of them; leave out --runtime");
	int n = snprintf(layer->dir, sizeof(layer->dir), "%s", dir);
	if (dir[0] != '/' || n < 0 || (size_t)n >= sizeof(layer->dir))
		return output_refuse(&session->output, "bad_reply", "Layers",
			"plugind names %s as its layer, which is no absolute path", dir);
	return KP_EXIT_OK;
}

const char *layer_remedy(int error)
{
	return (error == EACCES || error == EPERM) && geteuid() != 0
		       ? "; root may: what is there holds for all users of the machine"
		       : "";
}

int layer_fail(struct session *session, const struct layer *layer, const char *verb,
	const char *file)
{
	int error = errno;
	bool denied = error == EACCES || error == EPERM || error == EROFS;
	return output_refuse(&session->output, denied ? "not_permitted" : "write_failed",
		layer->dir, "cannot %s %s in %s: %s%s", verb, file, layer->dir,
		strerror(error), layer_remedy(error));
}
