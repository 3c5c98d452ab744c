/* SPDX-License-Identifier: MIT */
/* A list, the latest first. */
#include "daemon/scan/tickets.h"

#include <stdlib.h>

struct ticket {
	struct ticket *next;
	scan_done_fn *done;
	void *context;
};

int tickets_add(struct ticket **tickets, scan_done_fn *done, void *context)
{
	struct ticket *ticket = malloc(sizeof(*ticket));

	if (!ticket)
		return -1;
	*ticket = (struct ticket){*tickets, done, context};
	*tickets = ticket;
	return 0;
}

void tickets_answer(struct ticket **tickets, const struct scan_result *result)
{
	struct ticket *ticket = *tickets;

	*tickets = NULL;
	while (ticket) {
		struct ticket *next = ticket->next;
		ticket->done(ticket->context, result);
		free(ticket);
		ticket = next;
	}
}
