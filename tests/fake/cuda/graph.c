/* SPDX-License-Identifier: MIT */
/* Graphs: lists of recorded work, and what runs them again. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "tests/fake/cuda/fake.h"

/* An instance of a graph has its own copies: the graph may go before it. */
struct fake_exec {
	struct fake_exec *next;
	struct fake_list list;
};

static struct fake_exec *execs;

static int copy_list(const struct fake_list *from, struct fake_list *to)
{
	fake_list_init(to);
	for (const struct fake_work *work = from->first; work; work = work->next) {
		struct fake_work *made = malloc(sizeof(*made));

		if (!made)
			return FAKE_OUT_OF_MEMORY;
		*made = *work;
		made->next = NULL;
		*to->end = made;
		to->end = &made->next;
		if (!work->data)
			continue;
		made->data = malloc(work->bytes ? work->bytes : 1);
		if (!made->data)
			return FAKE_OUT_OF_MEMORY;
		memcpy(made->data, work->data, work->bytes);
	}
	return FAKE_OK;
}

int cuGraphInstantiateWithFlags(
	struct fake_exec **exec, const struct fake_list *graph, unsigned long long flags)
{
	FAKE_CALL_IN_CONTEXT();
	(void)flags;
	struct fake_exec *made = graph ? calloc(1, sizeof(*made)) : NULL;

	if (!made)
		return FAKE_INVALID_VALUE;
	int result = copy_list(graph, &made->list);

	if (result != FAKE_OK) {
		fake_list_free(&made->list);
		free(made);
		return result;
	}
	made->next = execs;
	execs = made;
	*exec = made;
	return FAKE_OK;
}

static struct fake_exec **find(const struct fake_exec *exec)
{
	struct fake_exec **at = &execs;

	while (*at && *at != exec)
		at = &(*at)->next;
	return at;
}

static void run_exec(struct fake_work *work)
{
	struct fake_exec *exec = work->to;

	fake_list_run(&exec->list);
}

int cuGraphLaunch(struct fake_exec *exec, struct fake_stream *stream)
{
	FAKE_CALL_IN_CONTEXT();
	if (!*find(exec))
		return FAKE_INVALID_HANDLE;
	return fake_submit(stream, &(struct fake_work){.run = run_exec, .to = exec});
}

int cuGraphUpload(struct fake_exec *exec, struct fake_stream *stream)
{
	FAKE_CALL_IN_CONTEXT();
	return *find(exec) && fake_stream_is(stream) ? FAKE_OK : FAKE_INVALID_HANDLE;
}

/* Only counts: with nodes it would hand out what nothing here understands. */
int cuGraphGetNodes(const struct fake_list *graph, void **nodes, size_t *count)
{
	FAKE_CALL_IN_CONTEXT();
	if (!graph || nodes)
		return FAKE_INVALID_VALUE;
	*count = 0;
	for (const struct fake_work *work = graph->first; work; work = work->next)
		++*count;
	return FAKE_OK;
}

static void drop(struct fake_exec **at)
{
	struct fake_exec *exec = *at;

	*at = exec->next;
	fake_list_free(&exec->list);
	free(exec);
}

int cuGraphExecDestroy(struct fake_exec *exec)
{
	FAKE_CALL_IN_CONTEXT();
	struct fake_exec **at = find(exec);

	if (!*at)
		return FAKE_INVALID_HANDLE;
	fake_run_queue();
	drop(at);
	return FAKE_OK;
}

int cuGraphDestroy(struct fake_list *graph)
{
	FAKE_CALL_IN_CONTEXT();
	if (!graph)
		return FAKE_INVALID_VALUE;
	fake_list_free(graph);
	free(graph);
	return FAKE_OK;
}

void fake_graph_reset(void)
{
	while (execs)
		drop(&execs);
}
