/* SPDX-License-Identifier: MIT */
/*
 * A generator of load for services on Unix sockets: each connection sends one message,
 * drawn uniformly from a file of them, and the next when the reply is here. Prints the
 * replies a second. Both sides of a comparison are driven by this one program.
 */
#include <errno.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

static const char usage[] =
	"usage: load varlink|redis SOCKET CONNECTIONS SECONDS CPU FILE\n"
	"FILE: messages as they are sent, each behind its size as a line of its own;\n"
	"CPU: to run on, -1 for any.\n";

enum { CONNECTIONS_MOST = 1024, MESSAGES_MOST = 1 << 16, ROOM = 1 << 16 };

struct message {
	const char *bytes;
	size_t size;
};

struct connection {
	int fd;
	size_t used;  /* bytes of the reply so far */
	size_t total; /* of the reply, 0 while it is not known */
};

struct load {
	struct message *messages;
	size_t n_messages;
	struct connection connections[CONNECTIONS_MOST];
	size_t n;
	bool is_redis;
	uint64_t random;
	uint64_t replies;
	char room[ROOM];
};

static int64_t now_ns(void)
{
	struct timespec t;
	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static _Noreturn void die(const char *what)
{
	(void)fprintf(stderr, "load: %s: %s\n", what, strerror(errno));
	exit(1);
}

static char *read_file(const char *path, size_t *size)
{
	FILE *file = fopen(path, "re");
	struct stat st;

	if (!file || fstat(fileno(file), &st) < 0)
		die(path);
	char *text = malloc((size_t)st.st_size + 1);
	if (!text || fread(text, 1, (size_t)st.st_size, file) != (size_t)st.st_size)
		die(path);
	(void)fclose(file);
	text[st.st_size] = '\0';
	*size = (size_t)st.st_size;
	return text;
}

static void read_messages(struct load *load, const char *path)
{
	size_t size;
	char *at = read_file(path, &size);
	const char *end = at + size;

	load->messages = calloc(MESSAGES_MOST, sizeof(*load->messages));
	while (load->messages && at < end && load->n_messages < MESSAGES_MOST) {
		char *behind;
		size_t length = strtoul(at, &behind, 10);
		if (length == 0 || *behind != '\n' || length > (size_t)(end - behind - 1))
			break;
		load->messages[load->n_messages++] = (struct message){behind + 1, length};
		at = behind + 1 + length;
	}
	errno = EINVAL;
	if (load->n_messages == 0 || at < end)
		die(path);
}

/* xorshift64*: the same draws on both sides. */
static const struct message *draw(struct load *load)
{
	load->random ^= load->random >> 12;
	load->random ^= load->random << 25;
	load->random ^= load->random >> 27;
	uint64_t high = (load->random * 0x2545f4914f6cdd1d) >> 32;
	return &load->messages[high * load->n_messages >> 32];
}

static void ask(struct load *load, struct connection *connection)
{
	const struct message *message = draw(load);
	connection->used = connection->total = 0;
	if (send(connection->fd, message->bytes, message->size, MSG_NOSIGNAL) !=
		(ssize_t)message->size)
		die("send");
}

/* "$12\r\n" then so many bytes and "\r\n". */
static size_t redis_total(const char *bytes, size_t size)
{
	const char *line = memchr(bytes, '\n', size);
	if (!line)
		return 0;
	long length = bytes[0] == '$' ? strtol(bytes + 1, NULL, 10) : -1;
	errno = EPROTO;
	if (length < 0)
		die("not the value of a key");
	return (size_t)(line - bytes) + 1 + (size_t)length + 2;
}

static bool is_whole(
	struct load *load, struct connection *connection, const char *bytes, size_t n)
{
	errno = EPROTO;
	if (!load->is_redis) {
		if (connection->used == 0 && n > 8 && memcmp(bytes, "{\"error\"", 8) == 0)
			die(bytes);
		return bytes[n - 1] == '\0';
	}
	if (connection->total == 0)
		connection->total = redis_total(bytes, n);
	return connection->total && connection->used + n >= connection->total;
}

static void take(struct load *load, struct connection *connection)
{
	ssize_t n = recv(connection->fd, load->room, ROOM - 1, 0);
	if (n <= 0)
		die("recv");
	load->room[n] = '\0';
	if (is_whole(load, connection, load->room, (size_t)n)) {
		load->replies++;
		ask(load, connection);
	} else {
		connection->used += (size_t)n;
	}
}

static int join(struct load *load, const char *path)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int epoll = epoll_create1(EPOLL_CLOEXEC);

	(void)snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
	for (size_t i = 0; i < load->n; i++) {
		struct connection *c = &load->connections[i];
		struct epoll_event event = {.events = EPOLLIN, .data.ptr = c};
		c->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
		if (connect(c->fd, (struct sockaddr *)&address, sizeof(address)) < 0)
			die(path);
		if (epoll_ctl(epoll, EPOLL_CTL_ADD, c->fd, &event) < 0)
			die("epoll_ctl");
	}
	return epoll;
}

/* Replies a second. */
static double drive(struct load *load, int epoll, double seconds)
{
	struct epoll_event events[64];
	int64_t start = now_ns();
	int64_t end = start + (int64_t)(seconds * 1e9);
	int64_t now = start;

	for (size_t i = 0; i < load->n; i++)
		ask(load, &load->connections[i]);
	while (now < end) {
		int n = epoll_wait(epoll, events, 64, 10000);
		if (n <= 0 && errno != EINTR)
			die("no reply");
		for (int i = 0; i < n; i++)
			take(load, events[i].data.ptr);
		now = now_ns();
	}
	return (double)load->replies * 1e9 / (double)(now - start);
}

static void run_on(long cpu)
{
	cpu_set_t set;
	CPU_ZERO(&set);
	if (cpu < 0)
		return;
	CPU_SET((size_t)cpu, &set);
	(void)sched_setaffinity(0, sizeof(set), &set);
}

int main(int argc, char **argv)
{
	struct load *load = calloc(1, sizeof(*load));
	size_t n = argc == 7 ? strtoul(argv[3], NULL, 10) : 0;

	if (!load || n < 1 || n > CONNECTIONS_MOST)
		return fputs(usage, stderr), 2;
	load->is_redis = strcmp(argv[1], "redis") == 0;
	load->n = n;
	load->random = 0x9e3779b97f4a7c15;
	run_on(strtol(argv[5], NULL, 10));
	read_messages(load, argv[6]);
	int epoll = join(load, argv[2]);
	printf("%.0f\n", drive(load, epoll, strtod(argv[4], NULL)));
	free(load->messages);
	free(load);
	return 0;
}
