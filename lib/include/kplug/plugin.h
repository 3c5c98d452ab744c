/* SPDX-License-Identifier: MIT */
/*
 * The plugin ABI of kplug, version 0: all that a plugin sees of kplug.
 *
 * A plugin is one shared object. It embeds one JSON text, the note, with
 * KPLUG_PLUGIN_NOTE("plugin.json"), and exports one symbol, the constant
 * `kplug_plugin`. The note says what the plugin has; the constant says where
 * the functions are. Names in both must match exactly.
 *
 * Rules that hold for every struct but kp_tensor and kp_value:
 * - it starts with `size` (sizeof when it was compiled) and `flags`;
 * - it grows only at its end and has no tail padding;
 * - a field is used only if `size` covers it and, for a pointer, it is not NULL;
 * - the low 16 bits of `flags` must be understood by the reader, which refuses
 *   what it does not know; the high 16 bits are hints that may be ignored.
 *
 * C99 and later, C++11 and later. No function of kplug is linked: a plugin has
 * no undefined symbol that starts with `kp_`.
 */
#ifndef KPLUG_PLUGIN_H
#define KPLUG_PLUGIN_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define KP_ABI_MAJOR 0u
#define KP_ABI_MINOR 0u

/*
 * What a function of a plugin returns. Values never change meaning. A value
 * that is not listed here is reported as KP_RUNTIME, the raw number kept.
 */
enum kp_status {
	KP_OK = 0,	    /* done; for run on a device: enqueued */
	KP_INVALID = 1,	    /* an argument is wrong */
	KP_UNSUPPORTED = 2, /* a right argument that this kernel does not handle */
	KP_UNAVAILABLE = 3, /* a library, a device or a feature is missing here */
	KP_NO_MEMORY = 4,   /* memory of the host or the device is exhausted */
	KP_RUNTIME = 5,	    /* failed; native_code and text say how */
	KP_DEVICE_LOST = 6, /* the device is unusable for this process from now on */
	KP_STALE = 7,	    /* the plan belongs to another kernel or generation */
	KP_CANCELLED = 8    /* the host asked to stop */
};

/* Device types, the numbers of DLPack 1.2 (DLDeviceType). */
enum kp_device_type { KP_DEVICE_CPU = 1, KP_DEVICE_CUDA = 2, KP_DEVICE_ROCM = 10 };

/* Type codes of kp_dtype, the numbers of DLPack 1.2 (DLDataTypeCode). */
enum kp_dtype_code {
	KP_CODE_INT = 0,
	KP_CODE_UINT = 1,
	KP_CODE_FLOAT = 2,
	KP_CODE_BFLOAT = 4,
	KP_CODE_BOOL = 6,
	KP_CODE_F8_E4M3FN = 10,
	KP_CODE_F8_E5M2 = 12
};

/* Laid out as DLPack's DLDevice and DLDataType. */
struct kp_place {
	int32_t type; /* enum kp_device_type */
	int32_t id;
};

struct kp_dtype {
	uint8_t code; /* enum kp_dtype_code */
	uint8_t bits;
	uint16_t lanes; /* 1 */
};

/*
 * A tensor: exactly DLPack's DLTensor, frozen. kplug narrows it: byte_offset
 * is 0, strides is never NULL and counts elements, types below a byte are
 * packed and their dims are logical. The host owns data, shape and strides; a
 * plugin keeps no pointer to them after the call (device work that was
 * enqueued may still read and write data).
 */
struct kp_tensor {
	void *data;
	struct kp_place device;
	int32_t ndim;
	struct kp_dtype dtype;
	int64_t *shape;
	int64_t *strides;
	uint64_t byte_offset;
};

/* The value of an attribute; the family says which member. bool is i, 0 or 1. */
union kp_value {
	int64_t i;
	double f;
	const void *p;
};

/*
 * Where a function reports what went wrong. The caller owns it and has set
 * size and zeroed the rest. text is UTF-8 and ends with a NUL inside the array;
 * a reader cuts and escapes what is not.
 */
struct kp_error {
	uint32_t size;
	uint32_t flags;
	int32_t status;	     /* enum kp_status, or the raw number */
	uint32_t reserved;   /* 0 */
	int64_t native_code; /* of the library that failed (CUresult, errno, ...), or 0 */
	char text[488];
};

/*
 * A device. context is the application's own (CUcontext, hipCtx_t), already
 * current; a plugin never creates or switches one. uuid is zero for a CPU.
 */
struct kp_device {
	uint32_t size;
	uint32_t flags;
	int32_t type; /* enum kp_device_type */
	int32_t id;
	uint8_t uuid[16];
	void *context;
};

/*
 * Services of the host. context is passed back as it is. Functions may be NULL.
 *
 * log:          level is 0 error, 1 warning, 2 info, 3 debug; text is UTF-8.
 * scratch:      memory that is valid until the current call returns; NULL when
 *               exhausted. align is a power of two. Not for device memory.
 * parallel_for: runs task(arg, i) for i in [0, n) on the host's threads, the
 *               caller's among them, and returns when all are done: KP_OK, or
 *               the status of the lowest index that failed. Tasks do not nest.
 * cancelled:    not 0 when the call should return KP_CANCELLED soon.
 */
struct kp_host {
	uint32_t size;
	uint32_t flags;
	void *context;
	void (*log)(void *context, int level, const char *text);
	void *(*scratch)(void *context, size_t bytes, size_t align);
	int (*parallel_for)(
		void *context, uint64_t n, int (*task)(void *arg, uint64_t i), void *arg);
	int (*cancelled)(void *context);
};

/*
 * The one argument of every kernel function. Everything in it belongs to the
 * host and is valid until the function returns.
 *
 * tensors:    one pointer a role, in the family's order; NULL is an absent
 *             optional role. n_tensors may be smaller than the roles of a later
 *             revision of the family: what is not covered is absent.
 * attrs:      one value an attribute, in the family's order.
 * state:      what `start` returned, or NULL where `start` was not called.
 * device_state: what `load` returned for this device, or NULL.
 * stream:     CUstream, hipStream_t; NULL on a CPU.
 * workspace, plan: device memory of at least the sizes that `need` asked for;
 * host_plan:  host memory, likewise. NULL when the size is 0.
 */
struct kp_call {
	uint32_t size;
	uint32_t flags;
	uint32_t n_tensors;
	uint32_t n_attrs;
	const struct kp_tensor *const *tensors;
	const union kp_value *attrs;
	struct kp_error *error;
	const struct kp_host *host;
	const struct kp_device *device;
	void *state;
	void *device_state;
	void *stream;
	void *workspace;
	void *plan;
	void *host_plan;
	uint64_t workspace_bytes;
	uint64_t plan_bytes;
	uint64_t host_plan_bytes;
	uint64_t generation; /* of the decision; a plan of another one is KP_STALE */
};

/*
 * Memory that a call wants: bytes, and alignment as a power of two (0 is 1).
 * Never falls as a dim grows, since the host asks once for the largest shape.
 */
struct kp_need {
	uint32_t size;
	uint32_t flags;
	uint64_t workspace_bytes;
	uint64_t workspace_align;
	uint64_t plan_bytes;
	uint64_t plan_align;
	uint64_t host_plan_bytes;
	uint64_t host_plan_align;
};

/* A weight laid out for one kernel: what `prepare` will write. */
struct kp_prepared {
	uint32_t size;
	uint32_t flags;
	uint64_t bytes;
	uint64_t align;
	uint64_t layout; /* identifies the layout; equal ids are interchangeable */
};

/*
 * A kernel's functions. Only run is required. All may be called from any
 * thread, `run` from several at a time only with the flag reentrant.
 *
 * run:       enqueues the operation on call->stream and returns; on a CPU it is
 *            done on return. Never synchronizes, allocates, loads code, reads
 *            tensor data of a device on the host, leaves its stream or changes
 *            the current context.
 * available: can this kernel run on this machine? KP_OK, or KP_UNAVAILABLE with
 *            the cause in error->text. device is NULL when no device is meant.
 *            Called in probes, before `start`: touches nothing that stays.
 * load:      once per device before any call or capture; may compile, allocate,
 *            open libraries. *device_state is NULL before and is used only with
 *            KP_OK. unload takes it back.
 * need:      memory for calls like this one; data pointers are NULL.
 * plan:      once per step, for irregular work: fills call->plan, host_plan.
 * prepared:  shape of what `prepare` will write for the role with this index.
 * prepare:   lays a weight out at `out` (prepared->bytes, aligned).
 * backward:  gradients; roles as the family describes them.
 */
struct kp_kernel {
	uint32_t size;
	uint32_t flags;
	int (*run)(const struct kp_call *call);
	int (*available)(const struct kp_device *device, struct kp_error *error);
	int (*load)(void *state, const struct kp_device *device, void **device_state,
		struct kp_error *error);
	void (*unload)(void *state, void *device_state);
	int (*need)(const struct kp_call *call, struct kp_need *need);
	int (*plan)(const struct kp_call *call);
	int (*prepared)(
		const struct kp_call *call, uint32_t role, struct kp_prepared *prepared);
	int (*prepare)(const struct kp_call *call, uint32_t role, void *out);
	int (*backward)(const struct kp_call *call);
};

/* What an entry is. Kind 2 is reserved for stateful classes (tables, layers). */
enum kp_entry_kind { KP_ENTRY_KERNEL = 1, KP_ENTRY_CLASS = 2 };

/* One named thing of a plugin; for KP_ENTRY_KERNEL vtable is a kp_kernel. */
struct kp_entry {
	uint32_t size;
	uint32_t flags;
	uint32_t kind;	   /* enum kp_entry_kind */
	uint32_t reserved; /* 0 */
	const char *name;
	const void *vtable;
};

/*
 * A plugin. abi_minor is what it was built with, abi_needed the lowest minor
 * that it can work with.
 *
 * start: once per process before any kernel function but `available`; never in
 *        a probe. config_json is the manifest's `config` object as text, "{}"
 *        when there is none. *state is NULL before and is used only with KP_OK.
 * stop:  takes back what start returned; not called when start failed.
 */
struct kp_plugin {
	uint32_t size;
	uint32_t flags;
	uint32_t abi_major;
	uint32_t abi_minor;
	uint32_t abi_needed;
	uint32_t n_entries;
	const struct kp_entry *const *entries;
	int (*start)(const struct kp_host *host, const char *config_json, void **state,
		struct kp_error *error);
	void (*stop)(void *state);
};

/* For `size` and `flags` of a struct: { KP_SIZED(struct kp_entry), ... }. */
#define KP_SIZED(type) (uint32_t)sizeof(type), 0u

/* `call` covers the field and it is not absent: KP_COVERS(call, generation). */
#define KP_COVERS(pointer, field)                                                        \
	((pointer)->size >= (size_t)((const char *)(&(pointer)->field + 1) -             \
				     (const char *)(pointer)))

/*
 * The one symbol that a plugin exports; visible by its declaration, since g++
 * ignores that attribute, with a warning, at a definition.
 */
#if defined(__GNUC__)
#define KPLUG_PLUGIN_EXPORT __attribute__((used))
#else
#define KPLUG_PLUGIN_EXPORT
#endif
extern __attribute__((visibility("default"))) const struct kp_plugin kplug_plugin;

/*
 * Embeds the file, a JSON text, as the ELF note `.note.kplug` (owner "kplug",
 * type 1): allocated, so it is found through PT_NOTE and survives strip;
 * retained, so it survives --gc-sections. Once per plugin, at file scope. The
 * file is searched in the assembler's include path (-I, or -Wa,-I).
 */
#define KPLUG_NOTE_SECTION ".note.kplug"
#define KPLUG_NOTE_OWNER   "kplug"
#define KPLUG_NOTE_TYPE	   1
#define KPLUG_PLUGIN_NOTE(file)                                                          \
	__asm__(".pushsection .note.kplug,\"aR\",%note\n"                                \
		".balign 4\n"                                                            \
		".long 6\n"                                                              \
		".long 9992f - 9991f\n"                                                  \
		".long 1\n"                                                              \
		".asciz \"kplug\"\n"                                                     \
		".balign 4\n"                                                            \
		"9991: .incbin \"" file "\"\n"                                           \
		"9992:\n"                                                                \
		".balign 4\n"                                                            \
		".popsection\n")

/* No tail padding, and the layouts never move. */
#if defined(__cplusplus)
#define KP_ASSERT(name, what) static_assert(what, #name)
#elif defined(__STDC_VERSION__) && __STDC_VERSION__ >= 201112L
#define KP_ASSERT(name, what) _Static_assert(what, #name)
#else
#define KP_ASSERT(name, what) typedef char kp_assert_##name[(what) ? 1 : -1]
#endif
#define KP_SEALED(type, last)                                                            \
	KP_ASSERT(type##_has_no_tail_padding,                                            \
		sizeof(struct type) ==                                                   \
			offsetof(struct type, last) + sizeof(((struct type *)0)->last))
KP_SEALED(kp_tensor, byte_offset);
KP_SEALED(kp_error, text);
KP_SEALED(kp_device, context);
KP_SEALED(kp_host, cancelled);
KP_SEALED(kp_call, generation);
KP_SEALED(kp_need, host_plan_align);
KP_SEALED(kp_prepared, layout);
KP_SEALED(kp_kernel, backward);
KP_SEALED(kp_entry, vtable);
KP_SEALED(kp_plugin, stop);

#ifdef __cplusplus
}
#endif

#endif
