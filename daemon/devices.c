/* SPDX-License-Identifier: MIT */
/* Looks at sysfs, questions to the driver, and what they change. */
#include "daemon/devices.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uv.h>

#include "daemon/daemon.h"
#include "daemon/options.h"
#include "daemon/pipeline/pipeline.h"
#include "daemon/pipeline/pool.h"
#include "daemon/scan/inputs.h"
#include "daemon/scan/scan.h"
#include "lib/base/json.h"

enum { LOST_MOST = 3 };

static const char usual_library[] = "libnvidia-ml.so.1";
static const char gpu_prefix[] = "gpu-";

struct devices {
	struct daemon *daemon;
	uv_work_t work;
	bool looking, closing, settled;
	uint64_t wanted, begun, done; /* numbers of looks */
	bool ask;		      /* also when nothing has changed */
	unsigned lost;
	struct pool_job *job;

	/* What the look under way finds. */
	struct kp_platform found;
	struct kp_topology found_topology;
	int result;
	struct kp_diag diag;

	struct kp_topology topology;
	json_t *driver, *gpus; /* of the last answer */
	json_t *new_driver, *new_gpus, *failed;
	char code[64], message[1024];
	int64_t at;
};

static void begin(struct devices *devices);

/* ---- ends -------------------------------------------------------------------------- */

static void finish_round(struct devices *devices)
{
	devices->done = devices->begun;
	if (devices->closing)
		return;
	devices->settled = true;
	if (devices->wanted > devices->done)
		begin(devices);
	daemon_changed(devices->daemon);
}

static void set_failure(struct devices *devices, const char *code, const char *message)
{
	const char *said = devices->code;
	bool is_new = strcmp(said, code) != 0;

	(void)snprintf(devices->code, sizeof(devices->code), "%s", code);
	(void)snprintf(devices->message, sizeof(devices->message), "%s", message);
	/* Answers that are kept tell of it. */
	if (is_new)
		kp_registry_platform_changed(devices->daemon->registry);
	if (is_new && code[0])
		log_line(&devices->daemon->log, LOG_WARNING,
			"the GPUs' driver could not be asked [%s]: %s", code, message);
}

/* ---- the question ------------------------------------------------------------------ */

static void replace(json_t **slot, json_t *value)
{
	json_decref(*slot);
	*slot = json_incref(value);
}

static void on_line(void *context, json_t *line)
{
	struct devices *devices = context;
	json_t *driver = json_object_get(line, "driver");
	json_t *gpu = json_object_get(line, "gpu");
	json_t *failed = json_object_get(line, "failed");
	const char *pci = json_string_value(json_object_get(gpu, "pci"));

	if (json_is_object(driver))
		replace(&devices->new_driver, driver);
	if (pci)
		(void)json_object_set(devices->new_gpus, pci, gpu);
	if (json_is_object(failed))
		replace(&devices->failed, failed);
}

/* Publishes what is new: selection sees the archs from now on. */
static void learn(struct devices *devices)
{
	struct daemon *daemon = devices->daemon;
	bool changed = false;
	const char *pci;
	json_t *gpu;

	json_object_foreach (devices->gpus, pci, gpu)
		changed |= kp_platform_learn(&daemon->platform, gpu);
	if (changed)
		kp_registry_platform_changed(daemon->registry);
}

/* Reasons are told beside decisions, which are kept until the next generation. */
static bool reasons_differ(const json_t *before, json_t *after)
{
	const char *pci;
	const json_t *gpu;

	json_object_foreach (after, pci, gpu) {
		const json_t *said = json_object_get(gpu, "reason");
		const json_t *old = json_object_get(before, pci);
		const json_t *told = json_object_get(old, "reason");
		if (!old || !said != !told || (said && !json_equal(said, told)))
			return true;
	}
	return false;
}

static void take_answer(struct devices *devices)
{
	if (reasons_differ(devices->gpus, devices->new_gpus))
		kp_registry_platform_changed(devices->daemon->registry);
	replace(&devices->driver, devices->new_driver);
	replace(&devices->gpus, devices->new_gpus);
	devices->at = daemon_now();
	set_failure(devices, "", "");
	learn(devices);
}

static void fail_ended(struct devices *devices, const struct kp_worker_result *result)
{
	char text[1024];
	bool hung = result->end == KP_WORKER_TIMED_OUT;

	if (hung)
		(void)snprintf(text, sizeof(text),
			"NVIDIA's driver does not answer: the worker that asked it was "
			"ended after %u ms (it was to %s); see the kernel's log",
			devices->daemon->options->driver_timeout_ms,
			result->stage[0] ? result->stage : "begin");
	else
		(void)snprintf(text, sizeof(text),
			"the worker that asked NVIDIA's driver did not come to its end: "
			"%s",
			result->diag.message);
	set_failure(devices, hung ? "driver_hangs" : "driver_crashed", text);
}

static void ask(struct devices *devices);

static void on_end(void *context, const struct kp_worker_result *result)
{
	struct devices *devices = context;

	devices->job = NULL;
	if (devices->closing || result->end == KP_WORKER_CANCELLED) {
		finish_round(devices);
		return;
	}
	if (result->end == KP_WORKER_LOST && ++devices->lost <= LOST_MOST) {
		ask(devices);
		return;
	}
	if (result->end == KP_WORKER_LOST)
		set_failure(devices, "worker_lost",
			"the workers' launcher ended several times meanwhile");
	else if (result->end != KP_WORKER_DONE)
		fail_ended(devices, result);
	else if (devices->failed)
		set_failure(devices, kp_json_text(devices->failed, "code"),
			kp_json_text(devices->failed, "message"));
	else
		take_answer(devices);
	finish_round(devices);
}

/* The addresses of the GPUs whose driver can be asked. */
static json_t *addresses(const struct kp_platform *platform)
{
	json_t *list = json_array();

	for (size_t i = 0; list && i < platform->n_devices; i++) {
		const struct kp_device_facts *device = &platform->devices[i];
		if (device->kind == KP_GPU && strcmp(device->vendor, "nvidia") == 0)
			list = kp_json_append(
				list, json_string(device->id + strlen(gpu_prefix)));
	}
	return list;
}

static void forget_words(struct devices *devices)
{
	json_decref(devices->new_driver);
	json_decref(devices->new_gpus);
	json_decref(devices->failed);
	devices->new_driver = devices->failed = NULL;
	devices->new_gpus = json_object();
}

static void submit(struct devices *devices, json_t *list)
{
	const struct options *options = devices->daemon->options;
	json_t *job = json_pack("{s:s, s:s, s:O}", "kind", "devices", "library",
		options->nvml ? options->nvml : usual_library, "addresses", list);

	forget_words(devices);
	if (job && devices->new_gpus)
		devices->job = pool_submit(devices->daemon->pool,
			&(struct pool_request){.job = job,
				.timeout_ms = options->driver_timeout_ms,
				.kernels = json_array_size(list),
				.alone = devices->lost > 0,
				.on_line = on_line,
				.on_end = on_end,
				.context = devices});
	json_decref(job);
	if (!devices->job) {
		set_failure(devices, "no_memory", "no worker could be asked");
		finish_round(devices);
	}
}

/* Devices that were given are not this machine's. */
static void ask(struct devices *devices)
{
	struct daemon *daemon = devices->daemon;
	json_t *list =
		daemon->options->platform ? json_array() : addresses(&daemon->platform);

	if (json_array_size(list) > 0) {
		submit(devices, list);
	} else {
		replace(&devices->gpus, NULL);
		set_failure(devices, "", "");
		finish_round(devices);
	}
	json_decref(list);
}

/* ---- the look ---------------------------------------------------------------------- */

/* Other devices or another driver: plugins may answer otherwise. */
static void probe_again(struct daemon *daemon)
{
	for (size_t i = 0; i < kp_registry_count(daemon->registry); i++)
		(void)kp_registry_again(
			daemon->registry, kp_registry_name(daemon->registry, i));
	scan_request(daemon->scan, NULL, NULL);
}

/* Whether it is another one than before; takes it then. */
static bool take_platform(struct devices *devices)
{
	struct daemon *daemon = devices->daemon;
	char *key = inputs_platform_key(&devices->found);
	bool is_same = kp_platform_inherit(&devices->found, &daemon->platform) &&
		       devices->found.n_devices == daemon->platform.n_devices;

	if (is_same || !key || pipeline_set_platform(daemon->pipeline, key) < 0) {
		free(key);
		return false;
	}
	bool answers_differ = strcmp(key, daemon->platform_text) != 0;
	free(daemon->platform_text);
	daemon->platform_text = key;
	kp_platform_finish(&daemon->platform);
	daemon->platform = devices->found;
	devices->found = (struct kp_platform){0};
	kp_registry_platform_changed(daemon->registry);
	log_line(&daemon->log, LOG_INFO, "other devices than before: %s",
		daemon->platform.name);
	if (answers_differ)
		probe_again(daemon);
	return true;
}

static void on_looked(uv_work_t *work, int status)
{
	struct devices *devices = work->data;
	bool must_ask = devices->ask;

	(void)status;
	devices->looking = false;
	if (devices->closing) {
		kp_platform_finish(&devices->found);
		finish_round(devices);
		return;
	}
	devices->ask = false;
	devices->topology = devices->found_topology;
	if (devices->result < 0)
		log_diag(&devices->daemon->log, LOG_ERROR, &devices->diag);
	else if (!devices->daemon->options->platform)
		must_ask |= take_platform(devices);
	kp_platform_finish(&devices->found);
	devices->lost = 0;
	if (must_ask)
		ask(devices);
	else
		finish_round(devices);
}

/* In libuv's pool. */
static void look(uv_work_t *work)
{
	struct devices *devices = work->data;
	const char *root = inputs_root(devices->daemon->options);

	kp_topology_read(root, &devices->found_topology);
	devices->found = (struct kp_platform){0};
	devices->result = kp_platform_detect(root, &devices->found, &devices->diag);
}

static void begin(struct devices *devices)
{
	devices->begun = devices->wanted;
	devices->looking = true;
	devices->work.data = devices;
	(void)uv_queue_work(&devices->daemon->loop, &devices->work, look, on_looked);
}

uint64_t devices_look(struct devices *devices, bool must_ask)
{
	bool idle =
		devices->done == devices->wanted && !devices->looking && !devices->job;

	devices->wanted++;
	devices->ask |= must_ask;
	if (idle && !devices->closing)
		begin(devices);
	return devices->wanted;
}

bool devices_has_done(const struct devices *devices, uint64_t number)
{
	return devices->done >= number;
}

bool devices_has_settled(const struct devices *devices)
{
	return devices->settled;
}

struct devices_answer devices_answer(const struct devices *devices)
{
	const char *code = devices->code[0] ? devices->code : NULL;

	return (struct devices_answer){devices->driver, devices->gpus, code,
		code ? devices->message : NULL, devices->at, &devices->topology,
		devices->looking || devices->job};
}

/* ---- life -------------------------------------------------------------------------- */

struct devices *devices_new(struct daemon *daemon)
{
	struct devices *devices = calloc(1, sizeof(*devices));

	if (devices)
		devices->daemon = daemon;
	return devices;
}

/* What sysfs shows has been read by the start itself. */
void devices_start(struct devices *devices)
{
	devices->begun = devices->wanted = 1;
	ask(devices);
}

void devices_close(struct devices *devices)
{
	if (devices)
		devices->closing = true;
}

void devices_free(struct devices *devices)
{
	if (!devices)
		return;
	json_decref(devices->driver);
	json_decref(devices->gpus);
	json_decref(devices->new_driver);
	json_decref(devices->new_gpus);
	json_decref(devices->failed);
	free(devices);
}
