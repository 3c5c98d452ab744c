# SPDX-License-Identifier: MIT
"""`pluginctl doctor`: each thing that keeps kplug from working well, and what to do about it."""

import copy
import json
import os
import re
import resource
import shutil
import socket
import subprocess
import tempfile
import time

import jsonschema

import fake_plugind
from elf import Elf
from fake_plugind import Fake
from harness import ROOT, Daemon, kernel, make_plugin, write
from pluginctl import BUILD, PLUGINCTL, Case, as_nobody, call, environment
from test_check import load_schema
from test_identify import fixture


class Doctor(Case):
    """A place without a plugind, or a private one; and what is found there."""

    def setUp(self):
        place = tempfile.TemporaryDirectory(prefix="kplug-doctor.")
        self.addCleanup(place.cleanup)
        os.chmod(place.name, 0o755)
        self.dir = place.name
        for name in ("manifests", "plugins", "state", "runtime", "root"):
            os.mkdir(self.path(name))

    def path(self, name):
        return os.path.join(self.dir, name)

    def words(self, **options):
        usual = {
            "socket": self.path("plugind.sock"),
            "manifest-dir": self.path("manifests"),
            "plugin-dir": self.path("plugins"),
            "state-dir": self.path("state"),
            "root": self.path("root"),
            **options,
        }
        named = [word for key, value in usual.items() if value for word in (f"--{key}", value)]
        at = named.index("--socket") if "--socket" in named else None
        front = named[at : at + 2] if at is not None else []
        rest = [w for w in named if w not in front]
        return [*front, "doctor", *rest, "--json"]

    def env(self, **more):
        ours = {name: None for name in os.environ if name.startswith("KPLUG_")}
        places = {"XDG_RUNTIME_DIR": self.path("runtime"), "XDG_CONFIG_HOME": self.path("config")}
        return environment(**{**ours, **places, **more})

    def findings(self, options=None, wrapper=(), env=None, **how):
        words = self.words(**(options or {}))
        if wrapper:
            done = subprocess.run(
                [*wrapper, PLUGINCTL, *words],
                capture_output=True,
                check=False,
                stdin=subprocess.DEVNULL,
                timeout=60,
                env=self.env(**(env or {})),
            )
        else:
            done = call(*words, env=self.env(**(env or {})), **how)
        self.assertIn(done.returncode, (0, 1), done.stderr)
        document = json.loads(done.stdout)
        jsonschema.validate(document, load_schema())
        counts = document["counts"]
        self.assertEqual(done.returncode, 1 if counts["error"] + counts["warning"] else 0)
        return document["findings"]

    def codes(self, *args, **options):
        """But for what any machine may have."""
        known = ("clock_not_kept",)
        return [row["code"] for row in self.findings(*args, **options) if row["code"] not in known]

    def with_fake(self, status=None, devices=None, nobody=False):
        replies = copy.deepcopy(fake_plugind.REPLIES)
        replies["Status"].update({"warnings": [], **(status or {})})
        replies["Devices"] = {"warnings": [], "devices": [], **(devices or {})}
        with Fake(Status=replies["Status"], Devices=replies["Devices"]) as fake:
            if not nobody:
                return self.findings({"socket": fake.path})
            os.chmod(fake.path, 0o666)
            with as_nobody(fake.path) as options:
                return self.findings({"socket": fake.path}, **options)


class Reaching(Doctor):
    def test_no_daemon(self):
        self.assertEqual(self.codes(), ["no_daemon"])
        with socket.socket(socket.AF_UNIX) as stale:
            stale.bind(self.path("plugind.sock"))
        self.assertEqual(self.codes(), ["no_daemon"])
        self.assertEqual(
            self.codes({"socket": None}, env={"KPLUG_SOCKET": self.path("x")}), ["no_daemon"]
        )

    def test_a_path_that_is_no_socket_address(self):
        self.assertEqual(self.codes({"socket": "/" + "x" * 200}), ["path_too_long"])

    def test_a_daemon_that_does_not_answer(self):
        with socket.socket(socket.AF_UNIX) as server:
            server.bind(self.path("plugind.sock"))
            server.listen(4)
            self.assertEqual(self.codes({"timeout": "0.2"}), ["daemon_silent"])

    def test_a_socket_that_we_may_not_open(self):
        if os.geteuid():
            self.skipTest("only root can become another user")
        os.mkdir(self.path("closed"))
        path = self.path("closed/socket")
        with socket.socket(socket.AF_UNIX) as server, as_nobody(path) as nobody:
            server.bind(path)
            server.listen(4)
            for mode, above in ((0o600, 0o755), (0o666, 0o700), (0o444, 0o755)):
                os.chmod(path, mode)
                os.chmod(self.path("closed"), above)
                self.assertIn("socket_not_permitted", self.codes({"socket": path}, **nobody))

    def test_a_good_machine_has_no_finding(self):
        with Daemon() as daemon:
            daemon.add("good")
            daemon.call("Reload")
            daemon.settle()
            options = {
                "socket": daemon.socket,
                "manifest-dir": daemon.manifest_dirs[0],
                "plugin-dir": daemon.plugin_dir,
                "state-dir": daemon.state_dir,
            }
            self.assertEqual(self.codes(options), [])

    def test_two_daemons(self):
        os.makedirs(self.path("root/run/kplug"))
        os.makedirs(self.path("runtime/kplug"))
        for place in ("root/run/kplug", "runtime/kplug"):
            server = socket.socket(socket.AF_UNIX)
            self.addCleanup(server.close)
            server.bind(self.path(place + "/plugind.sock"))
            server.listen(4)
        self.assertIn("two_daemons", [row["code"] for row in self.with_fake()])

    def test_a_daemon_whose_program_was_replaced_is_to_be_started_again(self):
        program = self.path("program")
        shutil.copy("/bin/sleep", program)
        with subprocess.Popen([program, "1000"]) as process:
            self.addCleanup(process.kill)
            status = {"pid": process.pid}
            self.assertNotIn("daemon_replaced", [row["code"] for row in self.with_fake(status)])
            shutil.copy("/bin/sleep", program + ".new")
            os.rename(program + ".new", program)
            [row] = [row for row in self.with_fake(status) if row["code"] == "daemon_replaced"]
            self.assertEqual(row["file"], program)
            self.assertIn(f"(pid {process.pid})", row["message"])
            self.assertIn("systemctl restart plugind", row["remedy"])
            process.kill()

    def test_warnings_of_the_daemon_are_told_with_their_codes(self):
        rows = self.with_fake(
            {
                "warnings": [
                    {"code": "no_watch", "message": "no inotify"},
                    {"code": "bad_family", "message": "a family"},
                ]
            }
        )
        self.assertEqual(
            [row["code"] for row in rows if row["code"] != "clock_not_kept"],
            ["daemon_warns", "bad_family"],
        )
        self.assertIn("no_watch: no inotify", rows[0]["message"])

    def test_who_is_no_member_of_the_group_is_told(self):
        if os.geteuid():
            self.skipTest("only root can become another user")
        rows = self.with_fake({"mode": "system"}, nobody=True)
        self.assertIn("group_missing", [row["code"] for row in rows])
        rows = self.with_fake({"mode": "private"}, nobody=True)
        self.assertNotIn("group_missing", [row["code"] for row in rows])

    def test_drivers_of_gpus(self):
        gpu = {"id": "nvidia:0", "kind": "gpu", "vendor": "nvidia", "state": "unknown"}
        for code in (
            "driver_version_mismatch",
            "driver_library_missing",
            "driver_hangs",
            "gpu_lost",
        ):
            devices = [{**gpu, "reason": {"code": code, "message": "says it"}}]
            rows = [
                row for row in self.with_fake(devices={"devices": devices}) if row["code"] == code
            ]
            self.assertEqual([row["message"] for row in rows], ["nvidia:0: says it"], code)


class Places(Doctor):
    def test_directories_of_manifests(self):
        self.assertIn("missing_directory", self.codes({"manifest-dir": self.path("absent")}))
        os.chmod(self.path("manifests"), 0o777)
        self.assertIn("writable_by_others", self.codes())
        os.chmod(self.path("manifests"), 0o755)
        self.assertEqual(self.codes(), ["no_daemon"])

    def test_the_plugin_directory(self):
        self.assertIn("missing_directory", self.codes({"plugin-dir": self.path("absent")}))
        os.chmod(self.path("plugins"), 0o722)
        self.assertIn("writable_by_others", self.codes())

    def test_directories_that_we_may_not_read_or_write(self):
        if os.geteuid():
            self.skipTest("only root can become another user")
        with as_nobody(self.path("manifests/x.json")) as nobody:
            for mode, code in (
                (0o700, "unreadable_directory"),
                (0o711, "unreadable_directory"),
                (0o755, "not_writable"),
            ):
                os.chmod(self.path("manifests"), mode)
                self.assertIn(code, self.codes(**nobody))

    def test_file_systems_of_the_store(self):
        mount = 'mount -t tmpfs -o "$0" none "$1" && shift && exec "$@"'
        if subprocess.run(["unshare", "-m", "true"], check=False, capture_output=True).returncode:
            self.skipTest("only root can mount a file system")
        for options, code in (
            ("noexec,size=900m", "store_noexec"),
            ("ro", "store_full"),
            ("size=1m", "store_full"),
            ("nr_inodes=1,size=900m", "store_full"),
        ):
            wrapper = ["unshare", "-m", "sh", "-c", mount, options, self.path("state")]
            for state in ("state", "state/not/yet/there"):
                codes = self.codes({"state-dir": self.path(state)}, wrapper=wrapper)
                self.assertEqual(codes, ["no_daemon", code], options)

    def test_families_and_programs_of_ours(self):
        program = shutil.copy(PLUGINCTL, self.dir)
        for name in ("plugind", "plugin-worker"):
            shutil.copy(os.path.join(BUILD, name), self.dir)
        for name in ("families", "schemas"):
            os.symlink(os.path.abspath(os.path.join(BUILD, name)), self.path(name))
        self.assertEqual(self.codes(program=program), ["no_daemon"])
        os.unlink(self.path("families"))
        os.mkdir(self.path("families"))
        self.assertIn("missing_directory", self.codes(program=program))
        write(self.path("families/gemm.mm.json"), '{"operation": "gemm/mm"}')
        (row,) = [r for r in self.findings(program=program) if r["code"] == "missing_key"]
        self.assertEqual(row["file"], self.path("families/gemm.mm.json"))
        os.chmod(self.path("plugin-worker"), 0o644)
        if os.geteuid() == 0 or not os.access(self.path("plugin-worker"), os.X_OK):
            self.assertIn("no_worker", self.codes(program=program))

    def test_a_clock_that_is_behind(self):
        program = shutil.copy(PLUGINCTL, self.dir)
        shutil.copy(os.path.join(BUILD, "plugind"), self.dir)
        for days, told in ((0, False), (2, True), (400, True)):
            then = time.time() + days * 86400
            os.utime(self.path("plugind"), (then, then))
            self.assertEqual("clock_not_set" in self.codes(program=program), told, days)

    def test_a_configuration_that_plugind_refuses(self):
        os.makedirs(self.path("config/kplug"))
        for text, word in (
            ("{", "JSON"),
            ('{"plugin_dirr": "/x"}', "plugin_dir"),
            ('{"socket": 5}', "socket"),
        ):
            write(self.path("config/kplug/plugind.json"), text)
            rows = [
                row for row in self.with_fake({"mode": "private"}) if row["code"] == "bad_config"
            ]
            self.assertEqual(len(rows), 1, text)
            self.assertEqual(rows[0]["file"], self.path("config/kplug/plugind.json"))


class Plugins(Doctor):
    def test_a_library_that_a_kernel_opens_is_missing(self):
        shutil.copy(fixture("needs_absent_library"), self.path("plugins/x.so"))
        write(self.path("manifests/x.json"), '{"library": "x.so"}')
        (row,) = [r for r in self.findings() if r["code"] == "needs_absent_library"]
        self.assertIn("searched", row["message"])
        self.assertEqual(row["file"], self.path("plugins/x.so"))

    def test_what_is_wrong_with_an_installed_plugin(self):
        make_plugin(self.path("plugins/x.so"), "x", [kernel()])
        elf = Elf.read(self.path("plugins/x.so"))
        for name, data, code in (
            ("cut", elf.data[:500], "elf_truncated"),
            ("other", elf.with_header(machine=999).data, "wrong_machine"),
            ("absent", None, "library_not_found"),
        ):
            if data is not None:
                with open(self.path(f"plugins/{name}.so"), "wb") as file:
                    file.write(data)
            write(self.path(f"manifests/{name}.json"), f'{{"library": "{name}.so"}}')
            self.assertIn(code, self.codes())
            for off in ("", f'{{"library": "{name}.so", "enabled": false}}'):
                write(self.path(f"manifests/{name}.json"), off)
                self.assertEqual(self.codes(), ["no_daemon"])

    def test_remarks_for_authors_are_not_told_here(self):
        make_plugin(
            self.path("plugins/x.so"), "x", [kernel(operation="my/own", signatures=["x=f32"])]
        )
        write(self.path("manifests/x.json"), '{"library": "x.so"}')
        self.assertEqual(self.codes(), ["no_daemon"])


class Machine(Doctor):
    # The search for leaks does not work while somebody else traces.
    LEAKS = {"ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0"}

    def injected(self, rule):
        wrapper = ["strace", "-f", "-o", "/dev/null", "-e", f"inject={rule}"]
        return self.codes(wrapper=wrapper, env=self.LEAKS)

    def test_features_that_the_kernel_lacks(self):
        for rule in (
            "memfd_create:error=ENOSYS",
            "pidfd_open:error=ENOSYS",
            "landlock_create_ruleset:error=EOPNOTSUPP",
            "seccomp:error=EINVAL",
        ):
            self.assertIn("kernel_feature_missing", self.injected(rule), rule)

    def test_watches_that_are_used_up(self):
        for rule in (
            "inotify_init1:error=EMFILE",
            "inotify_add_watch:error=ENOSPC",
            "inotify_init1:error=ENOSYS",
        ):
            self.assertIn("no_watches", self.injected(rule), rule)

    def test_a_clock_that_nobody_keeps_is_a_note(self):
        done = subprocess.run(
            [
                "strace",
                "-f",
                "-o",
                "/dev/null",
                "-e",
                "inject=adjtimex:retval=5",
                PLUGINCTL,
                *self.words(),
            ],
            capture_output=True,
            check=False,
            env=self.env(**self.LEAKS),
        )
        rows = [
            row for row in json.loads(done.stdout)["findings"] if row["code"] == "clock_not_kept"
        ]
        self.assertEqual([row["severity"] for row in rows], ["note"])

    def test_limits(self):
        for kind, value in (
            (resource.RLIMIT_NOFILE, 256),
            (resource.RLIMIT_FSIZE, 1 << 20),
            (resource.RLIMIT_NPROC, 100),
        ):

            def lower(kind=kind, value=value):
                resource.setrlimit(kind, (value, value))

            self.assertIn("limit_too_low", self.codes(preexec_fn=lower), kind)

    def test_what_disturbs_benchmarks_is_a_note(self):
        cpu = self.path("root/sys/devices/system/cpu")
        os.makedirs(f"{cpu}/cpu0/cpufreq")
        os.makedirs(f"{cpu}/smt")
        for governor, smt, expected in (
            ("powersave", "1", ["cpu_frequency_varies", "cpu_siblings"]),
            ("schedutil", "0", ["cpu_frequency_varies"]),
            ("performance", "0", []),
        ):
            write(f"{cpu}/cpu0/cpufreq/scaling_governor", governor + "\n")
            write(f"{cpu}/smt/active", smt + "\n")
            self.assertEqual(self.codes(), ["no_daemon", *expected])

    def test_variables_that_mean_nothing(self):
        for name, offered in (
            ("KPLUG_SOKET", "KPLUG_SOCKET"),
            ("KPLUG_DISABLED", "KPLUG_DISABLE"),
            ("KPLUG_ZZZZZZ", ""),
        ):
            (row,) = [r for r in self.findings(env={name: "x"}) if r["code"] == "unknown_variable"]
            self.assertIn(offered, row["message"])
        with open(os.path.join(ROOT, "man/kplug-environment.7"), encoding="utf-8") as file:
            known = re.findall(r"^[.]It Ev (KPLUG_[A-Z_]*[A-Z])$", file.read(), re.MULTILINE)
        self.assertGreater(len(known), 3)
        known = {name: "x" for name in known if name != "KPLUG_SOCKET"}
        self.assertEqual(self.codes(env={**known, "KPLUG_OVERRIDE_GEMM_MM": "x/y"}), ["no_daemon"])

    def test_t53_names_in_variables_that_nothing_has(self):
        with Daemon() as daemon:
            daemon.add("square", [kernel(solution="own")])
            daemon.call("Reload")
            daemon.settle()
            options = {
                "socket": daemon.socket,
                "manifest-dir": daemon.manifest_dirs[0],
                "plugin-dir": daemon.plugin_dir,
                "state-dir": daemon.state_dir,
            }
            override = "KPLUG_OVERRIDE_ELEMENTWISE_SQUARE"
            for name, value, offered in (
                ("KPLUG_DISABLE", "sqare", "square"),
                ("KPLUG_DISABLE", "square, square/squar", "square/square"),
                (override, "square/sqare", "square/square"),
                (override, "squar/square", "square/square"),
                ("KPLUG_OVERRIDE_ELEMENTWISE_SQARE", "square", "spelt so"),
            ):
                (row,) = [
                    r
                    for r in self.findings(options, env={name: value})
                    if r["code"] == "unknown_name"
                ]
                self.assertIn(offered, row["message"])
            for name, value in (
                ("KPLUG_DISABLE", " square,square/square "),
                (override, "square"),
                (override, "own"),
                (override, "square/square"),
                ("KPLUG_DISABLE", ""),
            ):
                self.assertEqual(self.codes(options, env={name: value}), [])


class Command(Doctor):
    def test_text_is_a_line_and_a_remedy(self):
        words = [word for word in self.words() if word != "--json"]
        text = self.good(call(*words, env=self.env()), 1).split("\n")
        self.assertRegex(text[0], r"^warning: no_daemon: ")
        self.assertRegex(text[1], r"^    Start it: ")

    def test_it_changes_nothing(self):
        before = {path: os.stat(path).st_mtime_ns for path, *_ in os.walk(self.dir)}
        self.findings()
        self.assertEqual(
            before, {path: os.stat(path).st_mtime_ns for path, *_ in os.walk(self.dir)}
        )


if __name__ == "__main__":
    import unittest

    unittest.main()
