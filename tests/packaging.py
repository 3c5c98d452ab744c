# SPDX-License-Identifier: MIT
"""Debian packages of the build, and a machine that they are installed on.

    new = packages()          # name -> path of its .deb, version 0.1.0
    old = packages(older=True)  # the same sources as they would be one version before
    with Packaged() as machine:
        machine.dpkg("-i", *new.values())

They are made by debian/rules from the objects of the build, once for all tests of a run.
"""

import fcntl
import glob
import os
import re
import shutil
import subprocess
import tempfile
import threading
import unittest

from application import Application
from harness import BUILD, HERE, ROOT, SANITIZER
from machine import SOCKET, Machine
from test_install import make

MADE = os.path.join(BUILD, "tests", "packages")
# A release before, whose plugins are not for this one, nor the other way round.
OLDER = "0.0.9"
TOOLS = ("dpkg-buildpackage", "dh", "dh_python3", "lintian")


def skip_unless_possible():
    if SANITIZER:
        raise unittest.SkipTest("a package is made of a build without sanitizers")
    for tool in TOOLS:
        if not shutil.which(tool):
            raise unittest.SkipTest(f"{tool} is not installed")


def substitute(path, pattern, text):
    with open(path, encoding="utf-8") as file:
        before = file.read()
    after, count = re.subn(pattern, text, before, count=1, flags=re.M)
    assert count == 1, (path, pattern)
    with open(path, "w", encoding="utf-8") as file:
        file.write(after)


def unpack_sources(place):
    """The files of `make dist`, as old as the build's flags; where they are."""
    done = make(BUILD, "dist", f"DIST={place}/kplug.tar.gz")
    if done.returncode != 0:
        raise AssertionError(done.stdout + done.stderr)
    subprocess.run(["tar", "-xmf", f"{place}/kplug.tar.gz", "-C", place], check=True)
    (tree,) = glob.glob(f"{place}/kplug-*")
    flags = os.stat(f"{BUILD}/flags")
    for parent, _, names in os.walk(tree):
        for name in names:
            os.utime(os.path.join(parent, name), ns=(flags.st_mtime_ns, flags.st_mtime_ns))
    return tree


def version(older=False):
    """As programs call themselves."""
    with open(f"{BUILD}/gen/version", encoding="utf-8") as file:
        return OLDER if older else file.read().split()[0]


def make_older(tree):
    """A release back: its number, what its plugins ask for, an interface that lacks things."""
    substitute(f"{tree}/Makefile", r"^(VERSION +:=) .*$", rf"\1 {OLDER}")
    substitute(f"{tree}/Makefile", r"^(PROTOCOL +:=) .*$", r"\1 0")
    substitute(f"{tree}/debian/changelog", r"^kplug \(.*?\)", f"kplug ({OLDER})")
    for path in glob.glob(f"{tree}/plugins/*/plugin.json"):
        stamp = os.stat(path)
        host = f'"host": {{"min": "{OLDER}", "max": "{version()}"}}'
        substitute(path, r'"host": \{"min": ".*?", "max": ".*?"\}', host)
        # Of a plugin only what has the note in it is compiled again.
        os.utime(path, ns=(stamp.st_mtime_ns, stamp.st_mtime_ns))
        note = path.replace(f"{tree}/", f"{tree}/build/obj/").replace(".json", ".o")
        if os.path.exists(note):
            os.unlink(note)
    path = f"{tree}/lib/org.kplug.Manager.varlink"
    command = [f"{HERE}/peers/interface", path, "-1"]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def flags_of_build():
    """As words of a command line of make, quoted for the shell."""
    with open(f"{BUILD}/flags", encoding="utf-8") as file:
        pairs = [line.split("=", 1) for line in file.read().splitlines()]
    return " ".join(f'{name}="{value}"' for name, value in pairs)


def of_tests(parent, names):
    """What of a build is not of `make all`."""
    leave = {f"{BUILD}/{name}" for name in ("tests", "bench", "deb", "asan", "ubsan", "tsan")}
    leave |= {f"{BUILD}/obj/tests", f"{BUILD}/obj/fake", f"{BUILD}/gen/fake-cuda"}
    return [name for name in names if os.path.join(parent, name) in leave]


def build(target, older):
    with tempfile.TemporaryDirectory(prefix="kplug-packages.") as place:
        tree = unpack_sources(place)
        os.rename(f"{tree}/daemon/debian", f"{tree}/debian")
        shutil.copytree(BUILD, f"{tree}/build", symlinks=True, ignore=of_tests)
        if older:
            make_older(tree)
        env = {k: v for k, v in os.environ.items() if not k.startswith("MAKE")}
        env.update(
            KPLUG_FLAGS=flags_of_build(),
            DEB_BUILD_OPTIONS="noautodbgsym",
            DPKG_DEB_COMPRESSOR_TYPE="gzip",
            DPKG_DEB_COMPRESSOR_LEVEL="1",
        )
        command = ["dpkg-buildpackage", "-b", "-nc", "-us", "-uc"]
        if os.path.exists(f"{BUILD}/plugins/cuda.so") and not older:
            command.append("-Ppkg.kplug.cuda")
        done = subprocess.run(
            command, cwd=tree, env=env, capture_output=True, text=True, check=False
        )
        if done.returncode != 0:
            raise AssertionError(done.stdout[-4000:] + done.stderr[-4000:])
        shutil.rmtree(target, ignore_errors=True)
        os.makedirs(target)
        for path in glob.glob(f"{place}/kplug_*") + glob.glob(f"{place}/*.deb"):
            shutil.copy(path, target)
        with open(f"{target}/log", "w", encoding="utf-8") as file:
            file.write(done.stdout)


def newest(paths):
    return max((os.stat(path).st_mtime_ns for path in paths), default=0)


def is_current(target):
    """Whether the log, its last file, is younger than all that is packaged."""
    log = f"{target}/log"
    programs = ("plugind", "pluginctl", "plugin-worker", "libkplug.so.0")
    parts = [f"{BUILD}/{name}" for name in programs]
    parts += glob.glob(f"{BUILD}/plugins/*.so") + glob.glob(f"{ROOT}/man/*")
    for place in ("daemon/debian", "daemon/units", "lib/include/kplug", "lib/python/kplug"):
        parts += glob.glob(f"{ROOT}/{place}/*.*") + [f"{ROOT}/daemon/debian/rules"]
    parts += [f"{ROOT}/Makefile", __file__]
    return os.path.exists(log) and os.stat(log).st_mtime_ns > newest(parts)


def packages(older=False):
    """name -> path; they are made unless they are there."""
    skip_unless_possible()
    os.makedirs(MADE, exist_ok=True)
    target = os.path.join(MADE, "older" if older else "current")
    with open(f"{target}.lock", "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not is_current(target):
            build(target, older)
    return {os.path.basename(p).split("_")[0]: p for p in sorted(glob.glob(f"{target}/*.deb"))}


SCRIPT = "/usr/local/share/application.py"


class Packaged(Machine):
    """A machine without kplug, but for what dpkg installs."""

    def __init__(self):
        super().__init__(install=False)
        self.add_user("alice")
        # The index of all pages of this machine has nothing to do with it, and takes its time.
        self.run("rm", "-f", "/var/lib/man-db/auto-update")
        with open(os.path.join(HERE, "application.py"), encoding="utf-8") as file:
            self.write(SCRIPT, file.read())

    def dpkg(self, *words, check=True):
        quick = "--force-unsafe-io"  # what is thrown away need not be on the disk
        return self.run("dpkg", quick, *words, check=check)

    def install_packages(self, debs):
        """All of them, in one go."""
        return self.dpkg("--install", *debs.values())

    def application(self, user="alice"):
        """One of this user, with the module and the library that are installed."""
        return Application(SOCKET, command=self.words("/usr/bin/python3", SCRIPT, user=user))


class Busy:
    """Has an application call, hundreds of times a second.

    with Busy(application) as busy:
        ...
    busy.calls, busy.results
    """

    def __init__(self, application):
        self.application = application
        self.calls, self.results = 0, set()
        self.ending = threading.Event()
        self.thread = threading.Thread(target=self.spin)

    def spin(self):
        while not self.ending.wait(0.02):  # others need the processor, too
            told = self.application.ask("spin", 0.01)
            self.calls += told["calls"]
            self.results.update(told["results"])

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.ending.set()
        self.thread.join()


if __name__ == "__main__":
    try:
        packages()
        packages(older=True)
    except unittest.SkipTest:
        pass  # the tests will say so
