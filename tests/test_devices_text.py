# SPDX-License-Identifier: MIT
"""A host without a GPU is a platform: its CPU is listed, and everything works on it."""

import json
import os
import re
import unittest

import jsonschema

from gpus import add_cpus, add_gpu, gpu_daemon, gpu_id, machine, put
from harness import BUILD, Daemon, kernel


def cpu_of(root):
    with gpu_daemon(root) as daemon:
        return daemon.call("Devices", device="cpu")["devices"][0]


def cache(level, kind, size, shared_by, count):
    keys = ("level", "kind", "bytes", "shared_by", "count")
    return dict(zip(keys, (level, kind, size, shared_by, count)))


class Cpus(unittest.TestCase):
    def test_cores_threads_and_caches_are_counted(self):
        with machine(0) as root:
            cpu = cpu_of(root)
        self.assertEqual((cpu["cores"], cpu["threads"]), (2, 4))
        self.assertEqual(
            cpu["caches"],
            [
                cache(1, "data", 32 << 10, 2, 2),
                cache(1, "instruction", 32 << 10, 2, 2),
                cache(2, "unified", 1 << 20, 2, 2),
                cache(3, "unified", 96 << 20, 4, 1),
            ],
        )

    def test_cores_without_siblings_are_as_many_as_threads(self):
        with machine(0) as root:
            add_cpus(root, cores=5, siblings=1)
            cpu = cpu_of(root)
        self.assertEqual((cpu["cores"], cpu["threads"]), (5, 5))
        self.assertEqual(cpu["caches"][-1], cache(3, "unified", 96 << 20, 5, 1))

    def test_cpus_that_are_offline_are_not_counted(self):
        with machine(0) as root:
            place = "sys/devices/system/cpu/"
            put(root, place + "online", "0,2-3\n")
            put(root, place + "cpu0/topology/thread_siblings_list", "0\n")
            cpu = cpu_of(root)
        self.assertEqual((cpu["cores"], cpu["threads"]), (2, 3))

    def test_a_sysfs_of_nonsense_leaves_it_unknown(self):
        for text in ("", "x\n", "3-1\n", "0-99999999999999999999\n", "-1\n", "9000\n"):
            with machine(0) as root:
                put(root, "sys/devices/system/cpu/online", text)
                cpu = cpu_of(root)
            self.assertEqual((cpu["cores"], cpu["threads"], cpu["caches"]), (None, None, []))
        with machine(0) as root:
            for name, text in (("size", "huge\n"), ("level", "-\n"), ("shared_cpu_list", "\n")):
                put(root, f"sys/devices/system/cpu/cpu0/cache/index0/{name}", text)
                self.assertNotIn(None, cpu_of(root)["caches"])

    def test_this_machine_has_threads_and_as_many_cores_at_most(self):
        with Daemon() as daemon:
            cpu = daemon.call("Devices")["devices"][0]
        self.assertEqual((cpu["id"], cpu["kind"], cpu["state"]), ("cpu", "cpu", "known"))
        self.assertTrue(cpu["features"])
        if cpu["threads"] is not None and cpu["cores"] is not None:
            self.assertLessEqual(cpu["cores"], cpu["threads"])


class Text(unittest.TestCase):
    def test_the_table_names_each_device_and_one_has_a_page(self):
        with machine(2) as root, gpu_daemon(root, "h200 2 lost 1") as daemon:
            table = daemon.ctl("devices").stdout
            self.assertRegex(table, r"(?m)^cpu .* 2 cores, 4 threads$")
            self.assertRegex(table, rf"(?m)^{re.escape(gpu_id(0))}  NVIDIA H200 +9.0 +140.4 GiB")
            self.assertRegex(table, rf"(?m)^{re.escape(gpu_id(1))} .* lost: gpu_lost: ")
            page = daemon.ctl("devices", "0000:18:00.0").stdout
            self.assertRegex(page, r"(?m)^memory +140.4 GiB$")
            self.assertRegex(page, r"(?m)^sm clock +345 of 1980 MHz$")
            uuid = re.search(r"(?m)^uuid +(\S+)$", page)[1]
            self.assertEqual(daemon.ctl("devices", uuid).stdout, page)
            caches = daemon.ctl("devices", "cpu").stdout
            self.assertIn("L3 unified, 96 MiB for each 4 threads, 1 of them", caches)
            quiet = daemon.ctl("--quiet", "devices").stdout.split()
            self.assertEqual(quiet, ["cpu", gpu_id(0), gpu_id(1)])

    def test_trouble_of_all_gpus_is_told_once(self):
        with machine(2) as root, gpu_daemon(root, "h200 2 not_loaded") as daemon:
            done = daemon.ctl("devices")
        self.assertEqual(done.returncode, 0)
        self.assertEqual((done.stdout + done.stderr).count("modprobe nvidia"), 1)
        self.assertEqual(done.stdout.count("unknown: driver_not_loaded"), 2)

    def test_json_is_the_reply_as_published(self):
        with open(os.path.join(BUILD, "schemas", "reply.Devices.json"), encoding="utf-8") as file:
            schema = json.load(file)
        for play in ("h200 2", "gb10 2 odd", "h100 1", "h200 2 mismatch"):
            with machine(2) as root, gpu_daemon(root, play) as daemon:
                for words in (["devices"], ["devices", "--refresh"], ["devices", "cpu"]):
                    done = daemon.ctl("--json", *words)
                    self.assertEqual(done.returncode, 0, done.stderr)
                    jsonschema.validate(json.loads(done.stdout), schema)

    def test_an_unknown_device_offers_the_nearest(self):
        with machine(1) as root, gpu_daemon(root, "h200 1") as daemon:
            for word, meant in (("gpu-0000:81:00.0", gpu_id(0)), ("cpus", "cpu")):
                done = daemon.ctl("--json", "devices", word)
                self.assertEqual(done.returncode, 5)
                error = json.loads(done.stdout)["error"]
                self.assertEqual((error["code"], error["nearest"]), ("no_such_device", meant))

    def test_devices_that_were_given_are_said_to_be(self):
        platform = {"devices": [{"kind": "gpu", "vendor": "nvidia", "arch": "9.0", "id": "g"}]}
        with Daemon(platform=platform) as daemon:
            device = daemon.call("Devices", refresh=True)["devices"][0]
            self.assertEqual((device["state"], device["arch"]), ("given", "9.0"))
            self.assertEqual(daemon.call("Status")["workers"]["started"], 0)


class CpuOnly(unittest.TestCase):
    """NX30: no GPU, no driver, no /proc/driver; also a display that computes nothing."""

    def machines(self):
        with machine(0, driver=False) as root:
            yield root
        with machine(0, driver=False) as root:
            add_gpu(root, 0, vendor="0x1234", bound=None)
            yield root
        with machine(0, driver=True) as root:
            yield root

    def test_nx30_a_cpu_is_a_platform_and_everything_works_on_it(self):
        for root in self.machines():
            with gpu_daemon(root) as daemon:
                daemon.add("good")
                daemon.call("Reload")
                for words in (["list"], ["info", "good"], ["kernels"], ["status"], ["devices"]):
                    done = daemon.ctl(*words)
                    self.assertEqual(done.returncode, 0, done.stderr)
                self.assertEqual(daemon.select("elementwise/square")["device"], "cpu")
                self.assertEqual(daemon.ctl("disable", "good").returncode, 0)
                self.assertEqual(daemon.ctl("is-enabled", "good").returncode, 1)
                self.assertEqual(daemon.ctl("enable", "good").returncode, 0)
                self.assertEqual(daemon.ctl("retry", "good").returncode, 0)

    def test_nx30_kernels_for_a_gpu_are_listed_and_say_what_is_missing(self):
        for root in self.machines():
            with gpu_daemon(root) as daemon:
                capability = {"device": "gpu", "vendors": ["nvidia"], "min_arch": "9.0"}
                daemon.add("gpu", kernels=[kernel("fast", capability=capability)])
                daemon.call("Reload")
                self.assertEqual(daemon.plugins()["gpu"]["state"], "active")
                why = daemon.why("elementwise/square")
                self.assertIsNone(why["selected"])
                reasons = why["candidates"][0]["reasons"]
                self.assertTrue(reasons)
                self.assertIn("gpu", json.dumps(reasons))
                self.assertEqual(daemon.ctl("disable", "gpu/fast").returncode, 0)

    def test_nx30_status_has_no_warning_about_a_gpu_that_nobody_has(self):
        for root in self.machines():
            with gpu_daemon(root) as daemon:
                status = daemon.settle()
                self.assertEqual([d["id"] for d in status["platform"]["devices"]], ["cpu"])
                self.assertEqual(status["warnings"], [])
                self.assertEqual(daemon.call("Devices")["warnings"], [])


if __name__ == "__main__":
    unittest.main()
