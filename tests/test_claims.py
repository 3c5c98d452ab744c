# SPDX-License-Identifier: MIT
"""What a note claims of processors is held against what the library has, before it runs."""

import json
import os
import random
import shutil
import struct
import subprocess
import tempfile
import unittest

from gpus import HOPPER, gpu_daemon, gpu_id, machine
from harness import BUILD, Daemon, kernel, make_plugin

NVCC = shutil.which("nvcc") or "/usr/local/cuda/bin/nvcc"
EXACT, FAMILY = 1 << 20, 1 << 21
SASS, PTX = 2, 1


def entry(kind, arch, flags=0x11, code=b"code" * 8):
    head = struct.pack("<HHIQ", kind, 0x101, 64, len(code)) + bytes(12)
    head += struct.pack("<IQQ", arch, 0, flags)
    return head + bytes(64 - len(head)) + code


def container(*entries):
    body = b"".join(entries)
    return struct.pack("<IHHQ", 0xBA55ED50, 1, 16, len(body)) + body


def embedded(code, section='.section .nv_fatbin,"a"', lead=b""):
    """Assembly for a plugin that has these bytes in a section, 8-aligned but for `lead`."""
    octets = ",".join(str(b) for b in lead + code)
    return (
        (
            f"__asm__(\".pushsection {section[len('.section '):]}\\n.p2align 3\\n"
            f'.byte {octets}\\n.popsection");'
        )
        .replace('"a"', '\\"a\\"')
        .replace('"aw"', '\\"aw\\"')
    )


def isa(bits):
    """Assembly for the GNU property that says which levels of x86-64 are needed."""
    words = "4, 16, 5, 0x554e47, 0xc0008002, 4, " + f"{bits}, 0"
    return (
        '__asm__(".pushsection .note.gnu.property,\\"a\\"\\n.p2align 3\\n'
        f'.long {words}\\n.popsection");'
    )


def gpu(min_arch=None, max_arch=None, vendors=("nvidia",), **more):
    capability = {"device": "gpu", "vendors": list(vendors)}
    if min_arch:
        capability["min_arch"] = min_arch
    if max_arch:
        capability["max_arch"] = max_arch
    return kernel("fast", capability=capability, **more)


class Claims(unittest.TestCase):
    def setUp(self):
        self.place = tempfile.TemporaryDirectory(prefix="kplug-claims.")
        self.addCleanup(self.place.cleanup)

    def identify(self, kernels, before):
        path = os.path.join(self.place.name, "p.so")
        make_plugin(path, "p", kernels, before=before)
        return self.info(path)

    def info(self, path):
        done = subprocess.run(
            [os.path.join(BUILD, "pluginctl"), "--json", "info", path],
            capture_output=True,
            text=True,
            check=False,
        )
        return json.loads(done.stdout)["plugin"]

    def refused(self, info, code):
        self.assertEqual(info["state"], "rejected", info)
        self.assertEqual(info["reason"]["code"], code)
        return info["reason"]["message"]

    def passes(self, info):
        self.assertNotEqual(info["state"], "rejected", info["reason"])
        return [w["code"] for w in info["warnings"]]


class GpuClaims(Claims):
    def test_t51_a_claim_that_no_code_meets_is_refused(self):
        for claim, code in [
            (gpu("9.0"), [entry(SASS, 80)]),
            (gpu("9.0", "9.0"), [entry(SASS, 80), entry(SASS, 100)]),
            (gpu("8.0", "8.9"), [entry(PTX, 90), entry(SASS, 90)]),
            (gpu("10.0"), [entry(SASS, 90, EXACT), entry(PTX, 90, EXACT)]),
            (gpu("12.0"), [entry(PTX, 100, FAMILY)]),
            (gpu(None, "7.5"), [entry(PTX, 80)]),
            (gpu("9.0"), []),
            (gpu("9.0"), [entry(7, 90)]),
        ]:
            info = self.identify([claim], embedded(container(*code)))
            text = self.refused(info, "gpu_arch_missing")
            self.assertIn("the kernel fast claims compute capability", text)

    def test_t51_the_sentence_names_claim_content_and_remedy(self):
        code = container(entry(SASS, 80), entry(PTX, 75, EXACT))
        text = self.refused(self.identify([gpu("9.0")], embedded(code)), "gpu_arch_missing")
        self.assertIn("9.0 and up", text)
        self.assertIn("ptx 7.5a, sass 8.0", text)
        self.assertIn("build it for sm_90", text)

    def test_t51_a_claim_that_some_code_meets_passes(self):
        for claim, code in [
            (gpu("9.0"), [entry(SASS, 90)]),
            (gpu("9.0"), [entry(PTX, 80)]),
            (gpu("8.6", "8.6"), [entry(SASS, 80)]),
            (gpu("9.0", "9.0"), [entry(SASS, 90, EXACT)]),
            (gpu("10.3"), [entry(SASS, 100, FAMILY)]),
            (gpu(), [entry(SASS, 80)]),
        ]:
            self.assertEqual(self.passes(self.identify([claim], embedded(container(*code)))), [])

    def test_t51_a_gap_at_the_low_end_is_a_warning(self):
        info = self.identify([gpu("8.0")], embedded(container(entry(SASS, 90))))
        self.assertEqual(self.passes(info), ["gpu_arch_gap"])
        self.assertIn("8.0", info["warnings"][0]["message"])

    def test_t51_what_is_not_in_the_library_is_not_judged(self):
        code = embedded(container(entry(SASS, 80)))
        for claim in (
            gpu("9.0", needs=["libcublasLt.so.13"]),
            gpu("9.0", vendors=("amd",)),
            kernel("fast"),
        ):
            self.passes(self.identify([claim], code))
        self.assertEqual(self.passes(self.identify([gpu("9.0")], "")), [])
        needs = gpu("9.0", needs=["libcuda.so.1"])
        self.refused(self.identify([needs], code), "gpu_arch_missing")

    def test_t51_code_is_found_in_every_section_that_is_loaded(self):
        code = container(entry(SASS, 80))
        for section in (
            '.section .nv_fatbin,"a"',
            '.section __nv_relfatbin,"a"',
            ".section .rodata",
            ".section .data",
            '.section .mine,"aw"',
        ):
            for lead in (b"", b"\x50\xed\x55", b"\x50\xed\x55\xba" * 3):
                info = self.identify([gpu("9.0")], embedded(code, section, lead))
                self.refused(info, "gpu_arch_missing")
                self.assertEqual(info["elf"]["gpu"], [{"kind": "sass", "arch": "8.0"}])

    def test_the_archs_are_shown(self):
        code = container(entry(SASS, 90), entry(PTX, 90), entry(SASS, 100, EXACT))
        path = os.path.join(self.place.name, "p.so")
        make_plugin(path, "p", [gpu("9.0")], before=embedded(code))
        self.assertEqual(
            self.info(path)["elf"]["gpu"],
            [
                {"kind": "sass", "arch": "9.0"},
                {"kind": "ptx", "arch": "9.0"},
                {"kind": "sass", "arch": "10.0", "scope": "exact"},
            ],
        )
        done = subprocess.run(
            [os.path.join(BUILD, "pluginctl"), "info", path],
            capture_output=True,
            text=True,
            check=True,
        )
        self.assertRegex(done.stdout, r"(?m)^elf gpu +.*sass.*9\.0")

    def test_t51_the_daemon_rejects_it_and_selects_another(self):
        with machine(1) as root, gpu_daemon(root, "h200 1") as daemon:
            bad = embedded(container(entry(SASS, 80)))
            daemon.add("bad", [kernel("fast", priority=15, capability=HOPPER)], before=bad)
            good = embedded(container(entry(PTX, 80)))
            daemon.add("good", [kernel("slow", priority=5, capability=HOPPER)], before=good)
            daemon.call("Reload")
            self.assertEqual(daemon.plugins()["bad"]["reason"]["code"], "gpu_arch_missing")
            answer = daemon.select("elementwise/square")
            self.assertEqual((answer["selected"], answer["device"]), ("good/slow", gpu_id(0)))

    def test_damaged_code_harms_nobody(self):
        """Mutated fat binaries in a library that is otherwise sound."""
        code = container(entry(SASS, 80), entry(PTX, 80), entry(SASS, 90))
        path = os.path.join(self.place.name, "p.so")
        make_plugin(path, "p", [gpu("9.0")], before=embedded(code))
        with open(path, "rb") as file:
            sound = file.read()
        at = sound.index(code)
        chance = random.Random(51)
        for _ in range(60):
            broken = bytearray(sound)
            for _ in range(chance.randint(1, 6)):
                broken[at + chance.randrange(len(code))] = chance.choice((0, 1, 0x7F, 0xFF))
            with open(path, "wb") as file:
                file.write(broken)
            info = self.info(path)
            if info["state"] == "rejected":
                self.assertEqual(info["reason"]["code"], "gpu_arch_missing")
            else:
                self.assertNotEqual(info["state"], "failed", info["reason"])

    @unittest.skipUnless(os.access(NVCC, os.X_OK), "nvcc is not installed")
    def test_t51_what_nvcc_makes_is_understood(self):
        source = os.path.join(self.place.name, "k.cu")
        with open(source, "w", encoding="utf-8") as file:
            file.write("__global__ void f(float *x) { x[0] = 1; }\n")
        for options, claim, shown in [
            (["arch=compute_80,code=sm_80"], "9.0", None),
            (["arch=compute_90,code=[sm_90,compute_90]"], "9.0", "sass 9.0, ptx 9.0"),
            (["arch=compute_90a,code=sm_90a"], "10.0", None),
            (["arch=compute_80,code=compute_80"], "9.0", "ptx 8.0"),
        ]:
            out = os.path.join(self.place.name, "k.fatbin")
            flags = [word for option in options for word in ("-gencode", option)]
            subprocess.run([NVCC, "-fatbin", *flags, source, "-o", out], check=True)
            with open(out, "rb") as file:
                info = self.identify([gpu(claim)], embedded(file.read()))
            if shown is None:
                self.refused(info, "gpu_arch_missing")
            else:
                self.passes(info)
                told = ", ".join(f"{c['kind']} {c['arch']}" for c in info["elf"]["gpu"])
                self.assertEqual(told, shown)


@unittest.skipUnless(os.uname().machine == "x86_64", "levels are those of x86-64")
class CpuClaims(Claims):
    def cpu(self, min_arch=None, features=()):
        capability = {"device": "cpu", "features": list(features)}
        if min_arch:
            capability["min_arch"] = min_arch
        return kernel("fast", capability=capability)

    def test_t51_a_baseline_claim_of_a_library_that_needs_more_is_refused(self):
        for bits, claim in [
            (8, self.cpu()),
            (8, kernel("fast")),
            (0xF, self.cpu("3.0")),
            (8, self.cpu(features=["avx2", "fma"])),
            (4, self.cpu("2.0")),
            (2, self.cpu()),
        ]:
            info = self.identify([claim], isa(bits))
            text = self.refused(info, "cpu_isa_missing")
            self.assertIn("the kernel fast claims any CPU of x86-64-v", text)
            self.assertIn("claim min_arch", text)

    def test_t51_a_claim_that_is_as_high_passes(self):
        for bits, claim in [
            (1, self.cpu()),
            (4, self.cpu("3.0")),
            (4, self.cpu("4.0")),
            (4, self.cpu(features=["avx2"])),
            (8, self.cpu(features=["avx512f", "avx512vl"])),
            (0xF, self.cpu("4.0")),
            (0, self.cpu()),
            (0x10, self.cpu()),
        ]:
            self.passes(self.identify([claim], isa(bits)))

    def test_t51_one_kernel_of_several_that_claims_too_little_is_named(self):
        high = {"device": "cpu", "min_arch": "4.0"}
        kernels = [kernel("high", capability=high), kernel("low", capability={"device": "cpu"})]
        info = self.identify(kernels, isa(8))
        self.assertIn("the kernel low", self.refused(info, "cpu_isa_missing"))

    def test_t51_kernels_of_a_gpu_claim_nothing_of_a_cpu(self):
        self.passes(self.identify([gpu("9.0")], isa(8)))

    def test_the_level_is_shown(self):
        info = self.identify([self.cpu("4.0")], isa(0xF))
        self.assertEqual(info["elf"]["isa_needed"], "x86-64-v4")
        self.assertNotIn("isa_needed", self.identify([self.cpu()], "")["elf"])

    def test_t51_the_daemon_does_not_select_it(self):
        with Daemon() as daemon:
            daemon.add("bad", [kernel("fast", priority=15)], before=isa(8))
            daemon.add("good")
            daemon.call("Reload")
            self.assertEqual(daemon.plugins()["bad"]["reason"]["code"], "cpu_isa_missing")
            self.assertEqual(daemon.select("elementwise/square")["selected"], "good/square")

    def test_damaged_properties_harm_nobody(self):
        for words in (
            "4, 0xffffffff, 5, 0x554e47, 0xc0008002, 4, 8, 0",
            "4, 16, 5, 0x554e47, 0xc0008002, 0xffffffff, 8, 0",
            "0xffffffff, 16, 5, 0x554e47, 0xc0008002, 4, 8, 0",
            "4, 0, 5, 0x554e47",
            "4, 8, 5, 0x554e47, 0xc0008002, 0",
        ):
            path = os.path.join(self.place.name, "p.so")
            make_plugin(path, "p", [self.cpu()], before=isa(8))
            with open(path, "rb") as file:
                sound = file.read()
            wanted = struct.pack("<8I", 4, 16, 5, 0x554E47, 0xC0008002, 4, 8, 0)
            self.assertIn(wanted, sound)
            numbers = [int(w, 0) for w in words.split(",")]
            broken = struct.pack(f"<{len(numbers)}I", *numbers).ljust(len(wanted), b"\0")
            with open(path, "wb") as file:
                file.write(sound.replace(wanted, broken))
            info = self.info(path)
            # Whoever looks for the plugin's note walks these notes, too.
            if info["state"] == "rejected":
                self.assertEqual(info["reason"]["code"], "note_truncated")
            else:
                self.assertNotEqual(info["state"], "failed", info["reason"])


del Claims  # it has no test of its own

if __name__ == "__main__":
    unittest.main()
