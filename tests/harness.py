# SPDX-License-Identifier: MIT
"""A plugind of its own for a test: directories, plugins made on the spot, calls.

    with Daemon() as daemon:
        daemon.add("good")                       # compiles good.so, writes good.json
        daemon.call("Reload")
        daemon.call("List")["plugins"]           # checked against the interface
        daemon.ctl("list", "--json").stdout

Nothing outlives the `with`: the daemon is ended, its directory removed.
"""

import glob
import json
import os
import shutil
import signal
import stat
import subprocess
import tempfile
import time
import unittest

import unconfined
from varlink import Client

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
BUILD = os.path.abspath(os.environ.get("KPLUG_BUILD", os.path.join(ROOT, "build")))
SANITIZER = os.environ.get("KPLUG_SANITIZER", "")
LONG = bool(os.environ.get("KPLUG_LONG"))

# Under sanitizers and on a busy machine everything takes longer; no test measures with this.
PATIENCE_S = 60

PLUGIN = """
#include <kplug/plugin.h>
#include <stdlib.h>
#include <unistd.h>
%(before)s
KPLUG_PLUGIN_NOTE("%(note)s");
static int run(const struct kp_call *call)
{
	(void)call;
	%(body)s
	return KP_OK;
}
static int available(const struct kp_device *device, struct kp_error *error)
{
	(void)device;
	(void)error;
	%(available)s
	return KP_OK;
}
static const struct kp_kernel kernel = {KP_SIZED(struct kp_kernel), .run = run,
	.available = available%(vtable)s};
%(entries)s
static const struct kp_entry *const entries[] = {%(names)s};
KPLUG_PLUGIN_EXPORT const struct kp_plugin kplug_plugin = {KP_SIZED(struct kp_plugin),
	KP_ABI_MAJOR, KP_ABI_MINOR, 0, %(count)d, entries, %(start)s, 0};
"""
ENTRY = (
    "static const struct kp_entry entry%d = {KP_SIZED(struct kp_entry),"
    ' KP_ENTRY_KERNEL, 0, "%s", &kernel};'
)

# Constructors for plugins with a fault; `before` of make_plugin.
HANG = "__attribute__((constructor)) static void hang(void) { for (;;) pause(); }"
EXIT = "__attribute__((constructor)) static void leave(void) { exit(0); }"
CRASH = "__attribute__((constructor)) static void crash(void) { abort(); }"


def kernel(name="square", operation="elementwise/square", priority=10, **more):
    """A kernel for a note."""
    signatures = more.pop("signatures", ["x=f32,y=f32"])
    return {
        "name": name,
        "operation": operation,
        "priority": priority,
        "signatures": signatures,
        **more,
    }


def make_plugin(
    path,
    name,
    kernels=None,
    before="",
    available="",
    body="",
    start="0",
    vtable="",
    flags=(),
    **note,
):
    """Compiles a plugin to `path`, atomically. Its kernels do what `body` says: nothing.

    start: a function that `before` defines
    vtable: more members of the kernels, ", .load = ..."
    """
    kernels = [kernel()] if kernels is None else kernels
    note = {"name": name, "version": "1.0.0", "kernels": kernels, **note}
    with tempfile.TemporaryDirectory(prefix="kplug-make.") as place:
        with open(os.path.join(place, "note.json"), "w", encoding="utf-8") as file:
            json.dump(note, file)
        source = PLUGIN % {
            "before": before,
            "available": available,
            "body": body,
            "vtable": vtable,
            "start": start,
            "note": "note.json",
            "entries": "\n".join(ENTRY % (i, k["name"]) for i, k in enumerate(kernels)),
            "names": ", ".join(f"&entry{i}" for i in range(len(kernels))) or "0",
            "count": len(kernels),
        }
        with open(os.path.join(place, "plugin.c"), "w", encoding="utf-8") as file:
            file.write(source)
        out = os.path.join(place, "plugin.so")
        include = os.path.join(ROOT, "lib", "include")
        script = os.path.join(include, "kplug", "plugin.map")
        subprocess.run(
            ["cc", "-std=c11", "-w", "-O1", "-fPIC", "-shared", f"-I{include}", f"-Wa,-I{place}"]
            + [f"-I{ROOT}/tests/fixtures", f"-Wl,--version-script={script}"]
            + ["-o", out, os.path.join(place, "plugin.c")]
            + list(flags),
            check=True,
        )
        shutil.copy(out, path + ".new")
        install(path)


def install(path):
    """Renames PATH.new to PATH, as old as if it had been installed: a young file is waited for."""
    then = time.time() - 3600
    os.utime(path + ".new", (then, then))
    os.rename(path + ".new", path)


def make_plugins(paths, kernels=None, **plugin):
    """The same plugin at each path, under the names of the files, compiled once."""
    names = [os.path.basename(p)[: -len(".so")] for p in paths]
    width = max(len(n) for n in names)
    mark = "x" * width
    with tempfile.TemporaryDirectory(prefix="kplug-make.") as place:
        first = os.path.join(place, "plugin.so")
        make_plugin(first, mark, kernels, **plugin)
        with open(first, "rb") as file:
            template = file.read()
    before = b'"name": "' + mark.encode() + b'"'
    assert template.count(before) == 1
    for path, name in zip(paths, names):
        after = b'"name": "' + name.encode() + b'"' + b" " * (width - len(name))
        with open(path + ".new", "wb") as file:
            file.write(template.replace(before, after))
        install(path)


def write(path, text):
    """Writes a file whole: nobody sees half of it."""
    with open(path + ".new", "w", encoding="utf-8") as file:
        file.write(text)
    os.rename(path + ".new", path)


def wait_until(condition, what, timeout=PATIENCE_S):
    """Waits for something that no descriptor tells; returns what it gave."""
    end = time.monotonic() + timeout
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            raise AssertionError(f"waited {timeout} s in vain for {what}")
        time.sleep(0.01)


def open_way(*places):
    """Everybody may go through; whatever else holds for them, stays."""
    for place in places:
        mode = stat.S_IMODE(os.stat(place).st_mode)
        if mode & 0o011 != 0o011:
            os.chmod(place, mode | 0o011)


def let_in(daemon):
    """Lets other users come to its socket."""
    open_way(daemon.place, os.path.dirname(daemon.place))


def children(pid):
    """Processes whose parent is pid, and theirs."""
    found = []
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        try:
            with open(f"/proc/{entry}/stat", encoding="utf-8", errors="replace") as file:
                fields = file.read().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[1]) == pid:
            found.append(int(entry))
            found.extend(children(int(entry)))
    return found


def can_be_entered(place):
    """By every user: a home of root's, for one, is not."""
    while place != "/":
        if not os.stat(place).st_mode & 0o001:
            return False
        place = os.path.dirname(place)
    return True


def as_another_user(test):
    """Of a test, or a class, that runs what was built as somebody else."""
    if os.geteuid() != 0:
        return unittest.skip("only root can become another user")(test)
    if not can_be_entered(BUILD):
        return unittest.skip(f"other users cannot enter {BUILD}")(test)
    return test


def is_alive(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


class Daemon:
    """A private plugind in a directory of its own.

    layers:   how many manifest directories, highest first
    families: a directory, the built ones where None
    platform: an object that replaces this machine's devices
    options:  further arguments
    env:      further environment
    builtin:  also the layer of the plugins of the build tree, and their directory
    system:   --system
    user:     who runs it, and owns its directory; the caller where None
    without:  system calls that this machine does not have (unconfined.py)
    """

    def __init__(
        self,
        layers=1,
        families=None,
        platform=None,
        options=(),
        env=None,
        builtin=False,
        system=False,
        start=True,
        user=None,
        without=(),
        program=os.path.join(BUILD, "plugind"),
    ):
        self.program = program
        self.user = user
        self.without = without
        self.place = tempfile.mkdtemp(prefix="kplug-daemon.")
        os.chmod(self.place, 0o755)
        self.manifest_dirs = [os.path.join(self.place, f"layer{i}") for i in range(layers)]
        self.plugin_dir = os.path.join(self.place, "plugins")
        for path in [*self.manifest_dirs, self.plugin_dir]:
            os.mkdir(path)
        if user is not None:
            open_way(os.path.dirname(self.place))
            for path in [self.place, *self.manifest_dirs, self.plugin_dir]:
                os.chown(path, user, user)
        self.families = families or os.path.join(BUILD, "families")
        self.state_dir = os.path.join(self.place, "state")
        self.cache_dir = os.path.join(self.place, "cache")
        self.socket = os.path.join(self.place, "plugind.sock")
        self.log_path = os.path.join(self.place, "log")
        self.options = list(options)
        self.system = system
        self.env = {"XDG_CONFIG_HOME": os.path.join(self.place, "config"), **(env or {})}
        self.platform = None
        if platform is not None:
            self.platform = os.path.join(self.place, "platform.json")
            write(self.platform, json.dumps(platform))
        if builtin:
            self.manifest_dirs.append(os.path.join(BUILD, "plugins", "plugins.d"))
            # What a test adds must not stay in the build.
            for path in glob.glob(os.path.join(BUILD, "plugins", "*.so")):
                os.symlink(path, os.path.join(self.plugin_dir, os.path.basename(path)))
        self.process = None
        if start:
            try:
                self.start()
            except BaseException:
                self.close()
                raise

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    # -- life

    def command(self):
        command = [self.program]
        for path in self.manifest_dirs:
            command += ["--manifest-dir", path]
        command += ["--plugin-dir", self.plugin_dir, "--families-dir", self.families]
        command += ["--state-dir", self.state_dir, "--cache-dir", self.cache_dir]
        command += ["--socket", self.socket]
        command += ["--worker", os.path.join(BUILD, "plugin-worker")]
        if self.platform:
            command += ["--platform", self.platform]
        if self.system:
            command.append("--system")
        return command + self.options

    def environment(self):
        env = {k: v for k, v in os.environ.items() if k != "KPLUG_SOCKET"}
        return {**env, **self.env}

    def spawn(self, command=None, **more):
        """Starts it and returns at once; `more` is for Popen."""
        with open(self.log_path, "a", encoding="utf-8") as log:
            self.process = subprocess.Popen(
                command or self.command(),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=self.environment(),
                cwd=self.place,
                user=self.user,
                group=self.user,
                extra_groups=None if self.user is None else [],
                preexec_fn=(lambda: unconfined.become(self.without)) if self.without else None,
                **more,
            )
        return self

    def is_ready(self):
        if self.process.poll() is not None:
            raise AssertionError(f"plugind ended with {self.process.returncode}: {self.log()}")
        try:
            with Client(self.socket):
                return True
        except OSError:
            return False

    def start(self):
        """Starts it and waits until it answers (not for any probe)."""
        self.spawn()
        wait_until(self.is_ready, "plugind's socket")
        return self

    def run(self, command=None):
        """Runs a plugind that is expected to end by itself."""
        return subprocess.run(
            command or self.command(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            env=self.environment(),
            cwd=self.place,
            timeout=PATIENCE_S,
            check=False,
        )

    def stop(self, number=signal.SIGTERM):
        """Ends it; its exit status, None when it was not running. Fails where a daemon
        that nobody killed did not end as asked: it may have crashed, or a sanitizer."""
        if self.process is None:
            return None
        process, self.process = self.process, None
        if process.poll() is None:
            process.send_signal(number)
        try:
            status = process.wait(PATIENCE_S)
        finally:
            if process.poll() is None:
                process.kill()
                process.wait()
        if status != 0 and status != -signal.SIGKILL:
            raise AssertionError(f"plugind ended with {status}: {self.log()}")
        return status

    def kill(self):
        return self.stop(signal.SIGKILL)

    def restart(self):
        self.stop()
        return self.start()

    def close(self):
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(signal.SIGCONT)
        try:
            self.stop()
        finally:
            shutil.rmtree(self.place, ignore_errors=True)

    @property
    def pid(self):
        return self.process.pid

    def log(self):
        with open(self.log_path, encoding="utf-8", errors="replace") as file:
            return file.read()

    # -- plugins

    def manifest_path(self, name, layer=0):
        return os.path.join(self.manifest_dirs[layer], name + ".json")

    def library_path(self, name):
        return os.path.join(self.plugin_dir, name + ".so")

    def manifest(self, name, library=None, layer=0, **keys):
        """Writes NAME.json; `library` is NAME.so where None."""
        content = {"library": library or name + ".so", **keys}
        write(self.manifest_path(name, layer), json.dumps(content))

    def add(self, name, kernels=None, layer=0, manifest=None, **plugin):
        """Compiles NAME.so, then writes NAME.json."""
        package = plugin.pop("package", name)
        make_plugin(self.library_path(name), package, kernels, **plugin)
        self.manifest(name, layer=layer, **(manifest or {}))

    def add_many(self, names, kernels=None, **plugin):
        """Plugins that differ in nothing but their names, compiled once."""
        make_plugins([self.library_path(n) for n in names], kernels, **plugin)
        for name in names:
            self.manifest(name)

    def remove(self, name, layer=0):
        os.unlink(self.manifest_path(name, layer))

    # -- calls

    def client(self, timeout=PATIENCE_S):
        return Client(self.socket, timeout)

    def call(self, method, parameters=None, more=False, **keywords):
        """A checked reply (with more: all replies); raises VarlinkError."""
        with self.client() as client:
            parameters = {**(parameters or {}), **keywords}
            if more:
                return list(client.call_more(method, parameters))
            return client.call(method, parameters)

    def settle(self):
        """Waits until nothing is pending; the status."""
        return self.call("Status", wait=True)

    def plugins(self):
        """name -> Plugin, once nothing is pending."""
        self.settle()
        return {p["name"]: p for p in self.call("List")["plugins"]}

    def select(self, operation, **request):
        return self.call("Select", request={"operation": operation, **request})

    def why(self, operation, **request):
        return self.call("Explain", request={"operation": operation, **request})

    def ctl(self, *arguments, env=None, timeout=PATIENCE_S):
        """Runs pluginctl against this daemon."""
        return subprocess.run(
            [os.path.join(BUILD, "pluginctl"), "--socket", self.socket, *arguments],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            env={**self.environment(), **(env or {})},
            timeout=timeout,
            check=False,
        )
