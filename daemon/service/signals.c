/* SPDX-License-Identifier: MIT */
/* SIGTERM and SIGINT end the daemon, SIGHUP has it look for changes. */
#include "daemon/service/signals.h"

#include <signal.h>

#include "daemon/daemon.h"
#include "daemon/devices.h"
#include "daemon/scan/scan.h"
#include "daemon/service/service.h"

static void on_scanned(void *context, const struct scan_result *result)
{
	struct daemon *daemon = context;

	(void)result;
	service_has_looked(daemon->service);
}

static void on_signal(uv_signal_t *handle, int number)
{
	struct daemon *daemon = handle->data;

	if (number != SIGHUP) {
		daemon_end(daemon, number == SIGTERM ? "SIGTERM" : "SIGINT");
	} else if (!daemon->closing) {
		log_line(&daemon->log, LOG_INFO, "SIGHUP: looking for changes");
		service_reload(daemon->service);
		scan_request(daemon->scan, on_scanned, daemon);
		(void)devices_look(daemon->devices, true);
	}
}

int signals_start(struct daemon *daemon, struct kp_diag *diag)
{
	static const int numbers[] = {SIGTERM, SIGINT, SIGHUP};

	(void)signal(SIGPIPE, SIG_IGN);
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		if (uv_signal_init(&daemon->loop, &daemon->signals[i]) < 0)
			return kp_diag_no_memory(diag);
		daemon->n_signals++;
		daemon->signals[i].data = daemon;
		if (uv_signal_start(&daemon->signals[i], on_signal, numbers[i]) < 0)
			return kp_diag_no_memory(diag);
	}
	return 0;
}

void signals_rest(struct daemon *daemon)
{
	for (size_t i = 0; i < daemon->n_signals; i++)
		uv_unref((uv_handle_t *)&daemon->signals[i]);
}

void signals_close(struct daemon *daemon)
{
	for (size_t i = 0; i < daemon->n_signals; i++)
		uv_close((uv_handle_t *)&daemon->signals[i], NULL);
}
