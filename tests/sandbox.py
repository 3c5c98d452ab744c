# SPDX-License-Identifier: MIT
"""A directory that stands for a machine with kplug installed, and a user on it.

Below it are /usr/local as `make install` fills it, and the home of `you`. Commands run
there as that user would run them; in what they print the directory is left out, so that
they read as on a real machine.
"""

import os
import re
import shutil
import tempfile

from test_install import make

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
BUILD = os.path.abspath(os.environ.get("KPLUG_BUILD", os.path.join(ROOT, "build")))
HOME = "home/you"
RUNTIME = "run/user/1000"
# Absolute places of commands, which are here below the directory.
PLACES = ("/usr/local/", "/etc/kplug", "/run/kplug", "/var/lib/kplug", f"/{HOME}")
# Plugins that every x86-64 with AVX2 has and can run; others need a library or nvcc.
PLUGINS = ("reference", "x86")
# The same machine everywhere: a plugin for more than this is not selected.
PLATFORM = """{
  "name": "x86-64-v3",
  "devices": [
    {"id": "cpu", "kind": "cpu", "vendor": "x86-64", "name": "AMD EPYC", "arch": "3.0",
     "features": ["avx", "avx2", "bmi1", "bmi2", "f16c", "fma", "sse4_2"]}
  ]
}
"""


def link(source, target):
    """Another name of a file, or a copy: what is built is not changed, only looked at."""
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)


class Sandbox:
    def __init__(self):
        self.root = os.path.realpath(tempfile.mkdtemp(prefix="kplug-man."))
        build = os.path.join(self.root, "build")
        leave = shutil.ignore_patterns("tests", "*.a.tmp")
        shutil.copytree(BUILD, build, symlinks=True, ignore=leave, copy_function=link)
        done = make(build, "install", f"DESTDIR={self.root}")
        shutil.rmtree(build)
        if done.returncode != 0:
            self.close()
            raise AssertionError(done.stdout + done.stderr)
        for place, suffix in (("plugins", ".so"), ("plugins.d", ".json")):
            place = self.path(f"/usr/local/lib/kplug/{place}")
            for name in os.listdir(place):
                if name not in [p + suffix for p in PLUGINS]:
                    os.unlink(os.path.join(place, name))
        self.renew()

    def path(self, place):
        return self.root + place

    def renew(self):
        """Another user, who has nothing yet."""
        for place in (f"/{HOME}", f"/{RUNTIME}"):
            shutil.rmtree(self.path(place), ignore_errors=True)
            os.makedirs(self.path(place))
        config = self.path(f"/{HOME}/.config/kplug")
        os.makedirs(config)
        with open(os.path.join(config, "platform"), "w", encoding="utf-8") as file:
            file.write(PLATFORM)
        with open(os.path.join(config, "plugind.json"), "w", encoding="utf-8") as file:
            file.write('{"platform": "platform"}\n')

    def environment(self):
        leave = ("KPLUG_", "XDG_", "NO_COLOR", "LD_LIBRARY_PATH")
        env = {k: v for k, v in os.environ.items() if not k.startswith(leave)}
        lib, include = self.path("/usr/local/lib"), self.path("/usr/local/include")
        programs = [self.path("/usr/local/bin"), self.path("/usr/local/sbin")]
        env.update(
            HOME=self.path(f"/{HOME}"),
            XDG_RUNTIME_DIR=self.path(f"/{RUNTIME}"),
            KPLUG_SOCKET=self.path(f"/{RUNTIME}/kplug/plugind.sock"),
            PATH=":".join([*programs, "/usr/bin:/bin", env["PATH"]]),
            PYTHONPATH=self.modules(),
            # As a compiler and a loader look into /usr/local by themselves.
            C_INCLUDE_PATH=include,
            CPLUS_INCLUDE_PATH=include,
            LIBRARY_PATH=lib,
            LD_LIBRARY_PATH=lib,
            PKG_CONFIG_PATH=os.path.join(lib, "pkgconfig"),
            PKG_CONFIG_SYSROOT_DIR=self.root,
            MANPATH=self.path("/usr/local/share/man"),
            NO_COLOR="1",
            TERM="dumb",
            TZ="UTC",
            LC_ALL="C.UTF-8",
        )
        for name in ("MAKEFLAGS", "MAKELEVEL"):
            env.pop(name, None)
        return env

    def modules(self):
        """Where Debian's Python looks below /usr/local by itself."""
        lib = self.path("/usr/local/lib")
        found = [n for n in os.listdir(lib) if n.startswith("python")]
        return os.path.join(lib, found[0], "dist-packages")

    def inside(self, command):
        """A command with absolute places where they are here."""
        for place in PLACES:
            command = command.replace(place, self.root + place)
        return command

    def outside(self, text):
        """What it printed, as it would be without this directory, for the user `you`."""
        return re.sub(rf"\buid {os.getuid()}\b", "uid 1000", text.replace(self.root, ""))

    def close(self):
        shutil.rmtree(self.root, ignore_errors=True)
