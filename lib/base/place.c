/* SPDX-License-Identifier: MIT */
/* Finds kplug's own files and directories, in the build tree and installed. */
#include "lib/base/place.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pwd.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "installed.h"
#include "lib/base/owned.h"
enum { LAYERS = 5, PASSWD_BYTES = 4096 };

/* A formatted text, malloc'ed, or NULL. */
static char *__attribute__((format(printf, 1, 2))) text_new(const char *format, ...)
{
	va_list args;
	char *made;

	va_start(args, format);
	int n = vasprintf(&made, format, args);
	va_end(args);
	return n < 0 ? NULL : made;
}

/* Cuts the last component of an absolute path off. */
static void cut(char *path)
{
	char *slash = strrchr(path, '/');
	if (slash)
		slash[slash == path] = '\0';
}

/* The directory of the running program; false when /proc does not say. */
static bool program_dir(char dir[PATH_MAX])
{
	ssize_t n = readlink("/proc/self/exe", dir, PATH_MAX - 1);
	if (n <= 0)
		return false;
	dir[n] = '\0';
	cut(dir);
	return dir[0] == '/';
}

/* Where `make install` puts a part, below the prefix. */
static char *installed(const char *prefix, const char *part)
{
	static const struct {
		const char *part, *place;
	} places[] = {
		{"plugin-worker", "libexec/kplug/plugin-worker"},
		{"plugind", "sbin/plugind"},
		{"pluginctl", "bin/pluginctl"},
		{"plugins", "lib/kplug/plugins"},
		{"plugins/plugins.d", "lib/kplug/plugins.d"},
		{"include", "include"},
	};
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++)
		if (strcmp(places[i].part, part) == 0)
			return text_new("%s/%s", prefix, places[i].place);
	return text_new("%s/share/kplug/%s", prefix, part);
}

/* The part for a program in `dir`, NULL when it is not there. */
static char *find_from(char *dir, const char *part)
{
	char *beside = text_new("%s/%s", dir, part);
	if (beside && access(beside, F_OK) == 0)
		return beside;
	free(beside);
	cut(dir);
	char *below = installed(strcmp(dir, "/") == 0 ? "" : dir, part);
	if (below && access(below, F_OK) == 0)
		return below;
	free(below);
	return NULL;
}

char *kp_place_find(const char *part)
{
	char dir[PATH_MAX];
	char *found = program_dir(dir) ? find_from(dir, part) : NULL;
	return found ? found : installed(KP_PREFIX, part);
}

static bool can_write(const char *path)
{
	return faccessat(AT_FDCWD, path, W_OK, AT_EACCESS) == 0;
}

/* The home directory, malloc'ed; NULL when there is none. */
static char *home(void)
{
	const char *named = secure_getenv("HOME");
	char buffer[PASSWD_BYTES];
	struct passwd entry, *found;

	if (named && named[0] == '/')
		return strdup(named);
	if (getpwuid_r(geteuid(), &entry, buffer, sizeof(buffer), &found) != 0 || !found)
		return NULL;
	return strdup(found->pw_dir);
}

/*
 * $VARIABLE/kplug, or `preset` below the home directory: XDG Base Directory
 * Specification 0.8, by which a path that is not absolute is ignored.
 */
static char *xdg(const char *variable, const char *preset, const char *rest)
{
	const char *named = secure_getenv(variable);

	if (named && named[0] == '/')
		return text_new("%s/kplug%s", named, rest);
	owned_text base = home();
	if (base && strcmp(base, "/") == 0)
		base[0] = '\0';
	return base ? text_new("%s/%s/kplug%s", base, preset, rest) : NULL;
}

/* A directory in /tmp of this user's alone, which no other can move; made if need be. */
static bool is_own(const char *path)
{
	struct stat st;

	if (stat("/tmp", &st) < 0 || (!(st.st_mode & S_ISVTX) && (st.st_mode & 022)))
		return false;
	(void)mkdir(path, 0700);
	return lstat(path, &st) == 0 && S_ISDIR(st.st_mode) && st.st_uid == geteuid() &&
	       (st.st_mode & 077) == 0;
}

/*
 * Below the directory of what lasts as long as the user is logged in. Who has not
 * logged in (cron, su, a container) has none, and gets one in /tmp; what another user
 * has put there is not taken.
 */
static char *runtime(const char *rest)
{
	const char *named = secure_getenv("XDG_RUNTIME_DIR");
	owned_text session = text_new("/run/user/%u", (unsigned)geteuid());
	owned_text own = text_new("/tmp/kplug-%u", (unsigned)geteuid());

	if (named && named[0] == '/')
		return text_new("%s/kplug%s", named, rest);
	if (!session || !own)
		return NULL;
	if (geteuid() != 0 && !can_write(session) && is_own(own))
		return text_new("%s%s", own, rest);
	return text_new("%s/kplug%s", session, rest);
}

/* Whether this user can make `path`, or can write in it. */
static bool can_be_made(const char *path)
{
	owned_text nearest = strdup(path);

	while (nearest && !can_write(nearest)) {
		if (errno != ENOENT || strcmp(nearest, "/") == 0)
			return false;
		cut(nearest);
	}
	return nearest != NULL;
}

/*
 * As xdg(); a user without a home, or with one that nothing can be written in (the / of
 * a container's user without a name), has `rest` below the runtime directory.
 */
static char *kept(const char *variable, const char *preset, const char *rest)
{
	const char *named = secure_getenv(variable);
	char *usual = xdg(variable, preset, "");

	if (usual && ((named && named[0] == '/') || can_be_made(usual)))
		return usual;
	free(usual);
	return runtime(rest);
}

char *kp_place_runtime_layer(bool system)
{
	return system ? strdup("/run/kplug/plugins.d") : runtime("/plugins.d");
}

/* Puts it behind the others; false when there is none. */
static bool add(char **list, size_t *n, char *item)
{
	if (item)
		list[(*n)++] = item;
	return item != NULL;
}

char **kp_place_manifest_dirs(bool system)
{
	char **list = calloc(LAYERS + 1, sizeof(*list));
	size_t n = 0;

	if (!list)
		return NULL;
	/* A user without a home has no configuration of their own. */
	if (!system)
		(void)add(list, &n, xdg("XDG_CONFIG_HOME", ".config", "/plugins.d"));
	if ((system || add(list, &n, kp_place_runtime_layer(false))) &&
		add(list, &n, strdup(KP_SYSCONFDIR "/kplug/plugins.d")) &&
		add(list, &n, kp_place_runtime_layer(true)) &&
		add(list, &n, kp_place_find("plugins/plugins.d")))
		return list;
	kp_place_free(list);
	return NULL;
}

void kp_place_free(char **list)
{
	for (char **item = list; item && *item; item++)
		free(*item);
	free(list);
}

char *kp_place_library_dir(void)
{
	return xdg("XDG_DATA_HOME", ".local/share", "/plugins");
}

char *kp_place_state_dir(bool system)
{
	return system ? strdup("/var/lib/kplug")
		      : kept("XDG_STATE_HOME", ".local/state", "/state");
}

bool kp_place_is_fleeting(const char *directory)
{
	owned_text below = runtime("/");
	return below && strncmp(directory, below, strlen(below)) == 0;
}

char *kp_place_cache_dir(bool system)
{
	return system ? strdup("/var/cache/kplug")
		      : kept("XDG_CACHE_HOME", ".cache", "/cache");
}

char *kp_place_socket(bool system)
{
	return system ? strdup("/run/kplug/plugind.sock") : runtime("/plugind.sock");
}

char *kp_place_config_file(bool system)
{
	return system ? strdup(KP_SYSCONFDIR "/kplug/plugind.json")
		      : xdg("XDG_CONFIG_HOME", ".config", "/plugind.json");
}
