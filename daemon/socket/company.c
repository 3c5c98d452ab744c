/* SPDX-License-Identifier: MIT */
/* A timer that runs while nobody is here. */
#include "daemon/socket/company.h"

#include <stdlib.h>
#include <uv.h>

#include "daemon/daemon.h"

enum {
	FIRST_MS = 10000, /* to the first client, which has just started us */
	NEXT_MS = 100,	  /* a client may come back at once, or send another one */
};

struct company {
	uv_timer_t timer;
	struct daemon *daemon;
};

static void on_alone(uv_timer_t *timer)
{
	struct company *company = timer->data;
	daemon_end(company->daemon, "no client is left");
}

struct company *company_new(struct daemon *daemon)
{
	struct company *company = calloc(1, sizeof(*company));

	if (!company)
		return NULL;
	company->daemon = daemon;
	company->timer.data = company;
	(void)uv_timer_init(&daemon->loop, &company->timer);
	(void)uv_timer_start(&company->timer, on_alone, FIRST_MS, 0);
	return company;
}

void company_count(struct company *company, size_t clients)
{
	if (!company)
		return;
	if (clients > 0)
		(void)uv_timer_stop(&company->timer);
	else
		(void)uv_timer_start(&company->timer, on_alone, NEXT_MS, 0);
}

static void on_closed(uv_handle_t *handle)
{
	free(handle->data);
}

void company_close(struct company *company)
{
	if (company)
		uv_close((uv_handle_t *)&company->timer, on_closed);
}
