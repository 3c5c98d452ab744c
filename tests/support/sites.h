/* SPDX-License-Identifier: MIT */
/*
 * An application in a Check test: a handle at a real plugind, sites, and calls whose
 * results are known. Whatever fails fails the test.
 */
#ifndef TESTS_SUPPORT_SITES_H
#define TESTS_SUPPORT_SITES_H

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kplug/host.h"
#include "tests/support/guarded.h"
#include "tests/support/oracle.h"
#include "tests/support/plugind.h"

static struct plugind plugind;

static inline struct kp_error fresh(void)
{
	return (struct kp_error){.size = (uint32_t)sizeof(struct kp_error)};
}

#define must(call)                                                                       \
	do {                                                                             \
		int must_status = (call);                                                \
		ck_assert_msg(must_status == KP_OK, "%s: %d: %s", #call, must_status,    \
			error.text);                                                     \
	} while (0)

/* Opens as this name with further flags. */
static inline struct kp_handle *open_as(const char *name, uint32_t flags)
{
	struct kp_error error = fresh();
	struct kp_options options = {.size = (uint32_t)sizeof(options)};
	struct kp_handle *handle = NULL;

	options.flags |= flags;
	options.socket = plugind.socket;
	options.name = name;
	must(kp_open(&options, &handle, &error));
	ck_assert_ptr_nonnull(handle);
	return handle;
}

static inline struct kp_site *site_of(
	struct kp_handle *handle, struct kp_site_options options)
{
	struct kp_error error = fresh();
	struct kp_site *site = NULL;

	options.size = (uint32_t)sizeof(options);
	must(kp_site_new(handle, &options, &site, &error));
	return site;
}

/* A call of gemm/mm with m = n = k, f32, and what it should give. */
enum { EDGE = 24 };
struct product {
	struct guarded a, b, c;
	const struct kp_tensor *list[3];
	double *expected;
	struct kp_call call;
	struct kp_error error;
};

static inline void product_init(struct product *product, uint8_t code, int64_t edge)
{
	const int64_t extents[] = {edge, edge};

	guarded_init(&product->a, code, GUARDED_ROWS, 2, extents);
	guarded_init(&product->b, code, GUARDED_ROWS, 2, extents);
	guarded_init(&product->c, code, GUARDED_ROWS, 2, extents);
	guarded_fill(&product->a, 1);
	guarded_fill(&product->b, 2);
	product->list[0] = &product->a.tensor;
	product->list[1] = &product->b.tensor;
	product->list[2] = &product->c.tensor;
	product->expected = oracle_compute("gemm/mm", product->list, 3, NULL);
	product->error = fresh();
	product->call = (struct kp_call){
		.n_tensors = 3, .tensors = product->list, .error = &product->error};
}

static inline void product_finish(struct product *product)
{
	guarded_finish(&product->a);
	guarded_finish(&product->b);
	guarded_finish(&product->c);
	free(product->expected);
}

/* The site that it ran at is gone: it may run at another. */
static inline void product_release(struct product *product)
{
	product->call.host = NULL;
	product->call.attrs = NULL;
	product->call.n_attrs = 0;
}

/* Runs it; false where the result is wrong. */
static inline bool product_run(struct kp_site *site, struct product *product)
{
	int status;

	for (int64_t i = 0; i < product->c.count; i++)
		guarded_set(&product->c, i, 1e30);
	status = kp_run(site, &product->call);
	ck_assert_msg(status == KP_OK, "%d: %s", status, product->error.text);
	double off = guarded_distance(&product->c, product->expected);
	return off < (product->c.bytes == 2 ? 1e-2 : 1e-5);
}

/* The kernel for a shape of gemm/mm. */
static inline void runs(struct kp_site *site, const char *kernel)
{
	const int64_t dims[] = {EDGE, EDGE, EDGE};
	const char *name = kp_site_kernel(site, dims);

	ck_assert_msg(name && strcmp(name, kernel) == 0, "runs %s, not %s",
		name ? name : "nothing", kernel);
}

/* The plugin of the kernel for that shape; valid until the next call. */
static inline const char *plugin_of(struct kp_site *site)
{
	const int64_t dims[] = {EDGE, EDGE, EDGE};
	static char plugin[128];
	const char *name = kp_site_kernel(site, dims);

	ck_assert_ptr_nonnull(name);
	snprintf(plugin, sizeof(plugin), "%.*s", (int)strcspn(name, "/"), name);
	return plugin;
}

#endif
