# SPDX-License-Identifier: MIT
"""A machine of its own for a test: a real systemd, with kplug installed from the build.

    with Machine() as machine:
        machine.run("systemctl", "start", "plugind.service")
        machine.ctl("list", user="alice").stdout

It is made of this machine's root file system, copy on write (tests/boot): nothing is
written here, and nothing is left. Where that cannot be done, the test is skipped.
"""

import glob
import json
import os
import shutil
import subprocess
import tempfile
import time
import unittest

from harness import BUILD, HERE, PATIENCE_S, ROOT, SANITIZER, make_plugin, wait_until, write

# Where `make install` puts things without further words.
PREFIX = "/usr/local"
SOCKET = "/run/kplug/plugind.sock"
MANIFESTS = "/etc/kplug/plugins.d"
LIBRARIES = PREFIX + "/lib/kplug/plugins"
DROP_INS = "/etc/systemd/system/plugind.service.d"
CANNOT = 77

# Under sanitizers memory has other bounds, and leaks are looked for by tracing.
SANITIZED = """[Service]
Environment=ASAN_OPTIONS=detect_leaks=0:exitcode=99 TSAN_OPTIONS=exitcode=99
Environment=UBSAN_OPTIONS=exitcode=99:halt_on_error=1
MemoryDenyWriteExecute=no
SystemCallFilter=personality
LockPersonality=no
"""


class Machine:
    def __init__(self, install=True):
        self.place = tempfile.mkdtemp(prefix="kplug-machine.")
        os.chmod(self.place, 0o755)
        self.process = None
        self.reset_us = 0
        try:
            self.boot()
            if install:
                self.install()
        except BaseException:
            self.close()
            raise

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    # -- life

    def boot(self):
        # What is on the root file system is there by itself.
        shared = [self.place]
        shared += [d for d in (ROOT, BUILD) if os.stat(d).st_dev != os.stat("/").st_dev]
        words = [word for d in shared for word in ("--share", d)]
        with open(os.path.join(self.place, "boot"), "w+", encoding="utf-8") as said:
            self.process = subprocess.Popen(
                [os.path.join(HERE, "boot"), *words],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=said,
                text=True,
            )
            line = self.process.stdout.readline().split()
            if line[:1] == ["booted"]:
                self.pid = int(line[1])
                return
            status = self.process.wait()
            said.seek(0)
            text = said.read().strip()
        if status == CANNOT:
            raise unittest.SkipTest(text)
        raise AssertionError(f"tests/boot ended with {status}: {text}")

    def install(self):
        # With the flags of the build, so that nothing is built.
        with open(os.path.join(BUILD, "flags"), encoding="utf-8") as file:
            flags = file.read().splitlines()
        self.run("make", "-s", "-C", ROOT, f"BUILD={BUILD}", *flags, "install")
        self.run("systemd-sysusers")
        self.run("systemd-tmpfiles", "--create", "kplug.conf")
        if SANITIZER:
            self.drop_in("sanitized", SANITIZED)
        self.run("systemctl", "daemon-reload")

    def close(self):
        try:
            if self.process is not None:
                self.process.stdin.close()
                self.process.stdout.close()
                self.process.wait(PATIENCE_S)
        finally:
            shutil.rmtree(self.place, ignore_errors=True)

    # -- what is done in it

    def words(self, *command, user=None):
        """The command that runs `command` there, with an environment of its own."""
        enter = ["nsenter", "-t", str(self.pid), "-m", "-u", "-i", "-n", "-p", "-C", "--wdns=/"]
        if user:
            enter += ["setpriv", f"--reuid={user}", f"--regid={user}", "--init-groups"]
        path = f"{PREFIX}/sbin:{PREFIX}/bin:/usr/sbin:/usr/bin:/sbin:/bin"
        return [*enter, "env", "-i", f"PATH={path}", "LANG=C.UTF-8", *command]

    def begin(self, *command, user=None):
        """Runs it meanwhile."""
        return subprocess.Popen(
            self.words(*command, user=user),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(self, *command, user=None, check=True):
        """Runs it to its end, which must be good where `check`."""
        done = subprocess.run(
            self.words(*command, user=user),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            check=False,
        )
        if check and done.returncode != 0:
            raise AssertionError(
                f"{' '.join(command)} ended with {done.returncode}:\n{done.stdout}{done.stderr}"
                + self.run("journalctl", "--no-pager", "-n", "30", check=False).stdout
            )
        return done

    def ctl(self, *arguments, user=None, check=True):
        return self.run("pluginctl", *arguments, user=user, check=check)

    def start(self, *units):
        self.run("systemctl", "start", *(units or ["plugind.service"]))

    def show(self, name, unit="plugind.service"):
        return self.run("systemctl", "show", "--value", "-p", name, unit).stdout.strip()

    def main_pid(self):
        return int(self.show("MainPID"))

    def drop_in(self, name, text):
        self.write(f"{DROP_INS}/{name}.conf", text)
        self.run("systemctl", "daemon-reload")

    def reset(self):
        """As after the installation: nothing runs, nothing was decided, nothing added."""
        self.run("systemctl", "stop", "plugind.socket", "plugind.service")
        self.run("systemctl", "reset-failed", "plugind.socket", "plugind.service", check=False)
        kept = self.path(f"{DROP_INS}/sanitized.conf")
        for made in (f"{DROP_INS}/*", "/etc/kplug/*.json", f"{MANIFESTS}/*"):
            for path in glob.glob(self.path(made)):
                if path != kept:
                    os.unlink(path)
        for directory in ("/var/lib/kplug", "/var/cache/kplug"):
            shutil.rmtree(self.path(directory), ignore_errors=True)
        self.run("systemctl", "daemon-reload")
        self.reset_us = time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000

    def add_user(self, name, *groups):
        self.run("useradd", "-M", "-U", *(["-G", ",".join(groups)] if groups else []), name)

    # -- its files

    def path(self, path):
        """A file there, as seen from here."""
        return f"/proc/{self.pid}/root{path}"

    def write(self, path, text):
        os.makedirs(os.path.dirname(self.path(path)), exist_ok=True)
        write(self.path(path), text)

    def add(self, name, kernels=None, manifest=None, **plugin):
        """Compiles NAME.so here, installs it there, writes NAME.json."""
        made = os.path.join(self.place, name + ".so")
        make_plugin(made, name, kernels, **plugin)
        shutil.copy(made, self.path(f"{LIBRARIES}/{name}.so"))
        keys = {"library": name + ".so", **(manifest or {})}
        write(self.path(f"{MANIFESTS}/{name}.json"), json.dumps(keys))

    def remove(self, name):
        os.unlink(self.path(f"{MANIFESTS}/{name}.json"))

    # -- what is asked

    def plugins(self):
        """name -> plugin, once each has its verdict."""
        self.ctl("status", "--wait")
        listed = json.loads(self.ctl("--json", "list").stdout)
        return {p["name"]: p for p in listed["plugins"]}

    def journal(self, name="plugind", unit="plugind.service"):
        """(priority, text) of each line since the last reset that `name` said, in order."""
        self.run("journalctl", "--sync")
        command = ["journalctl", "-u", unit, "-t", name, "-o", "json", "--no-pager"]
        entries = [json.loads(line) for line in self.run(*command).stdout.splitlines()]
        recent = [e for e in entries if int(e["__MONOTONIC_TIMESTAMP"]) > self.reset_us]
        return [(int(e["PRIORITY"]), e["MESSAGE"]) for e in recent]

    def await_journal(self, text):
        """Waits for a line that contains the text; all that do."""
        return wait_until(
            lambda: [line for line in self.journal() if text in line[1]],
            f"{text!r} in the journal",
        )
