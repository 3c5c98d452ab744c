# SPDX-License-Identifier: MIT
"""How each kind of bench is measured: both sides in turn, in one run, on the same inputs."""

import contextlib
import json
import os
import shutil
import socket as sockets
import subprocess
import tempfile
import threading

import harness
import tiny

HERE = os.path.dirname(os.path.abspath(__file__))
DRIVERS = os.path.join(harness.BUILD, "bench")
SKIPPED = 77  # a driver that cannot run here; its last line says why
INTERFACE = "org.kplug.Manager."


class Skip(Exception):
    """This bench cannot run here, and why."""


class Result:
    """Samples of both sides, pair by pair; `peer` is empty where there is none."""

    def __init__(self, unit, ours, peer=(), commands=()):
        self.unit, self.ours, self.peer = unit, list(ours), list(peer)
        self.commands = list(commands)


def run(command, env=None):
    """The words of each line that a driver prints."""
    done = subprocess.run(
        command,
        stdout=subprocess.PIPE,
        stdin=subprocess.DEVNULL,
        text=True,
        env={**os.environ, **(env or {})},
        check=False,
    )
    lines = done.stdout.splitlines()
    if done.returncode == SKIPPED:
        raise Skip(lines[-1] if lines else f"{command[0]} cannot run here")
    if done.returncode != 0:
        raise RuntimeError(f"{command[0]} ended with {done.returncode}")
    return [line.split() for line in lines]


def driver(name):
    path = os.path.join(DRIVERS, name)
    if not os.path.exists(path):
        raise Skip(f"there is no driver {name}")
    return path


def needs(tool, package):
    """The peer's program, which is installed by `make bench` where that can be."""
    path = shutil.which(tool)
    if not path:
        raise Skip(f"{tool} is not installed (Debian: {package})")
    return path


def call(method, **parameters):
    """The text of a call."""
    return json.dumps({"method": INTERFACE + method, "parameters": parameters})


class Scenes:
    """Daemons, plugins and peers that several benches need: made once, ended together."""

    def __init__(self, pairs):
        self.pairs = pairs
        self.stack = contextlib.ExitStack()
        self.made = {}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stack.close()

    def once(self, key, make):
        if key not in self.made:
            self.made[key] = make()
        return self.made[key]

    def place(self):
        def make():
            path = tempfile.mkdtemp(prefix="kplug-bench.")
            self.stack.callback(shutil.rmtree, path, ignore_errors=True)
            return path

        return self.once("place", make)

    def stopped(self, plugins):
        """A daemon that is not running, with so many tiny plugins."""

        def make():
            daemon = self.stack.enter_context(
                harness.Daemon(start=False, options=["--log-level", "error"])
            )
            tiny.make_ours(daemon, plugins)
            tiny.grow_old()
            return daemon

        return self.once(("stopped", plugins), make)

    def running(self, plugins, kernels=1):
        """A daemon that serves so many plugins, all active."""

        def make():
            daemon = self.stack.enter_context(
                harness.Daemon(start=False, options=["--log-level", "error"])
            )
            tiny.make_ours(daemon, plugins, tiny.kernels(kernels))
            tiny.grow_old()
            daemon.start()
            expect_all_active(daemon, plugins)
            return daemon

        return self.once(("running", plugins, kernels), make)

    def builtin(self):
        """A daemon that serves the plugins of the build tree."""

        def make():
            daemon = self.stack.enter_context(harness.Daemon(builtin=True))
            daemon.settle()
            return daemon

        return self.once("builtin", make)

    def peers(self, plugins):
        """The environment in which GStreamer sees as many plugins of its own, and no other."""
        needs("gst-inspect-1.0", "gstreamer1.0-tools")
        if tiny.gstreamer_flags() is None:
            raise Skip("GStreamer's headers are not installed (Debian: libgstreamer1.0-dev)")

        def make():
            place = os.path.join(self.place(), f"gstreamer{plugins}")
            os.mkdir(place)
            tiny.make_peers(os.path.join(place, "plugins"), plugins)
            tiny.grow_old()
            return {
                "GST_PLUGIN_SYSTEM_PATH_1_0": os.path.join(place, "plugins"),
                "GST_REGISTRY": os.path.join(place, "registry.bin"),
            }

        return self.once(("peers", plugins), make)


def expect_all_active(daemon, plugins):
    counts = daemon.settle()["plugins"]
    if counts["active"] != plugins:
        raise RuntimeError(f"not all of {plugins} plugins are active: {counts}")


# ---- processes ----


def processes(scenes, commands, pairs, env=None):
    """Pairs of milliseconds of two commands, run in turn."""
    command = [driver("clock"), str(pairs)]
    for part in commands:
        command += ["--", *part]
    return [[int(n) / 1e6 for n in words] for words in run(command, env)]


def ctl(scenes, plugins, arguments):
    """A whole run of pluginctl against one of /bin/true."""
    daemon = scenes.running(plugins)
    ours = [os.path.join(harness.BUILD, "pluginctl"), "--socket", daemon.socket, *arguments]
    # Cheap, and as short as what disturbs them: ten times as many.
    pairs = processes(scenes, [ours, ["/bin/true"]], 10 * scenes.pairs)
    return Result("ms", *zip(*pairs), commands=[ours, ["/bin/true"]])


# ---- starts ----


def forget(daemon):
    """So that the next start is the first. New directories: ext4 takes a long time to make
    files where many have just been removed, which is none of what is measured."""
    place = tempfile.mkdtemp(prefix="start.", dir=daemon.place)
    daemon.state_dir = os.path.join(place, "state")
    daemon.cache_dir = os.path.join(place, "cache")


def start_command(daemon):
    wait = call("Status", wait=True)
    return [driver("start"), daemon.socket, wait, '"pending":[]', "--", *daemon.command()]


def time_start(daemon):
    """Milliseconds from exec to the reply with nothing pending."""
    words = run(start_command(daemon), daemon.environment())
    return int(words[0][0]) / 1e6


def gstreamer_command(plugins):
    return ["gst-inspect-1.0", "--exists", "--atleast-version=1.0", tiny.name_of(plugins - 1)]


def time_peer(plugins, env, cold):
    if cold and os.path.exists(env["GST_REGISTRY"]):
        os.unlink(env["GST_REGISTRY"])
    words = run([driver("clock"), "1", "--", *gstreamer_command(plugins)], env)
    return int(words[0][0]) / 1e6


def starts(scenes, plugins, cold):
    """The daemon's start against GStreamer's, both with or both without what they keep."""
    env = scenes.peers(plugins)
    daemon = scenes.stopped(plugins)
    expect_start(daemon, plugins)
    time_peer(plugins, env, True)
    ours, peer = [], []
    for _ in range(scenes.pairs):
        if cold:
            forget(daemon)
        ours.append(time_start(daemon))
        peer.append(time_peer(plugins, env, cold))
    words = [f"{k}={v}" for k, v in env.items()]
    commands = [start_command(daemon), ["env", *words, *gstreamer_command(plugins)]]
    return Result("ms", ours, peer, commands)


def expect_start(daemon, plugins):
    """What the clock cannot see: that all of them come to be active."""
    forget(daemon)
    daemon.start()
    try:
        expect_all_active(daemon, plugins)
    finally:
        daemon.stop()


def growth(scenes, plugins, fewer):
    """The first start with many plugins against that with fewer."""
    many, few = scenes.stopped(plugins), scenes.stopped(fewer)
    expect_start(many, plugins)
    ours, peer = [], []
    for _ in range(scenes.pairs):
        for daemon, times in [(many, ours), (few, peer)]:
            forget(daemon)
            times.append(time_start(daemon))
    return Result("ms", ours, peer, [start_command(many), start_command(few)])


# ---- drivers that measure both sides themselves ----


def pairs_of(scenes, name, *arguments):
    """A driver's own pairs: a line with the unit, then lines of two numbers."""
    command = [
        driver(name),
        *(a.format(pairs=scenes.pairs, build=harness.BUILD) for a in arguments),
    ]
    (unit, *rest), *lines = run(command)
    if rest or len(lines) < scenes.pairs:
        raise RuntimeError(f"{name} did not print a unit and {scenes.pairs} pairs")
    ours, peer = zip(*[(float(a), float(b)) for a, b in lines])
    return Result(unit, ours, peer, [command])


def rates_of(scenes, name, *arguments):
    """A driver's own medians, of as many rounds: an object with ours, peer and unit."""
    command = [
        driver(name),
        *(a.format(pairs=scenes.pairs, build=harness.BUILD) for a in arguments),
    ]
    lines = run(command)
    if not lines:
        raise Skip(f"{command[-1]} does not run on this machine")
    told = json.loads(" ".join(lines[0]))
    return Result(told["unit"], [told["ours"]], [told["peer"]], [command])


# ---- sites ----


def sites(scenes, mode, has_peer, plugins=0, kernels=1):
    """tests/bench/site.c at a daemon with the built plugins, or with tiny ones."""
    if plugins:
        daemon = scenes.running(plugins, kernels)
    else:
        daemon = scenes.builtin()
    command = [driver("site"), mode, str(scenes.pairs), daemon.socket]
    (unit,), *lines = run(command)
    ours, peer = zip(*[(float(a), float(b)) for a, b in lines])
    return Result(unit, ours, peer if has_peer else (), [command])


# ---- the socket ----


def requests(count):
    """Different requests, each of which selects something."""
    return [
        call("Select", request={"operation": "elementwise/square", "shape": {"n": 64 * (i + 1)}})
        for i in range(count)
    ]


def write_messages(path, messages):
    with open(path, "wb") as file:
        for message in messages:
            file.write(b"%d\n%b" % (len(message), message))


def resp(*words):
    """A command of Redis."""
    words = [w.encode() for w in words]
    return b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%b\r\n" % (len(w), w) for w in words)


@contextlib.contextmanager
def redis(place, values):
    """A Redis of our own on a socket, which holds `values`."""
    socket_path = os.path.join(place, "redis.sock")
    command = [needs("redis-server", "redis-server"), "--port", "0", "--unixsocket", socket_path]
    command += ["--save", "", "--appendonly", "no", "--daemonize", "no", "--logfile", "/dev/null"]
    command += ["--dir", place]
    process = subprocess.Popen(command)
    try:
        harness.wait_until(lambda: os.path.exists(socket_path), "the socket of redis-server")
        with sockets.socket(sockets.AF_UNIX) as connection:
            connection.connect(socket_path)
            for key, value in values.items():
                connection.sendall(resp("SET", key, value))
                if connection.recv(64) != b"+OK\r\n":
                    raise RuntimeError("redis-server did not take a value")
        yield process, socket_path, command
    finally:
        process.terminate()
        process.wait()


@contextlib.contextmanager
def changing(daemon):
    """Another generation every second, by decisions about a plugin that never wins."""
    over = threading.Event()

    def work():
        with daemon.client() as client:
            method = "Disable"
            while not over.wait(1):
                client.call(method, {"name": tiny.name_of(999)})
                method = "Enable" if method == "Disable" else "Disable"

    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def served(scenes, connections, distinct, seconds):
    """Replies a second of the daemon to Select and of Redis to GET, from one generator."""
    daemon = scenes.running(1000, 10)
    messages = requests(distinct)
    with daemon.client() as client:
        values = {
            m: json.dumps({"parameters": client.call("Select", json.loads(m)["parameters"])})
            for m in messages
        }
    files = [os.path.join(scenes.place(), side) for side in ["varlink", "redis"]]
    write_messages(files[0], [m.encode() + b"\0" for m in messages])
    write_messages(files[1], [resp("GET", m) for m in messages])
    two = len(os.sched_getaffinity(0)) > 1
    with redis(scenes.place(), values) as (peer, peer_socket, peer_command), changing(daemon):
        if two:
            for pid in [daemon.pid, peer.pid]:
                os.sched_setaffinity(pid, {0})
        rest = [str(connections), str(seconds), "1" if two else "-1"]
        commands = [
            [driver("load"), "varlink", daemon.socket, *rest, files[0]],
            [driver("load"), "redis", peer_socket, *rest, files[1]],
        ]
        samples = [[float(run(c)[0][0]) for c in commands] for _ in range(scenes.pairs)]
    return Result("1/s", *zip(*samples), commands=[*commands, peer_command])


# ---- memory ----


def smaps(pid, field):
    with open(f"/proc/{pid}/smaps_rollup", encoding="ascii") as file:
        return next(int(line.split()[1]) for line in file if line.startswith(field + ":"))


def used(daemon, field):
    """KiB of the daemon and its launcher."""
    return sum(smaps(pid, field) for pid in [daemon.pid, *harness.children(daemon.pid)])


def come_to_rest(daemon):
    """What was found out is written a second later, and its memory given back."""
    harness.wait_until(lambda: len(harness.children(daemon.pid)) <= 1, "workers to end")
    tiny.grow_old()


def memory(scenes, plugins, kernels):
    """What the daemon and its launcher hold after the first scan."""
    samples = []
    for _ in range(3):
        with harness.Daemon(start=False, options=["--log-level", "error"]) as daemon:
            if plugins:
                tiny.make_ours(daemon, plugins, tiny.kernels(kernels))
            daemon.start()
            expect_all_active(daemon, plugins)
            come_to_rest(daemon)
            samples.append(used(daemon, "Pss") / 1024)
    return Result("MiB", samples, commands=[["cat", "/proc/PID/smaps_rollup"]])


def memory_more(scenes, plugins, kernels, more):
    """Private bytes of each kernel beyond the first ones."""
    sums = []
    for count in [kernels, more]:
        with harness.Daemon(start=False, options=["--log-level", "error"]) as daemon:
            tiny.make_ours(daemon, plugins, tiny.kernels(count))
            daemon.start()
            expect_all_active(daemon, plugins)
            come_to_rest(daemon)
            sums.append(used(daemon, "Private_Dirty") * 1024)
    each = (sums[1] - sums[0]) / (plugins * (more - kernels))
    return Result("B", [each], commands=[["cat", "/proc/PID/smaps_rollup"]])
