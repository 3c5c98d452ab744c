/* SPDX-License-Identifier: MIT */
/* A queue, and a handle that is called in each round of the loop while it is not empty.
 */
#include "daemon/socket/turns.h"

#include <stdlib.h>

static const uint64_t round_ns = 5000000;

struct turns {
	uv_idle_t idle;
	TAILQ_HEAD(, turn) waiting;
};

static void on_round(uv_idle_t *idle)
{
	struct turns *turns = idle->data;
	uint64_t end = uv_hrtime() + round_ns;
	struct turn *turn;

	while ((turn = TAILQ_FIRST(&turns->waiting)) && uv_hrtime() < end) {
		turns_leave(turns, turn);
		turn->come(turn);
	}
}

bool turns_are_taken(const struct turns *turns)
{
	return !TAILQ_EMPTY(&turns->waiting);
}

void turns_wait(struct turns *turns, struct turn *turn)
{
	if (turn->waits)
		return;
	turn->waits = true;
	TAILQ_INSERT_TAIL(&turns->waiting, turn, link);
	(void)uv_idle_start(&turns->idle, on_round);
}

void turns_leave(struct turns *turns, struct turn *turn)
{
	if (!turn->waits)
		return;
	turn->waits = false;
	TAILQ_REMOVE(&turns->waiting, turn, link);
	if (TAILQ_EMPTY(&turns->waiting))
		(void)uv_idle_stop(&turns->idle);
}

struct turns *turns_new(uv_loop_t *loop)
{
	struct turns *turns = calloc(1, sizeof(*turns));

	if (!turns)
		return NULL;
	TAILQ_INIT(&turns->waiting);
	(void)uv_idle_init(loop, &turns->idle);
	turns->idle.data = turns;
	return turns;
}

static void on_closed(uv_handle_t *handle)
{
	free(handle->data);
}

void turns_close(struct turns *turns)
{
	if (turns)
		uv_close((uv_handle_t *)&turns->idle, on_closed);
}
