/* SPDX-License-Identifier: MIT */
/*
 * libkplug: the selected kernel as a function pointer, in the application's own
 * process, following the operator's decisions while it runs.
 *
 *	struct kp_handle *kplug;
 *	struct kp_site *site;
 *
 *	kp_open(NULL, &kplug, &error);
 *	kp_site_new(kplug, &(struct kp_site_options){KP_SIZED(struct kp_site_options),
 *		.operation = "gemm/mm", .label = "ffn.up"}, &site, &error);
 *	kp_run(site, &call);
 *	kp_site_free(site);
 *	kp_close(kplug);
 *
 * A site is a place in the program that calls an operation: what does not vary is
 * said once, and the kernel is found once; a call is then a comparison and an
 * indirect call. When an operator disables the kernel, pins another or installs a
 * better one, the next call runs the new choice (KP_ADOPT_NOW), or the first after
 * kp_step (KP_ADOPT_AT_STEP). While plugind is away everything goes on as it was.
 *
 * Errors: functions return enum kp_status of kplug/plugin.h and, where they have a
 * struct kp_error that is not NULL, say in its text what is wrong with what and what to
 * do. What they make is valid only with KP_OK.
 *
 * Threads: a handle and its sites may be used by any number of threads at once; freeing
 * and closing must not meet a use. A struct kp_call belongs to one thread at a time.
 * Signals: unless KP_NO_SIGNALS says otherwise, the first handle puts handlers for SEGV,
 * BUS, FPE, ILL and ABRT before those that are installed, which are called as ever, and
 * gives threads that call an alternate stack where they have none; the last kp_close
 *takes them out. They only note which kernel was running: plugind tells who crashed whom.
 *A handler that is installed later should pass on to the one that it finds. After fork
 *the child must not use handles of its parent: calls return KP_INVALID
 * ("forked"); kp_open makes a new one.
 *
 * Ownership: strings and structs that are passed in are copied unless it is said
 * otherwise. Memory that is handed out is freed by the function that is named.
 *
 * C99 and later, C++11 and later; kplug/host.hpp is the same for C++17 with owners and
 * exceptions. tests/examples/decoder.c is a whole program.
 */
#ifndef KPLUG_HOST_H
#define KPLUG_HOST_H

#include <kplug/plugin.h>

#ifdef __cplusplus
extern "C" {
#endif

struct kp_handle;

/* Low bits of kp_options.flags. */
enum kp_open_flag {
	/* Only a plugind that listens already: start no private one. KP_UNAVAILABLE. */
	KP_NO_DAEMON = 1u << 0,
	/* A change is adopted at the next kp_step of the handle, by all sites at once. */
	KP_ADOPT_AT_STEP = 1u << 1,
	/* Leave signal handlers alone: a crash is then `unattributed` where the kernel
	 * does not say which signal ended the process. */
	KP_NO_SIGNALS = 1u << 2
};
#define KP_ADOPT_NOW 0u

/*
 * How to open. All members may be zero.
 *
 * socket:  of plugind; NULL: $KPLUG_SOCKET, the system's, the user's, and where nobody
 *          listens a private plugind of this user is started, which ends with its last
 *          client.
 * name:    what `pluginctl clients` calls this application; NULL: its program's name.
 * log:     where remarks go (levels as in kp_host.log); NULL: as $KPLUG_LOG says, else
 *          nowhere. Called by any thread, never inside a kernel's call.
 * threads: of parallel_for, the caller's included; 0: one.
 */
struct kp_options {
	uint32_t size;
	uint32_t flags;
	const char *socket;
	const char *name;
	void (*log)(void *context, int level, const char *text);
	void *log_context;
	uint32_t threads;
	uint32_t reserved;
};

/*
 * Attaches to plugind: KP_UNAVAILABLE where none can be reached, with what was tried.
 * One that has just started, and remembers no earlier run, is given 5 s to look at its
 * plugins. options may be NULL.
 */
int kp_open(const struct kp_options *options, struct kp_handle **handle,
	struct kp_error *error);
/* Sites that are left are freed; plans and weights must have been. NULL is fine. */
void kp_close(struct kp_handle *handle);

/*
 * Adopts what has changed since the last step (KP_ADOPT_AT_STEP); without that flag
 * it does nothing. *changed (may be NULL) is set to how many sites run another kernel.
 */
int kp_step(struct kp_handle *handle, uint32_t *changed, struct kp_error *error);

/* The generation of decisions that this handle has seen; 0: none yet. */
uint64_t kp_generation(const struct kp_handle *handle);
/* Is plugind there now? Everything works while it is not. */
int kp_is_attached(const struct kp_handle *handle);

/*
 * A digest of all decisions for a device ("cpu", "gpu:...", NULL: all), computed by
 * plugind: 64 hexadecimal digits and a NUL. Equal on machines that decide alike.
 */
int kp_fingerprint(struct kp_handle *handle, const char *device, char digest[65],
	struct kp_error *error);

/* ---- devices ------------------------------------------------------------------- */

/*
 * Tells of a device that the application has opened: type, id, uuid, context (which is
 * current when kernels for it are called). libkplug never opens one. The CPU is known
 * without. The id that is returned names it in sites; it is valid until kp_close.
 */
int kp_device_add(struct kp_handle *handle, const struct kp_device *device, uint32_t *id,
	struct kp_error *error);
/* Kernels return KP_DEVICE_LOST from now on; what they had loaded is given up. */
int kp_device_lost(struct kp_handle *handle, uint32_t id);

/* ---- sites --------------------------------------------------------------------- */

/* The extents that a dim may have at a site, ends included. */
struct kp_range {
	const char *dim;
	int64_t least, most;
};

/* An attribute or trait: which member holds is said by kind ('i', 'f', 's', 'b'). */
struct kp_named {
	const char *name;
	char kind;
	char reserved[7];
	union {
		int64_t i; /* 'i'; 'b': 0 or 1 */
		double f;
		const char *s;
	} value;
};

enum kp_site_flag {
	/* One kernel over the whole range, or none. */
	KP_SITE_STABLE = 1u << 0,
	/* The application has checked the arguments: they are not checked again. */
	KP_SITE_CHECKED = 1u << 1,
	/* Calls are captured into graphs: only kernels with the flag capturable. */
	KP_SITE_CAPTURED = 1u << 2
};

/*
 * What is fixed at a site. operation alone is required.
 *
 * signature: as `pluginctl select --sig`; NULL: the family's.
 * values:    attributes and traits of the family, n_values of them.
 * ranges:    dims that are bounded here; others may have any extent.
 * device:    of kp_device_add; 0 is the CPU.
 * solution, override: as in `pluginctl select`.
 * label:     names the site in `pluginctl clients`, incidents and logs.
 * guard_every: one call in so many is computed again by the family's reference, in part
 *            and on copies, and compared; what differs is an incident (pluginctl
 *            incidents). CPU devices only, never with KP_SITE_CAPTURED; calls then go
 *            the whole way. 0: as the operator says (pluginctl guard).
 */
struct kp_site_options {
	uint32_t size;
	uint32_t flags; /* enum kp_site_flag */
	const char *operation;
	const char *signature;
	const char *label;
	const char *solution;
	const char *override_with; /* a kernel or solution */
	const struct kp_named *values;
	const struct kp_range *ranges;
	uint32_t n_values, n_ranges;
	uint32_t device;
	uint32_t guard_every;
};

/*
 * Where a thread says which kernel it is in: plugind reads it when the process is dead.
 * The last members are written by the handlers of fatal signals.
 */
#define KP_SLOT_OWN 1u /* in kernel: a kernel of the application's own */
struct kp_slot {
	uint64_t kernel;  /* 0: in none */
	uint64_t signal;  /* that came inside the kernel; 0: none, or it went on */
	uint64_t thread;  /* its id */
	uint64_t address; /* of the fault */
	char label[32];	  /* of the site, cut */
};

/* What a rung of the ladder runs. Immutable; never freed before its site. */
struct kp_rung {
	int (*run)(const struct kp_call *call);
	void *state, *device_state;
	uint64_t kernel;  /* as in kp_slot */
	const char *name; /* "plugin/kernel" */
};

/*
 * The first members are for the functions below; the rest is libkplug's own. `now` is
 * the generation that is in force, a word that plugind writes. `seen` is the one that
 * `rung` was chosen for, or none where calls must go the whole way: the kernel depends on
 * the dims, needs workspace or is not reentrant, arguments are checked, the guard or a
 * profiler is on.
 */
struct kp_site {
	const uint64_t *now;
	uint64_t seen;
	const struct kp_rung *rung;
};

/* Resolves nothing yet: the first call, or kp_warm, does. KP_INVALID for what the
 * family does not describe, with the nearest name. */
int kp_site_new(struct kp_handle *handle, const struct kp_site_options *options,
	struct kp_site **site, struct kp_error *error);
void kp_site_free(struct kp_site *site);

/* What kp_warm found. */
struct kp_warmth {
	uint32_t size;
	uint32_t flags;
	uint64_t workspace_bytes; /* enough for every rung of all these sites */
	uint64_t workspace_align;
	uint32_t n_rungs;
	uint32_t n_unsupported;	 /* rungs for which nothing is eligible */
	uint32_t n_uncapturable; /* rungs whose kernel cannot be captured */
	uint32_t reserved;
};

/*
 * Resolves every rung of the sites, loads the code and calls `load` for the device, so
 * that no later call does. KP_OK although some rungs have no kernel: see *warmth (may be
 * NULL).
 */
int kp_warm(struct kp_site *const *sites, uint32_t n_sites, struct kp_warmth *warmth,
	struct kp_error *error);

/*
 * "plugin/kernel" that a call with these extents would run (dims in the family's order,
 * NULL: the least of the ranges), valid until the site is freed; NULL: none.
 */
const char *kp_site_kernel(struct kp_site *site, const int64_t *dims);
/* How it was decided, as the JSON of `pluginctl why --json`; free with kp_free. */
char *kp_site_why(struct kp_site *site, const int64_t *dims, struct kp_error *error);

/* ---- calls ----------------------------------------------------------------------- */

/* The slot of this thread; NULL where its next call must go the whole way. */
#if defined(__GNUC__)
extern __thread struct kp_slot *kp_thread_slot __attribute__((tls_model("initial-exec")));
#endif

/* The whole way: another generation, several rungs, checks, workspace, the guard. */
int kp_run_slow(struct kp_site *site, struct kp_call *call);
/* What a status other than KP_OK means for the site; returns one that kplug knows. */
int kp_run_failed(struct kp_site *site, const struct kp_call *call, int status);

/*
 * Calls the site's kernel. The caller zeroes the call, or has it filled by kp_call_init,
 * and sets tensors, n_tensors, stream, workspace and its size, error; attrs and n_attrs
 * where they are not those of the site; the plan by kp_plan_use. From its first run on
 * the call belongs to the site. On a CPU a kernel that wants more workspace than the
 * call has gets it from libkplug. Statuses are the kernel's; KP_INVALID where an argument
 * does not fit the family, KP_UNSUPPORTED where no kernel is eligible.
 */
static inline int kp_run(struct kp_site *site, struct kp_call *call)
{
#if defined(__GNUC__)
	const uint64_t now = __atomic_load_n(site->now, __ATOMIC_RELAXED);
	struct kp_slot *slot = kp_thread_slot;

	if (__builtin_expect(now == __atomic_load_n(&site->seen, __ATOMIC_ACQUIRE) &&
				     slot && call->host,
		    1)) {
		const struct kp_rung *rung =
			__atomic_load_n(&site->rung, __ATOMIC_RELAXED);
		/* No other kernel calls any: this one is left, however it was. */
		const uint64_t outer = slot->kernel & KP_SLOT_OWN;
		int status;

		/* Both at once. */
		__builtin_memcpy(&call->state, &rung->state, 2 * sizeof(void *));
		__atomic_store_n(&slot->kernel, rung->kernel, __ATOMIC_RELAXED);
		__asm__ volatile("" ::: "memory");
		status = rung->run(call);
		__asm__ volatile("" ::: "memory");
		__atomic_store_n(&slot->kernel, outer, __ATOMIC_RELAXED);
		if (__builtin_expect(status != KP_OK, 0))
			status = kp_run_failed(site, call, status);
		return status;
	}
#endif
	return kp_run_slow(site, call);
}

/*
 * The same for whole, contiguous tensors: a data pointer a role in the family's order
 * (NULL: absent), and an extent a dim in the family's order.
 */
int kp_run_dense(struct kp_site *site, void *const *data, const int64_t *dims,
	void *stream, struct kp_error *error);

/* Fills what does not change from call to call: size, host, device, attrs of the site. */
int kp_call_init(struct kp_site *site, struct kp_call *call);

/* ---- what holds a kernel ------------------------------------------------------------
 */

/*
 * A graph that was captured holds the kernels that are in it: `disable` says so until
 * it is released. kernel is what kp_site_kernel said.
 */
int kp_hold(
	struct kp_site *site, const char *what, uint64_t *hold, struct kp_error *error);
int kp_release(struct kp_handle *handle, uint64_t hold);

/*
 * A plan for irregular work, made once a step (kp_kernel.plan). Belongs to one kernel
 * and generation: kp_run with it says KP_STALE once another one is in force.
 */
struct kp_plan;
int kp_plan_new(struct kp_site *site, const struct kp_call *call, struct kp_plan **plan,
	struct kp_error *error);
int kp_plan_use(const struct kp_plan *plan, struct kp_call *call);
void kp_plan_free(struct kp_plan *plan);

/*
 * A weight laid out for the kernel that the site runs (kp_kernel.prepare); the tensor of
 * the role as it is when the kernel has no layout of its own. Holds the kernel.
 */
struct kp_weight;
int kp_weight_new(struct kp_site *site, const char *role, const struct kp_tensor *tensor,
	struct kp_weight **weight, struct kp_error *error);
const struct kp_tensor *kp_weight_tensor(const struct kp_weight *weight);
void kp_weight_free(struct kp_weight *weight);

/* ---- deciding ------------------------------------------------------------------- */

/*
 * A request and its answer as JSON, as `pluginctl select --json` and `why --json` have
 * them, decided in this process. The request is the Request of the protocol. free with
 * kp_free.
 */
int kp_decide(struct kp_handle *handle, const char *request, char **reply,
	struct kp_error *error);
int kp_why(struct kp_handle *handle, const char *request, char **reply,
	struct kp_error *error);
void kp_free(void *memory);

/*
 * The contract of an operation as JSON, the content of its file: roles, dims, attributes
 * and more, for programs that are not written for one operation; `null` where no family
 * describes it, KP_INVALID with the nearest name where nobody has it. free with kp_free.
 */
int kp_describe(struct kp_handle *handle, const char *operation, char **family,
	struct kp_error *error);

/*
 * An override for all sites of the operation that this thread (thread != 0) or the
 * handle has from now on, until its end: kernel or solution. Scopes nest; the innermost
 * holds; they end in any order. Strength: a site's own, then scopes of the thread, then
 * of the handle, then the environment, then the operator's pin.
 */
int kp_scope_begin(struct kp_handle *handle, const char *operation, const char *choice,
	int thread, uint64_t *scope, struct kp_error *error);
int kp_scope_end(struct kp_handle *handle, uint64_t scope);

/*
 * A kernel of this process alone: ranked and explained like any other, as "local/NAME",
 * never told to anybody. note is a kernel's object as in a plugin's note (JSON); vtable
 * must stay valid until kp_local_remove has returned.
 */
int kp_local_add(struct kp_handle *handle, const char *note,
	const struct kp_kernel *vtable, struct kp_error *error);
int kp_local_remove(struct kp_handle *handle, const char *name, struct kp_error *error);

/*
 * Called around each call of a kernel where it is set: for profilers. `leave` gets the
 * status. NULL ends it. Threads: any.
 */
struct kp_profiler {
	uint32_t size;
	uint32_t flags;
	void *context;
	void (*enter)(void *context, const char *label, const char *kernel,
		const struct kp_call *call);
	void (*leave)(void *context, const char *label, const char *kernel,
		const struct kp_call *call, int status);
};
int kp_profile(struct kp_handle *handle, const struct kp_profiler *profiler);

#ifdef __cplusplus
}
#endif

#endif
