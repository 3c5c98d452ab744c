/* SPDX-License-Identifier: MIT */
/*
 * Inside of the fake CUDA driver: a library with the functions of libcuda.so.1
 * that runs kernels on the CPU, from their real source, and does what a test wants.
 *
 * Work is queued, in one order for all streams, and runs when somebody waits for
 * something: who does not wait reads old data. Device memory cannot be touched by
 * the host: between the calls it is not mapped for reading.
 *
 * The environment says what there is, read at the first call and by
 * fake_cuda_reset(); workers of plugind get CUDA_FAKE_... for KP_FAKE_CUDA_...:
 *
 * KP_FAKE_CUDA_DEVICES  number of devices, 1
 * KP_FAKE_CUDA_ARCH     their compute capability, 9.0
 * KP_FAKE_CUDA_VERSION  of the driver as it tells it, 13000
 * KP_FAKE_CUDA_MEMORY   MiB of a device, 1024
 * KP_FAKE_CUDA_ORDER    "reverse" runs the threads of a block from the last
 * KP_FAKE_CUDA_LOG      a file that gets the name of each function called, and
 *                       of a launch what was launched
 * KP_FAKE_CUDA_FAIL     FUNCTION:N:CODE[,...]: the Nth call of FUNCTION (0: every
 *                       one) returns CODE and does nothing. After a code that
 *                       loses the device (700, 719, ...) everything returns it.
 */
#ifndef FAKE_CUDA_FAKE_H
#define FAKE_CUDA_FAKE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The numbers of CUDA's CUresult that are used here. */
enum fake_result {
	FAKE_OK = 0,
	FAKE_INVALID_VALUE = 1,
	FAKE_OUT_OF_MEMORY = 2,
	FAKE_NOT_INITIALIZED = 3,
	FAKE_NO_DEVICE = 100,
	FAKE_INVALID_DEVICE = 101,
	FAKE_INVALID_IMAGE = 200,
	FAKE_INVALID_CONTEXT = 201,
	FAKE_NO_BINARY = 209,
	FAKE_INVALID_HANDLE = 400,
	FAKE_NOT_FOUND = 500,
	FAKE_NOT_READY = 600,
	FAKE_OUT_OF_RESOURCES = 701,
	FAKE_CAPTURE_UNSUPPORTED = 900,
	FAKE_CAPTURE_INVALIDATED = 901
};

enum { FAKE_DEVICES = 16, FAKE_SHARED_MAX = 227 * 1024, FAKE_SHARED_PLAIN = 48 * 1024 };

typedef unsigned long long fake_pointer; /* CUdeviceptr */

struct fake_dim {
	unsigned x, y, z;
};

/* A kernel that was compiled for the CPU, by its name. */
struct fake_twin {
	const char *name;
	size_t parameter_bytes; /* of its one parameter, a struct */
	unsigned threads;	/* most of a block */
	void (*run)(const void *parameter);
	struct fake_twin *next;
};

struct fake_grid {
	const struct fake_twin *twin;
	struct fake_dim grid, block;
	size_t shared_bytes;
	bool reversed;
};

/* ---- script.c: what a test wants ------------------------------------------------ */

struct fake_settings {
	int devices, major, minor, version;
	size_t memory;
	bool reversed;
};

const struct fake_settings *fake_settings(void);

/* One call of the driver: holds its lock until fake_leave. */
struct fake_call {
	int result; /* what it must return at once, or FAKE_OK */
};

struct fake_call fake_enter(const char *function);
void fake_leave(struct fake_call *call);
void fake_log(const char *format, ...) __attribute__((format(printf, 1, 2)));
void fake_lose(int code);
/* Ends the process: the program under test did what would be undefined on a GPU. */
void fake_die(const char *format, ...) __attribute__((noreturn, format(printf, 1, 2)));

#define FAKE_CALL()                                                                      \
	__attribute__((cleanup(fake_leave))) struct fake_call fake_this_call =           \
		fake_enter(__func__);                                                    \
	if (fake_this_call.result != FAKE_OK)                                            \
	return fake_this_call.result

/* The same for what needs a context. */
#define FAKE_CALL_IN_CONTEXT()                                                           \
	FAKE_CALL();                                                                     \
	if (!fake_current())                                                             \
	return FAKE_INVALID_CONTEXT

/* ---- device.c, memory.c, stream.c, graph.c, module.c --------------------------------
 */

struct fake_context;
struct fake_context *fake_current(void);
bool fake_initialized(void);

/* Frees everything and starts as a new process would. */
void fake_device_reset(void);
void fake_memory_reset(void);
void fake_stream_reset(void);
void fake_graph_reset(void);
void fake_module_reset(void);

/* Device memory can be touched between the two. They nest. */
void fake_memory_open(void);
void fake_memory_close(void);
/* Does [pointer, pointer + bytes) lie in one allocation? */
bool fake_memory_holds(fake_pointer pointer, size_t bytes);
size_t fake_memory_used(void);

/* Something to do later. `run` is called with device memory open. */
struct fake_work {
	struct fake_work *next;
	void (*run)(struct fake_work *work);
	void (*drop)(struct fake_work *work); /* may be NULL */
	void *to;
	const void *from;
	size_t bytes;
	uint32_t value;
	struct fake_grid grid;
	void *data; /* own, or NULL */
};

struct fake_stream;
struct fake_list {
	struct fake_work *first, **end;
};

void fake_list_init(struct fake_list *list);
void fake_list_run(const struct fake_list *list);
void fake_list_free(struct fake_list *list);
/* Takes the work: into the queue, or into what the stream records. */
int fake_submit(struct fake_stream *stream, const struct fake_work *work);
/* Runs all that is queued. */
void fake_run_queue(void);
/* Is there a stream that records? What waits for the device spoils its graph. */
int fake_refuse_in_capture(void);
bool fake_stream_is(const struct fake_stream *stream);
/* Where a stream records, or NULL. */
struct fake_list **fake_stream_recording(struct fake_stream *stream);

void fake_add_twin(struct fake_twin *twin);
void fake_run_grid(const struct fake_grid *grid, const void *parameter);

#ifdef __cplusplus
}
#endif

#endif
