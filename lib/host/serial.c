/* SPDX-License-Identifier: MIT */
/* A mutex that knows its owner, and is told of its end. */
#include "lib/host/serial.h"

#include <errno.h>

int kp_serial_init(pthread_mutex_t *serial)
{
	pthread_mutexattr_t kind;

	if (pthread_mutexattr_init(&kind) != 0)
		return -1;
	(void)pthread_mutexattr_settype(&kind, PTHREAD_MUTEX_ERRORCHECK);
	(void)pthread_mutexattr_setrobust(&kind, PTHREAD_MUTEX_ROBUST);
	int result = pthread_mutex_init(serial, &kind);
	(void)pthread_mutexattr_destroy(&kind);
	return result == 0 ? 0 : -1;
}

void kp_serial_enter(pthread_mutex_t *serial)
{
	/* EDEADLK: it is this thread's already, and stays so. */
	if (pthread_mutex_lock(serial) == EOWNERDEAD)
		(void)pthread_mutex_consistent(serial);
}

void kp_serial_leave(pthread_mutex_t *serial)
{
	(void)pthread_mutex_unlock(serial);
}
