# SPDX-License-Identifier: MIT
"""kplug as `make install` puts it somewhere, and programs that know only that.

    with Installed() as kplug:
        kplug.build("decoder.c", "gcc", "-std=c99")   # by pkg-config; the path
        kplug.daemon()                                # harness.Daemon of its programs
"""

import os
import shutil
import subprocess
import tempfile

from harness import BUILD, HERE, SANITIZER, Daemon
from test_install import make


class InstalledDaemon(Daemon):
    """The installed plugind, which finds worker, families and plugins by itself."""

    def __init__(self, root, **keywords):
        self.root = root
        super().__init__(**keywords)

    def command(self):
        command = [os.path.join(self.root, "sbin", "plugind")]
        for path in self.manifest_dirs:
            command += ["--manifest-dir", path]
        command += ["--manifest-dir", os.path.join(self.root, "lib/kplug/plugins.d")]
        command += ["--state-dir", self.state_dir, "--cache-dir", self.cache_dir]
        return command + ["--socket", self.socket] + self.options


class Installed:
    def __init__(self):
        self.place = tempfile.mkdtemp(prefix="kplug-installed.")
        self.root = os.path.join(self.place, "root")
        # A copy: places are compiled in, and others use the build meanwhile.
        build = os.path.join(self.place, "build")
        leave = shutil.ignore_patterns("tests", "*.a.tmp", "fake*")
        shutil.copytree(BUILD, build, symlinks=True, ignore=leave)
        done = make(build, "install", f"prefix={self.root}", f"sysconfdir={self.root}/etc")
        shutil.rmtree(build)
        if done.returncode != 0:
            self.close()
            raise AssertionError(done.stdout + done.stderr)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        shutil.rmtree(self.place, ignore_errors=True)

    def pkg_config(self, *what):
        env = dict(os.environ, PKG_CONFIG_PATH=f"{self.root}/lib/pkgconfig")
        words = ["pkg-config", *(what or ("--cflags", "--libs")), "kplug"]
        return subprocess.run(
            words, env=env, capture_output=True, text=True, check=True
        ).stdout.split()

    def build(self, name, compiler, *flags):
        """Compiles a program of tests/examples, strictly; its path."""
        program = os.path.join(self.place, f"{name}.{compiler}{''.join(flags)}")
        source = os.path.join(HERE, "examples", name)
        words = [compiler, *flags, "-O2", "-Wall", "-Wextra", "-Wpedantic", "-Wshadow"]
        words += ["-Werror", source, "-o", program, *self.pkg_config()]
        words += [f"-fsanitize={SANITIZER}"] if SANITIZER else []
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise AssertionError(done.stderr)
        return program

    def daemon(self, **keywords):
        return InstalledDaemon(self.root, **keywords)

    def environment(self, **more):
        """For a program: no plugind but what `more` leads to."""
        env = {k: v for k, v in os.environ.items() if not k.startswith(("KPLUG_", "XDG_"))}
        return {**env, "LD_LIBRARY_PATH": f"{self.root}/lib", **more}

    def private(self):
        """Environment of a user who has no plugind; its directories are below `place`."""
        home = tempfile.mkdtemp(prefix="u.", dir=self.place)
        names = {n: os.path.join(home, n) for n in ("RUNTIME_DIR", "CONFIG_HOME")}
        names.update({n: os.path.join(home, n) for n in ("STATE_HOME", "CACHE_HOME")})
        for path in names.values():
            os.mkdir(path, 0o700)
        return {f"XDG_{name}": path for name, path in names.items()}
