# SPDX-License-Identifier: MIT
"""T52: nothing falls back in silence: a result names what would have run, and why it did not."""

import os
import unittest

from gpus import NVML, gpu_daemon, gpu_id, hopper_kernel, machine
from harness import CRASH, EXIT, HANG, Daemon, kernel

SQUARE = "elementwise/square"


class Fallback(unittest.TestCase):
    """A slow kernel, and a fast one to which something happens."""

    @classmethod
    def setUpClass(cls):
        cls.daemon = Daemon()
        cls.daemon.add("slow", [kernel(priority=5)])

    @classmethod
    def tearDownClass(cls):
        cls.daemon.close()

    def put(self, **fast):
        manifest = {"timeout_ms": 1500}
        kernels = fast.pop("kernels", [kernel("fast", priority=15)])
        self.daemon.add("fast", kernels, manifest=manifest, **fast)
        self.daemon.call("Reload")
        self.daemon.settle()

    def fell_back(self, code):
        answer = self.daemon.select(SQUARE)
        self.assertEqual(answer["selected"], "slow/square")
        fallback = answer["fallback_from"]
        self.assertIsNotNone(fallback, f"silent: {code}")
        self.assertEqual((fallback["kernel"], fallback["code"]), ("fast/fast", code))
        self.assertTrue(fallback["message"])
        self.assertEqual(self.daemon.why(SQUARE)["fallback_from"], fallback)
        text = self.daemon.ctl("select", SQUARE).stdout
        self.assertIn("fast/fast", text)
        return fallback["message"]

    def test_t52_of_a_plugin_or_kernel_that_was_disabled(self):
        for name in ("fast", "fast/fast"):
            self.put()
            self.assertIsNone(self.daemon.select(SQUARE)["fallback_from"])
            self.daemon.call("Disable", name=name, reason="wrong sums")
            self.assertIn("wrong sums", self.fell_back("disabled_by_operator"))
            self.daemon.call("Enable", name=name)
            self.assertEqual(self.daemon.select(SQUARE)["selected"], "fast/fast")

    def test_t52_of_a_plugin_that_fails_its_probe(self):
        for before, code in (
            (CRASH, "killed_by_signal"),
            (EXIT, "exited_during_load"),
            (HANG, "probe_timeout"),
        ):
            self.put(before=before)
            self.fell_back(code)

    def test_t52_of_a_kernel_that_is_unavailable_here(self):
        for status, code in (("KP_UNAVAILABLE", "unavailable"), ("77", "available_failed")):
            self.put(available=f"return {status};")
            self.fell_back(code)
        self.put(kernels=[kernel("fast", priority=15, needs=["libnobody-has.so.1"])])
        self.fell_back("missing_library")

    def test_t52_of_a_plugin_that_is_refused(self):
        isa = (
            '__asm__(".pushsection .note.gnu.property,\\"a\\"\\n.p2align 3\\n'
            '.long 4, 16, 5, 0x554e47, 0xc0008002, 4, 8, 0\\n.popsection");'
        )
        self.put(before=isa)
        self.fell_back("cpu_isa_missing")
        self.put(host={"min": "9.0.0", "max": "10.0.0"})
        answer = self.daemon.select(SQUARE)
        told = answer["fallback_from"] or answer["warnings"]
        self.assertTrue(told, "silent")

    def test_t52_of_a_plugin_whose_kernels_nobody_knows_any_more(self):
        self.put()
        os.unlink(self.daemon.library_path("fast"))
        self.daemon.call("Reload")
        self.check_not_considered("missing [missing_file]")
        with open(self.daemon.library_path("fast"), "w", encoding="utf-8") as file:
            file.write("no library")
        self.daemon.call("Reload")
        self.check_not_considered("rejected [not_elf]")
        self.put(kernels=[kernel("fast", signatures=["x=f99,y=f32"])])
        self.check_not_considered("rejected [bad_signature]")

    def check_not_considered(self, how):
        for answer in (self.daemon.select(SQUARE), self.daemon.why(SQUARE)):
            self.assertEqual(answer["selected"], "slow/square")
            codes = [w["code"] for w in answer["warnings"]]
            self.assertEqual(codes, ["not_considered"])
            self.assertIn(f"fast is {how}", answer["warnings"][0]["message"])
        self.assertIn("fast", self.daemon.ctl("select", SQUARE).stdout)

    def test_t52_what_is_worse_than_the_winner_is_no_fallback(self):
        self.put()
        self.daemon.call("Disable", name="slow")
        self.assertIsNone(self.daemon.select(SQUARE)["fallback_from"])
        self.daemon.call("Enable", name="slow")
        self.put(kernels=[kernel("fast", priority=1)], before=CRASH)
        self.assertIsNone(self.daemon.select(SQUARE)["fallback_from"])


class Gpus(unittest.TestCase):
    def add(self, daemon, *more):
        daemon.add("gpu", kernels=[hopper_kernel()])
        daemon.add("cpu", kernels=[kernel(priority=5), *more])
        daemon.call("Reload")
        daemon.settle()

    def test_t52_of_a_gpu_whose_driver_does_not_tell_its_arch(self):
        for play, code in (
            ("h200 2 not_loaded", "driver_not_loaded"),
            ("h200 2 mismatch", "driver_version_mismatch"),
            ("h200 2 lost", "gpu_lost"),
            ("h200 2 no_arch", "no_arch"),
        ):
            with machine(2) as root, gpu_daemon(root, play) as daemon:
                self.add(daemon)
                answer = daemon.select(SQUARE)
                self.assertEqual(answer["selected"], "cpu/square")
                self.assertEqual([w["code"] for w in answer["warnings"]], [code])
                self.assertIn(gpu_id(0), answer["warnings"][0]["message"])
                self.assertIn("not considered", daemon.ctl("select", SQUARE).stdout)

    def test_t52_a_warning_goes_with_its_cause(self):
        with machine(1) as root:
            library = os.path.join(root, "libnvidia-ml.so.1")
            with gpu_daemon(root, "h200 1", library=library) as daemon:
                self.add(daemon)
                codes = [w["code"] for w in daemon.select(SQUARE)["warnings"]]
                self.assertEqual(codes, ["driver_library_missing"])
                os.symlink("/bin/true", library)
                daemon.call("Devices", refresh=True)
                codes = [w["code"] for w in daemon.select(SQUARE)["warnings"]]
                self.assertEqual(codes, ["driver_library_unusable"])
                os.unlink(library)
                os.symlink(NVML, library)
                daemon.call("Devices", refresh=True)
                answer = daemon.select(SQUARE)
                self.assertEqual((answer["selected"], answer["warnings"]), ("gpu/fast", []))

    def test_t52_no_warning_where_no_gpu_was_wanted(self):
        with machine(1) as root, gpu_daemon(root, "h200 1 not_loaded") as daemon:
            daemon.add("cpu", kernels=[kernel(priority=5)])
            daemon.call("Reload")
            self.assertEqual(daemon.select(SQUARE)["warnings"], [])
            self.add(daemon)
            self.assertEqual(daemon.select(SQUARE, on="x86-64-v3")["warnings"], [])


if __name__ == "__main__":
    unittest.main()
