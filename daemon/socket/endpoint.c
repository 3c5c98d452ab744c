/* SPDX-License-Identifier: MIT */
/* Making the socket, and takeover of a stale one. */
#include "daemon/socket/endpoint.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "daemon/log.h"
#include "daemon/options.h"
#include "daemon/service/passed.h"
#include "lib/base/file.h"

enum { BACKLOG = 1024 };

static int failed(const char *what, const char *path, struct kp_diag *diag)
{
	return kp_diag_set(diag, "write_failed", path, "cannot %s %s: %s", what, path,
		strerror(errno));
}

static void address_of(const char *path, struct sockaddr_un *address)
{
	*address = (struct sockaddr_un){.sun_family = AF_UNIX};
	memcpy(address->sun_path, path, strlen(path) + 1);
}

/* Only a refused connection proves that nobody is there. */
static int prove_stale(const char *path, struct kp_diag *diag)
{
	struct sockaddr_un address;
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return failed("make a socket for", path, diag);
	address_of(path, &address);
	int result = connect(fd, (struct sockaddr *)&address, sizeof(address));
	int error = errno;
	(void)close(fd);
	if (result < 0 && error == ECONNREFUSED)
		return 0;
	if (result == 0 || error == EAGAIN || error == EINPROGRESS)
		return kp_diag_set(diag, "already_running", path,
			"another process listens at %s", path);
	return kp_diag_set(diag, "foreign_file", path,
		"cannot tell whether somebody listens at %s: %s", path, strerror(error));
}

static const char *kind_of(mode_t mode)
{
	return S_ISREG(mode)   ? "a regular file"
	       : S_ISLNK(mode) ? "a symbolic link"
	       : S_ISDIR(mode) ? "a directory"
			       : "not a socket";
}

static int clear_path(const char *path, struct log *log, struct kp_diag *diag)
{
	struct stat st;

	if (lstat(path, &st) < 0)
		return errno == ENOENT ? 0 : failed("look at", path, diag);
	if (!S_ISSOCK(st.st_mode))
		return kp_diag_set(diag, "foreign_file", path,
			"%s is %s, not a socket; it is left alone", path,
			kind_of(st.st_mode));
	if (prove_stale(path, diag) < 0)
		return -1;
	log_line(log, LOG_INFO, "%s: nobody listens at this socket, replacing it", path);
	return unlink(path) < 0 ? failed("remove", path, diag) : 0;
}

static int bind_socket(struct endpoint *endpoint, bool system, struct kp_diag *diag)
{
	struct sockaddr_un address;
	struct stat st;

	address_of(endpoint->path, &address);
	endpoint->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (endpoint->fd < 0)
		return failed("make a socket for", endpoint->path, diag);
	/* Nobody gets in between bind and chmod. The pool has no thread yet. */
	mode_t before = umask(0177);
	int result = bind(endpoint->fd, (struct sockaddr *)&address, sizeof(address));
	int error = errno;
	(void)umask(before);
	errno = error;
	if (result < 0)
		return failed("bind to", endpoint->path, diag);
	if (lstat(endpoint->path, &st) < 0)
		return failed("look at", endpoint->path, diag);
	endpoint->dev = st.st_dev;
	endpoint->ino = st.st_ino;
	if (system && chmod(endpoint->path, 0666) < 0)
		return failed("open to all users", endpoint->path, diag);
	if (listen(endpoint->fd, BACKLOG) < 0)
		return failed("listen at", endpoint->path, diag);
	return 0;
}

/* Where nobody named the socket all that leads there is made. */
static int make_usual(
	const char *path, const char *directory, bool system, struct kp_diag *diag)
{
	struct kp_diag why;

	if (kp_file_make_dirs(directory, system ? 0755 : 0700, &why) == 0)
		return 0;
	return kp_diag_set(diag, why.code, path,
		"%s (for the socket %s): %sgive --socket", why.message, path,
		system ? "" : "set XDG_RUNTIME_DIR or ");
}

/* Else a name that is mistyped must not become a tree of directories. */
static int make_last(const char *directory, bool system, struct kp_diag *diag)
{
	if (mkdir(directory, system ? 0755 : 0700) == 0 || errno == EEXIST)
		return 0;
	return kp_diag_set(diag, "write_failed", directory,
		"cannot make the directory %s for the socket: %s", directory,
		strerror(errno));
}

static int make_directory(
	const char *path, const struct options *options, struct kp_diag *diag)
{
	char *directory = strdup(path);
	if (!directory)
		return kp_diag_no_memory(diag);
	char *slash = strrchr(directory, '/');
	int result = 0;
	if (slash && slash != directory) {
		*slash = '\0';
		result = options->has_usual_socket
				 ? make_usual(path, directory, options->system, diag)
				 : make_last(directory, options->system, diag);
	}
	free(directory);
	return result;
}

static int take_lock(struct endpoint *endpoint, struct kp_diag *diag)
{
	char *path = NULL;
	if (asprintf(&path, "%s.lock", endpoint->path) < 0)
		return kp_diag_no_memory(diag);
	int result = lock_take(&endpoint->lock, path, diag);
	free(path);
	return result;
}

int endpoint_open(struct endpoint *endpoint, const struct options *options,
	struct log *log, struct kp_diag *diag)
{
	const struct passed *passed = options->passed;

	*endpoint = (struct endpoint){.fd = passed ? passed->fd : -1,
		.path = strdup(passed ? passed->path : options->socket),
		.lock = {.fd = -1}};
	if (!endpoint->path)
		return kp_diag_no_memory(diag);
	if (passed)
		return 0;
	if (make_directory(endpoint->path, options, diag) < 0 ||
		take_lock(endpoint, diag) < 0 ||
		clear_path(endpoint->path, log, diag) < 0)
		return -1;
	return bind_socket(endpoint, options->system, diag);
}

void endpoint_remove(struct endpoint *endpoint)
{
	struct stat st;

	if (endpoint->path && endpoint->ino && lstat(endpoint->path, &st) == 0 &&
		st.st_ino == endpoint->ino && st.st_dev == endpoint->dev)
		(void)unlink(endpoint->path);
	endpoint->ino = 0;
}

void endpoint_close(struct endpoint *endpoint)
{
	endpoint_remove(endpoint);
	lock_drop(&endpoint->lock);
	kp_file_close(&endpoint->fd);
	free(endpoint->path);
	endpoint->path = NULL;
}
