/* SPDX-License-Identifier: MIT */
/* Where along a dim a ladder's mask may change. */
#include <stdlib.h>

#include "lib/host/ladder_step.h"

struct points {
	int64_t *items;
	size_t count;
	int64_t least, most;
};

static void add_point(struct points *points, double value)
{
	if (!(value >= (double)points->least && value <= (double)points->most))
		return;
	int64_t extent = (int64_t)value;
	for (size_t i = 0; i < points->count; i++)
		if (points->items[i] == extent)
			return;
	if (points->count < KP_LADDER_POINTS)
		points->items[points->count++] = extent;
}

/* The whole number below; what is no extent anyway becomes an edge. */
static double whole(double value, const struct points *points)
{
	if (!(value > (double)points->least))
		return (double)points->least;
	if (!(value < (double)points->most))
		return (double)points->most;
	return (double)(int64_t)value;
}

static void add_around(struct points *points, double value)
{
	double at = whole(value, points);

	add_point(points, at - 1);
	add_point(points, at);
	add_point(points, at + 1);
}

static void add_edges(struct points *points, const struct kp_step_of *step)
{
	if (step->trait.has_min)
		add_around(points, step->trait.min);
	if (step->trait.has_max)
		add_around(points, step->trait.max);
	for (size_t i = 0; i < step->n_in; i++)
		add_around(points, step->in[i]);
}

/* The multiples next to each edge, and what is beside them. */
static void add_multiples(struct points *points, double of)
{
	size_t edges = points->count;

	for (size_t i = 0; of >= 1 && i < edges; i++) {
		double times = (double)(int64_t)((double)points->items[i] / of);
		add_around(points, times * of);
		add_around(points, (times + 1) * of);
	}
}

static bool is_of(const struct kp_step_of *step, size_t dim)
{
	return kp_source_is_dim(&step->source) && step->source.times[0].dim == (int)dim;
}

static int compare(const void *a, const void *b)
{
	const int64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

size_t kp_ladder_points(const struct kp_ladder *ladder, size_t dim,
	const struct kp_bounds *bounds, int64_t *items)
{
	struct points points = {items, 0, bounds->least[dim], bounds->most[dim]};

	add_point(&points, (double)points.least);
	add_point(&points, (double)points.most);
	for (size_t i = 0; i < ladder->count; i++)
		if (is_of(&ladder->steps[i], dim))
			add_edges(&points, &ladder->steps[i]);
	for (size_t i = 0; i < ladder->count; i++)
		if (is_of(&ladder->steps[i], dim) && ladder->steps[i].trait.has_multiple)
			add_multiples(&points, ladder->steps[i].trait.multiple_of);
	qsort(items, points.count, sizeof(*items), compare);
	return points.count;
}
