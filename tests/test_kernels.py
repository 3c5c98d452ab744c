# SPDX-License-Identifier: MIT
"""From the note of a plugin to what pluginctl shows and selects of it."""

import json
import unittest

from harness import Daemon, install, kernel
from varlink import VarlinkError

GEMM = "gemm/mm"
SIGNATURE = "a=f32,b=f32,c=f32"
PLATFORM = {
    "name": "two",
    "devices": [
        {"id": "cpu", "kind": "cpu", "vendor": "x86-64", "arch": "2.0", "features": ["sse4_2"]},
        {"id": "gpu-0", "kind": "gpu", "vendor": "nvidia", "arch": "9.0", "features": []},
    ],
}


def gemm(name="mm", priority=10, signatures=(SIGNATURE,), **more):
    return kernel(name, GEMM, priority, signatures=list(signatures), **more)


class Case(unittest.TestCase):
    def daemon(self, plugins, **keywords):
        """One with these plugins, settled: name -> arguments of Daemon.add."""
        daemon = Daemon(start=False, **keywords)
        self.addCleanup(daemon.close)
        for name, arguments in plugins.items():
            daemon.add(name, **arguments)
        daemon.start()
        daemon.settle()
        return daemon

    def refused(self, code, call, *arguments, **keywords):
        with self.assertRaises(VarlinkError) as caught:
            call(*arguments, **keywords)
        self.assertEqual(caught.exception.code, code)
        return caught.exception.parameters


class Notes(Case):
    def edit(self, path, before, after):
        with open(path, "rb") as file:
            content = file.read()
        self.assertEqual(content.count(before), 1)
        with open(path + ".new", "wb") as file:
            file.write(content.replace(before, after))
        install(path)

    def test_n07_an_operation_that_nobody_describes_is_selected_by_exact_request_only(self):
        for operation, signature in [
            ("custom/scale", "x=f32,y=f32"),
            ("custom/mix", "a=bf16,b=f32"),
            ("other/thing", "q=i8"),
        ]:
            one = kernel("k", operation, signatures=[signature], traits={"odd": [1, 2]})
            daemon = self.daemon({"p": {"kernels": [one]}})
            plugin = daemon.plugins()["p"]
            self.assertEqual(plugin["state"], "active")
            info = daemon.call("Info", name="p")["plugin"]
            self.assertIn("unknown_family", [w["code"] for w in info["warnings"]])
            self.refused("no_signature", daemon.select, operation)
            self.assertEqual(daemon.select(operation, signature=signature)["selected"], "p/k")
            self.assertIsNone(daemon.select(operation, signature="z=f64")["selected"])

    def test_n08_roles_are_held_against_the_family(self):
        daemon = self.daemon(
            {
                "unknown": {"kernels": [gemm(signatures=["a=f32,b=f32,c=f32,d=f32"])]},
                "missing": {"kernels": [gemm(signatures=["a=f32,c=f32"])]},
                "swapped": {"kernels": [gemm(signatures=["c=f32,a=f32,b=f32"])]},
                "none": {"kernels": [gemm(signatures=["a=f32,b=f32"])]},
            }
        )
        plugins = daemon.plugins()
        for name, code, role in [
            ("unknown", "unknown_role", "d"),
            ("missing", "missing_role", "b"),
            ("none", "missing_role", "c"),
        ]:
            self.assertEqual(plugins[name]["state"], "rejected")
            self.assertEqual(plugins[name]["reason"]["code"], code)
            self.assertIn(role, plugins[name]["reason"]["message"])
        self.assertEqual(plugins["swapped"]["state"], "active")
        for order in (SIGNATURE, "c=f32,b=f32,a=f32", "b=f32,c=f32,a=f32"):
            reply = daemon.select(GEMM, signature=order)
            self.assertEqual(reply["selected"], "swapped/mm")
            self.assertEqual(reply["signature"], SIGNATURE)

    def test_pl03_a_kernel_that_lacks_a_key_is_refused_by_its_path(self):
        whole = gemm()
        daemon = Daemon(start=False)
        self.addCleanup(daemon.close)
        for key in ("name", "operation", "priority", "signatures"):
            part = {k: v for k, v in whole.items() if k != key}
            # The code has the entry all the same; a name goes after it was compiled.
            daemon.add("no-" + key, [gemm("first"), {"name": "mm", **part}])
        self.edit(
            daemon.library_path("no-name"),
            b'"name": "mm", "operation"',
            b'"nome": "mm", "operation"',
        )
        daemon.start()
        plugins = daemon.plugins()
        for key in ("name", "operation", "priority", "signatures"):
            plugin = plugins["no-" + key]
            self.assertEqual(plugin["state"], "rejected", plugin)
            self.assertIn(f"kernels[1].{key}", plugin["reason"]["message"])


class Ranked(Case):
    def test_pl09_the_higher_priority_is_first_and_selected(self):
        for low, high in ((10, 19), (0, 1), (14, 15)):
            daemon = self.daemon(
                {
                    "builtin": {"kernels": [gemm(priority=low)]},
                    "extra": {"kernels": [gemm(priority=high)]},
                }
            )
            order = [k["kernel"] for k in daemon.call("Kernels", operation=GEMM)["kernels"]]
            self.assertEqual(order, ["extra/mm", "builtin/mm"])
            self.assertEqual(daemon.select(GEMM)["selected"], "extra/mm")

    def test_pl13_equal_priority_is_a_warning_only_where_they_compete(self):
        bf16 = "a=bf16,b=bf16,c=bf16"
        for other, warns in [
            ({"signatures": [SIGNATURE]}, True),
            ({"signatures": [bf16]}, False),
            ({"signatures": [SIGNATURE], "priority": 13}, False),
        ]:
            daemon = self.daemon(
                {
                    "a": {"kernels": [gemm(priority=14)]},
                    "b": {"kernels": [gemm(**{"priority": 14, **other})]},
                }
            )
            codes = [w["code"] for w in daemon.select(GEMM)["warnings"]]
            self.assertEqual("equal_rank" in codes, warns)

    def test_t54_an_override_does_not_get_past_the_predicates(self):
        cpu = {"device": "cpu", "vendors": ["x86-64"]}
        kernels = {
            "arch": gemm("arch", 15, capability={**cpu, "min_arch": "4.0"}),
            "feature": gemm("feature", 15, capability={**cpu, "features": ["avx512f"]}),
            "vendor": gemm("vendor", 15, capability={"device": "gpu", "vendors": ["amd"]}),
        }
        plugins = {n: {"kernels": [k]} for n, k in kernels.items()}
        plugins["plain"] = {"kernels": [gemm()]}
        daemon = self.daemon(plugins, platform=PLATFORM)
        self.assertEqual(daemon.select(GEMM)["selected"], "plain/mm")
        for name in kernels:
            override = f"{name}/{name}"
            error = self.refused("override_ineligible", daemon.select, GEMM, override=override)
            self.assertTrue(error["reasons"], error)
            for reason in error["reasons"]:
                self.assertTrue(reason["required"] and reason["actual"], reason)
            forced = daemon.select(GEMM, override=override, force=True)
            self.assertEqual(forced["selected"], override)
            self.assertIn("forced", [w["code"] for w in forced["warnings"]])

    def test_an_override_by_solution_that_nobody_can_run_says_so(self):
        gpu = {"device": "gpu", "vendors": ["amd"]}
        daemon = self.daemon(
            {"g": {"kernels": [gemm(capability=gpu, solution="hip")]}, "p": {"kernels": [gemm()]}},
            platform=PLATFORM,
        )
        self.refused("override_ineligible", daemon.select, GEMM, override="hip")
        self.refused("no_such_kernel", daemon.select, GEMM, override="nobody")

    def test_what_if_another_platform_and_without(self):
        gpu = gemm(
            "gpu", 16, capability={"device": "gpu", "vendors": ["nvidia"], "min_arch": "9.0"}
        )
        daemon = self.daemon({"g": {"kernels": [gpu]}, "p": {"kernels": [gemm()]}})
        self.assertEqual(daemon.select(GEMM, on="nvidia-9.0")["selected"], "g/gpu")
        self.assertEqual(daemon.select(GEMM, on=PLATFORM)["selected"], "g/gpu")
        self.assertEqual(daemon.select(GEMM, on=PLATFORM, without=["g"])["selected"], "p/mm")
        self.refused("unknown_platform", daemon.select, GEMM, on="nvidai-9.0")


class Shown(Case):
    def test_pl15_list_shows_name_version_and_number_of_kernels(self):
        for version, names in (("1.2.3", ["one", "two"]), ("0.1.0", []), ("2.0.0-rc.1", ["x"])):
            daemon = self.daemon({"p": {"kernels": [gemm(n) for n in names], "version": version}})
            done = daemon.ctl("list")
            self.assertEqual(done.returncode, 0)
            row = [line.split() for line in done.stdout.split("\n") if line.startswith("p ")]
            self.assertEqual(row, [["p", version, "active", str(len(names))]])
            listed = json.loads(daemon.ctl("--json", "list").stdout)["plugins"][0]
            self.assertEqual(sorted(listed["kernels"]), sorted(names))

    def test_pl17_info_shows_kernel_operation_and_priority(self):
        for priority, band in ((15, "specialized"), (0, "reference"), (19, "plugin")):
            daemon = self.daemon({"p": {"kernels": [gemm(priority=priority)]}})
            done = daemon.ctl("info", "p")
            self.assertEqual(done.returncode, 0, done.stderr)
            for text in ("kernel mm", GEMM, f"{priority}, {band}"):
                self.assertIn(text, done.stdout)
            info = json.loads(daemon.ctl("--json", "info", "p").stdout)["plugin"]
            self.assertEqual(info["kernels"][0]["priority"], priority)

    def test_pl18_list_finds_plugins_without_any_call_before(self):
        for count in (1, 2, 3):
            daemon = Daemon(start=False)
            self.addCleanup(daemon.close)
            daemon.add_many([f"p{i}" for i in range(count)])
            daemon.start()
            done = daemon.ctl("--json", "list")
            self.assertEqual(done.returncode, 0)
            self.assertEqual(daemon.ctl("status", "--wait").returncode, 0)
            listed = json.loads(daemon.ctl("--json", "list").stdout)["plugins"]
            self.assertEqual([p["kernels"] for p in listed], [["square"]] * count)

    def test_rg17_kernels_of_an_operation_nobody_has_offer_the_nearest(self):
        daemon = self.daemon({"p": {"kernels": [gemm()]}})
        for asked, nearest in (("gemm/mn", GEMM), ("norm/rsm", "norm/rms"), ("zzzzzzzz", None)):
            for call in (
                lambda a=asked: daemon.call("Kernels", operation=a),
                lambda a=asked: daemon.select(a),
                lambda a=asked: daemon.why(a),
            ):
                error = self.refused("unknown_operation", call)
                self.assertEqual(error["nearest"], nearest)
            self.assertEqual(daemon.ctl("kernels", asked).returncode, 5)

    def test_pl01_a_reply_does_not_change_when_the_registry_does(self):
        daemon = self.daemon({"p": {"kernels": [gemm()]}})
        with daemon.client() as client:
            before = client.call("List")
            text = json.dumps(before)
            for name in ("q", "r", "s"):
                daemon.add(name)
                daemon.call("Reload")
            self.assertEqual(json.dumps(before), text)
            after = client.call("List")
            self.assertEqual(len(after["plugins"]), 4)
            self.assertGreater(after["generation"], before["generation"])


class Machine(Case):
    def test_the_same_call_has_another_answer_after_a_change(self):
        daemon = self.daemon({"a": {"kernels": [gemm(priority=11)]}, "b": {"kernels": [gemm()]}})
        for method in ["Select", "Explain"]:
            call = lambda: daemon.call(method, {"request": {"operation": GEMM}})["selected"]
            self.assertEqual([call(), call()], ["a/mm", "a/mm"])
            daemon.call("Disable", {"name": "a"})
            self.assertEqual([call(), call()], ["b/mm", "b/mm"])
            daemon.call("Disable", {"name": "b"})
            self.assertEqual([call(), call()], [None, None])
            for name in ["a", "b"]:
                daemon.call("Enable", {"name": name})
            self.assertEqual([call(), call()], ["a/mm", "a/mm"])

    def test_a_kernel_that_is_unavailable_here_is_listed_so(self):
        refusal = "return error->text[0] = 'x', KP_UNAVAILABLE;"
        daemon = self.daemon(
            {
                "a": {"kernels": [gemm()], "available": refusal},
                "b": {"kernels": [gemm(priority=3)]},
            }
        )
        listed = {k["kernel"]: k for k in daemon.call("Kernels")["kernels"]}
        self.assertEqual(listed["a/mm"]["state"], "unavailable")
        self.assertEqual([r["code"] for r in listed["a/mm"]["reasons"]], ["unavailable"])
        self.assertEqual(listed["b/mm"]["state"], "active")


if __name__ == "__main__":
    unittest.main()
