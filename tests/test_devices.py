# SPDX-License-Identifier: MIT
"""What is known of devices: asked of the driver by a worker, which may fail in every way."""

import os
import signal
import unittest

from gpus import (
    NVML,
    add_gpu,
    gpu_daemon,
    gpu_id,
    hopper_kernel,
    machine,
    put,
    remove_gpu,
)
from harness import children, kernel, let_in, wait_until
from varlink import VarlinkError

GIB = 1 << 30


def by_id(reply):
    return {device["id"]: device for device in reply["devices"]}


class Gpus(unittest.TestCase):
    def devices(self, gpus, play, **more):
        with machine(gpus) as root, gpu_daemon(root, play, **more) as daemon:
            return daemon.call("Devices")

    def test_two_h200_are_known_by_address_and_uuid(self):
        found = by_id(self.devices(2, "h200 2"))
        self.assertEqual(list(found), ["cpu", gpu_id(0), gpu_id(1)])
        for number in range(2):
            gpu = found[gpu_id(number)]
            self.assertEqual(gpu["name"], "NVIDIA H200")
            self.assertEqual((gpu["arch"], gpu["state"]), ("9.0", "known"))
            self.assertIsNone(gpu["reason"])
            self.assertEqual(gpu["pci"], gpu_id(number)[len("gpu-") :])
            self.assertTrue(gpu["uuid"].startswith("GPU-"))
            self.assertEqual(gpu["memory_bytes"] // GIB, 140)
            self.assertEqual((gpu["driver"], gpu["cuda"]), ("580.82.07", "13.0"))
            self.assertEqual((gpu["ecc"], gpu["mig"]), (True, False))
            self.assertEqual((gpu["sm_clock_mhz"], gpu["max_sm_clock_mhz"]), (345, 1980))
        self.assertNotEqual(found[gpu_id(0)]["uuid"], found[gpu_id(1)]["uuid"])

    def test_eight_h100_are_eight_devices(self):
        found = by_id(self.devices(8, "h100 8"))
        uuids = {found[gpu_id(i)]["uuid"] for i in range(8)}
        self.assertEqual(len(uuids), 8)
        self.assertEqual({found[gpu_id(i)]["arch"] for i in range(8)}, {"9.0"})

    def test_memory_that_is_not_known_is_null(self):
        for play in ("gb10 1", "h200 1 no_memory"):
            reply = self.devices(1, play)
            gpu = by_id(reply)[gpu_id(0)]
            self.assertIsNone(gpu.get("memory_bytes"), play)
            self.assertEqual(gpu["state"], "known")
            self.assertEqual(reply["warnings"], [])

    def test_an_arch_that_is_not_told_leaves_the_gpu_unknown(self):
        gpu = by_id(self.devices(1, "h200 1 no_arch"))[gpu_id(0)]
        self.assertEqual((gpu["state"], gpu["arch"]), ("unknown", None))
        self.assertEqual(gpu["reason"]["code"], "no_arch")
        self.assertEqual(gpu["name"], "NVIDIA H200")

    def test_a_lost_gpu_is_that_gpus_trouble_alone(self):
        found = by_id(self.devices(2, "h200 2 lost 1"))
        self.assertEqual(found[gpu_id(0)]["state"], "known")
        self.assertEqual(found[gpu_id(1)]["state"], "lost")
        self.assertEqual(found[gpu_id(1)]["reason"]["code"], "gpu_lost")
        self.assertIn("0000:19:00.0", found[gpu_id(1)]["reason"]["message"])

    def test_a_gpu_that_may_not_be_opened_says_so(self):
        found = by_id(self.devices(2, "h200 2 denied_gpu 0"))
        self.assertEqual(found[gpu_id(0)]["reason"]["code"], "driver_no_permission")
        self.assertEqual(found[gpu_id(1)]["state"], "known")

    def test_a_gpu_that_the_driver_does_not_have_is_named_with_who_has_it(self):
        with machine(1) as root:
            add_gpu(root, 1, bound="vfio-pci")
            add_gpu(root, 2, vendor="0x1002", bound="amdgpu")
            with gpu_daemon(root, "h200 1") as daemon:
                found = by_id(daemon.call("Devices"))
        self.assertEqual(found[gpu_id(0)]["state"], "known")
        self.assertEqual(found[gpu_id(1)]["reason"]["code"], "gpu_not_found")
        self.assertEqual(found[gpu_id(2)]["reason"]["code"], "no_way_to_ask")

    def test_words_that_no_driver_says_do_no_harm(self):
        gpu = by_id(self.devices(1, "h200 1 odd"))[gpu_id(0)]
        self.assertEqual((gpu["arch"], gpu["state"]), (None, "unknown"))
        self.assertIsNone(gpu.get("memory_bytes"))
        self.assertNotIn("\x1b", gpu["name"])

    def test_numbers_that_no_driver_says_are_not_known(self):
        clocks = [f"{m}{u}_clock_mhz" for m in ("", "max_") for u in ("sm", "memory")]
        for play in ("low", "high", "near"):
            with self.subTest(play=play):
                gpu = by_id(self.devices(1, f"h200 1 {play}"))[gpu_id(0)]
                self.assertEqual((gpu["arch"], gpu["state"]), ("9.0", "known"))
                self.assertEqual([gpu.get(key) for key in ("cuda", *clocks)], [None] * 5)
        gpu = by_id(self.devices(1, "h200 1"))[gpu_id(0)]
        self.assertEqual((gpu["cuda"], gpu["sm_clock_mhz"]), ("13.0", 345))


class Failures(unittest.TestCase):
    """The driver fails as a whole: every GPU says why, the daemon serves on."""

    def check(self, play, code, **more):
        with machine(2) as root, gpu_daemon(root, play, **more) as daemon:
            reply = daemon.call("Devices")
            self.assertEqual([w["code"] for w in reply["warnings"]], [code])
            for number in range(2):
                gpu = by_id(reply)[gpu_id(number)]
                self.assertEqual((gpu["state"], gpu["arch"]), ("unknown", None))
                self.assertEqual(gpu["reason"]["code"], code)
            self.assertEqual(by_id(reply)["cpu"]["state"], "known")
            self.assertEqual(daemon.settle()["state"], "ready")
            self.assertIn(f"[{code}]", daemon.log())
        return reply["warnings"][0]["message"]

    def test_a_missing_library_says_what_to_install(self):
        text = self.check("", "driver_library_missing", library="/nonexistent/libnvidia-ml.so.1")
        self.assertIn("/nonexistent/libnvidia-ml.so.1", text)

    def test_a_library_of_somebody_else_is_no_driver(self):
        self.check("", "driver_library_unusable", library="/bin/true")

    def test_a_driver_that_is_not_loaded_says_how_to_load_it(self):
        self.assertIn("modprobe nvidia", self.check("h200 2 not_loaded", "driver_not_loaded"))

    def test_versions_that_differ_ask_for_a_reboot(self):
        self.assertIn("reboot", self.check("h200 2 mismatch", "driver_version_mismatch"))

    def test_a_driver_without_permission_names_the_device_files(self):
        self.assertIn("/dev/nvidia", self.check("h200 2 denied", "driver_no_permission"))

    def test_a_driver_that_crashes_takes_its_worker_alone(self):
        self.assertIn("SIGABRT", self.check("h200 2 crash", "driver_crashed"))

    def test_a_driver_that_hangs_is_ended_by_the_deadline(self):
        for play, step in (("h200 2 hang", "initialise"), ("h200 2 hang_gpu 1", "0000:19:00.0")):
            self.assertIn(step, self.check(play, "driver_hangs", timeout_ms=300))

    def test_the_daemon_answers_while_the_driver_hangs(self):
        with machine(1) as root, gpu_daemon(root, "h200 1 hang") as daemon:
            daemon.add("good")
            reload = daemon.call("Reload")
            self.assertEqual([p["state"] for p in reload["plugins"]], ["active"])
            self.assertEqual(daemon.select("elementwise/square")["selected"], "good/square")
            self.assertFalse(daemon.call("Disable", name="good")["generation"] == 0)
            daemon.call("Status")
        # And ends in time, which the harness asks for.

    def test_what_was_known_stays_known_while_the_driver_cannot_be_asked(self):
        with machine(1) as root:
            library = os.path.join(root, "libnvidia-ml.so.1")
            os.symlink(NVML, library)
            with gpu_daemon(root, "h200 1", library=library) as daemon:
                daemon.settle()
                os.unlink(library)
                reply = daemon.call("Devices", refresh=True)
        gpu = by_id(reply)[gpu_id(0)]
        self.assertEqual((gpu["state"], gpu["arch"]), ("known", "9.0"))
        self.assertEqual(gpu["reason"]["code"], "driver_library_missing")


class Selection(unittest.TestCase):
    """What the worker learns is what selection goes by."""

    def add(self, daemon):
        daemon.add("gpu", kernels=[hopper_kernel()])
        daemon.add("cpu", kernels=[kernel()])
        daemon.call("Reload")
        daemon.settle()

    def reasons(self, daemon):
        why = daemon.why("elementwise/square")
        fast = next(c for c in why["candidates"] if c["kernel"] == "gpu/fast")
        return [r["code"] for r in fast["reasons"]]

    def test_a_known_arch_makes_its_kernels_eligible(self):
        with machine(1) as root, gpu_daemon(root, "h200 1") as daemon:
            self.add(daemon)
            answer = daemon.select("elementwise/square")
            self.assertEqual(answer["selected"], "gpu/fast")
            self.assertEqual(answer["device"], gpu_id(0))
            status = daemon.call("Status")["platform"]["devices"]
            self.assertEqual(status[1]["arch"], "9.0")
            self.assertEqual(status[1]["memory_bytes"] // GIB, 140)

    def test_an_unknown_arch_excludes_them_and_says_so(self):
        for play in ("h200 1 not_loaded", "h200 1 no_arch", "h200 1 lost"):
            with machine(1) as root, gpu_daemon(root, play) as daemon:
                self.add(daemon)
                answer = daemon.select("elementwise/square")
                self.assertEqual(answer["selected"], "cpu/square", play)
                self.assertIn("arch_unknown", self.reasons(daemon), play)

    def test_what_is_learned_is_a_new_generation(self):
        with machine(1) as root:
            library = os.path.join(root, "libnvidia-ml.so.1")
            with gpu_daemon(root, "h200 1", library=library) as daemon:
                self.add(daemon)
                before = daemon.call("Status")["generation"]
                self.assertIn("arch_unknown", self.reasons(daemon))
                os.symlink(NVML, library)
                daemon.ctl("devices", "--refresh")
                self.assertEqual(daemon.select("elementwise/square")["selected"], "gpu/fast")
                after = daemon.call("Status")["generation"]
                self.assertGreater(after, before)
                daemon.call("Devices", refresh=True)
                self.assertEqual(daemon.call("Status")["generation"], after)

    def test_a_gpu_that_comes_or_goes_is_noticed_by_a_look(self):
        with machine(1) as root, gpu_daemon(root, "h200 2") as daemon:
            self.add(daemon)
            add_gpu(root, 1)
            found = by_id(daemon.call("Devices"))
            self.assertEqual(found[gpu_id(1)]["arch"], "9.0")
            remove_gpu(root, 0)
            daemon.call("Reload")
            self.assertEqual(list(by_id(daemon.call("Devices"))), ["cpu", gpu_id(1)])
            daemon.settle()
            self.assertEqual(daemon.select("elementwise/square")["device"], gpu_id(1))

    def test_another_driver_has_plugins_probed_again(self):
        with machine(1) as root, gpu_daemon(root, "h200 1") as daemon:
            self.add(daemon)
            started = daemon.call("Status")["workers"]["started"]
            put(root, "proc/driver/nvidia/version", "NVRM version: NVIDIA UNIX  590.1.2  x\n")
            daemon.call("Devices")
            daemon.settle()
            # The driver's worker, and one for each of two plugins.
            wait_until(
                lambda: daemon.call("Status")["workers"]["started"] >= started + 3,
                "probes under the new driver",
            )
            found = by_id(daemon.call("Devices"))
            self.assertEqual(found[gpu_id(0)]["driver"], "590.1.2")


class TheDaemonItself(unittest.TestCase):
    def opened(self, pid):
        """What a process has mapped and open."""
        with open(f"/proc/{pid}/maps", encoding="utf-8") as file:
            paths = [line.rstrip("\n").partition("/")[2] for line in file]
        for fd in os.listdir(f"/proc/{pid}/fd"):
            try:
                paths.append(os.readlink(f"/proc/{pid}/fd/{fd}"))
            except OSError:
                continue
        return [p for p in paths if "nvidia" in p or "libcuda" in p or "/dev/dri" in p]

    def test_t29_the_daemon_never_opens_a_gpu_or_its_driver(self):
        for play, timeout in (("h200 2", 60000), ("h200 2 lost", 60000), ("h200 1 hang", 300)):
            with machine(2) as root, gpu_daemon(root, play, timeout_ms=timeout) as daemon:
                daemon.add("gpu", kernels=[hopper_kernel()])
                daemon.call("Reload")
                daemon.call("Devices", refresh=True)
                daemon.settle()
                self.assertEqual(self.opened(daemon.pid), [], play)
                # Its first child is the launcher; a worker may be about to leave.
                launcher = children(daemon.pid)[0]
                self.assertEqual(self.opened(launcher), [], f"{play}: the launcher")

    def test_t29_the_library_is_mapped_by_a_worker_alone(self):
        with machine(1) as root, gpu_daemon(root, "h200 1 hang") as daemon:
            holder = wait_until(
                lambda: [p for p in children(daemon.pid) if self.holds(p)], "the worker"
            )
            self.assertEqual(len(holder), 1)
            self.assertEqual(self.opened(daemon.pid), [])

    def holds(self, pid):
        try:
            return any("libnvidia-ml" in path for path in self.opened(pid))
        except OSError:
            return False

    def test_t29_no_worker_is_started_where_there_is_no_gpu_of_nvidia(self):
        for vendor in (None, "0x1002", "0x8086"):
            with machine(0) as root:
                if vendor:
                    add_gpu(root, 0, vendor=vendor, bound="other")
                with gpu_daemon(root, "h200 1") as daemon:
                    daemon.call("Devices", refresh=True)
                    daemon.settle()
                    self.assertEqual(daemon.call("Status")["workers"]["started"], 0)

    def test_only_operators_ask_the_driver_again(self):
        if os.geteuid() != 0:
            self.skipTest("only root can become another user")
        with machine(1) as root, gpu_daemon(root, "h200 1", system=True) as daemon:
            let_in(daemon)
            daemon.settle()
            pid = os.fork()
            if pid == 0:
                status = 1
                try:
                    os.setgroups([])
                    os.setuid(65534)
                    daemon.call("Devices")
                    try:
                        daemon.call("Devices", refresh=True)
                    except VarlinkError as error:
                        status = 0 if error.code == "not_permitted" else 2
                finally:
                    os._exit(status)
            self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), 0)

    def test_a_launcher_that_is_killed_meanwhile_is_no_failure_of_the_driver(self):
        with machine(1) as root, gpu_daemon(root, "h200 1 hang", timeout_ms=2000) as daemon:
            wait_until(lambda: [p for p in children(daemon.pid) if self.holds(p)], "the worker")
            os.kill(children(daemon.pid)[0], signal.SIGKILL)
            reply = daemon.call("Devices")
            self.assertEqual(reply["warnings"][0]["code"], "driver_hangs")
            self.assertGreaterEqual(daemon.call("Status")["workers"]["lost"], 1)


if __name__ == "__main__":
    unittest.main()
