# SPDX-License-Identifier: MIT
"""pluginctl and plugind together: what one changes the other obeys, in text and in JSON."""

import json
import os
import tempfile
import unittest

from harness import BUILD, CRASH, Daemon, kernel, make_plugin
from pluginctl import RAW, Case, call

SQUARE = "elementwise/square"
GPU = {"device": "gpu", "vendors": ["nvidia"], "min_arch": "9.0"}


def fill(daemon):
    """Two that work, one for another machine, one that crashes, one that nobody names."""
    daemon.add("fast", [kernel(priority=10, solution="quick")])
    daemon.add("slow", [kernel(priority=4, traits={"n": {"multiple_of": 16}})])
    daemon.add("gpu", [kernel(priority=15, capability=GPU)])
    daemon.add("bad", before=CRASH)
    make_plugin(daemon.library_path("stray"), "stray")
    daemon.call("Reload")
    daemon.settle()


class Together(Case):
    def setUp(self):
        self.daemon = self.enterContext(Daemon())

    def ctl(self, *args):
        return call(*args, socket=self.daemon.socket)

    def text(self, *args, status=0):
        """stdout and stderr of a command that ends so."""
        done = self.ctl(*args)
        text = (done.stdout + done.stderr).decode()
        self.assertEqual(done.returncode, status, text)
        self.assertNotRegex(text, RAW)
        return text

    def json(self, *args, status=0):
        return self.document(self.ctl("--json", *args), status)

    def selected(self, *args):
        return self.good(self.ctl("--quiet", "select", SQUARE, *args)).strip()


class Reading(Case):
    """One daemon for all: nothing here changes it."""

    @classmethod
    def setUpClass(cls):
        cls.daemon = Daemon()
        cls.addClassCleanup(cls.daemon.close)
        fill(cls.daemon)

    ctl = Together.ctl
    text = Together.text
    json = Together.json

    def test_json_is_the_reply_and_the_reply_is_what_the_interface_says(self):
        request = {"request": {"operation": SQUARE}}
        rows = [
            (["list"], "List", {}, 0),
            (["list", "--all"], "List", {"all": True}, 0),
            (["list", "--state", "failed"], "List", {"state": "failed"}, 0),
            (["info", "fast"], "Info", {"name": "fast"}, 0),
            (["info", "bad"], "Info", {"name": "bad"}, 0),
            (["kernels"], "Kernels", {}, 0),
            (["kernels", "elementwise"], "Kernels", {"operation": "elementwise"}, 0),
            (["select", SQUARE], "Select", request, 0),
            (["why", SQUARE], "Explain", request, 0),
            (["is-enabled", "fast"], "IsEnabled", {"name": "fast"}, 0),
        ]
        for args, method, parameters, status in rows:
            with self.subTest(args=args):
                self.assertEqual(
                    self.json(*args, status=status), self.daemon.call(method, parameters)
                )
        with self.daemon.client() as client:
            client.interface = client.describe()
            client.check_reply("Status", {"parameters": self.json("status", "--wait")})
            client.check_reply("Version", {"parameters": self.json("version")["daemon"]})

    def test_what_asks_for_nothing_known_exits_5_and_offers_the_nearest(self):
        rows = [
            (["info", "fats"], "fast"),
            (["select", "elementwise/squared"], SQUARE),
            (["why", "elementwise/squared"], SQUARE),
            (["kernels", "elementwize"], "elementwize"),
            (["select", SQUARE, "--override", "nobody/square"], "nobody/square"),
            (["disable", "fats"], "fast"),
            (["disable", "fast/sqare"], "square"),
            (["enable", "fats"], "fast"),
            (["is-enabled", "fats"], "fast"),
            (["retry", "fats"], "fast"),
            (["reload", "fats"], "fast"),
            (["mask", "fats"], "fast"),
            (["unmask", "fats"], "fast"),
        ]
        for args, word in rows:
            with self.subTest(args=args):
                self.assertIn(word, self.complaint(self.ctl(*args), 5))
                self.error(self.ctl("--json", *args), 5)

    def test_what_asks_for_it_wrongly_exits_2_and_names_it(self):
        rows = [
            (["--sig", "x=f32"], "y"),
            (["--sig", "x=f32,y=f32,z=f32"], "z"),
            (["--sig", "x=fp32,y=f32"], "f32"),
            (["--trait", "zzz=1"], "zzz"),
            (["--shape", "zzz=1"], "zzz"),
            (["--objective", "latenzy"], "latency?"),
            (["--on", "nvidea-9.0"], "nvidia"),
        ]
        for args, word in rows:
            for command in ("select", "why"):
                with self.subTest(command=command, args=args):
                    text = self.complaint(self.ctl(command, SQUARE, *args), 2)
                    self.assertIn(word, text)
                    self.error(self.ctl("--json", command, SQUARE, *args), 2)

    def test_an_unknown_state_exits_2_and_the_nearest_is_offered(self):
        self.assertIn("active?", self.complaint(self.ctl("list", "--state", "actve"), 2))
        self.error(self.ctl("list", "--state", "zzzzzz", "--json"), 2, "unknown_state")

    def test_a_family_that_nobody_has_exits_5_and_the_nearest_is_offered(self):
        text = self.complaint(self.ctl("list", "--family", "elementwise/squared"), 5)
        self.assertIn(SQUARE, text)
        self.error(self.ctl("list", "--family", "gem", "--json"), 5)
        self.text("list", "--family", "elementwise", "--state", "masked")

    def test_names_of_one_kind_are_understood_where_another_is_expected(self):
        self.assertIn("kernel square\n", self.text("info", "fast/square"))
        rows = [
            (["kernels", "fast"], "fast is a plugin: `pluginctl info fast`"),
            (["info", "elementwise"], "elementwise is an operation"),
            (["disable", SQUARE], f"`pluginctl kernels {SQUARE}`"),
        ]
        for args, words in rows:
            with self.subTest(args=args):
                self.assertIn(words, self.complaint(self.ctl(*args), 5))
        self.assertIn("was not quarantined", self.text("retry", "fast/square"))

    def test_t73_a_bad_plugin_degrades_and_only_strict_says_no(self):
        self.assertIn("degraded", self.text("status"))
        self.assertIn("degraded", self.text("status", "--wait", "--strict", status=1))
        self.assertIs(self.json("status", "--strict", status=1)["degraded"], True)

    def test_list_shows_each_with_its_state(self):
        text = self.text("list")
        self.assertRegex(text, r"(?m)^fast +1\.0\.0 +active +1$")
        self.assertRegex(text, r"(?m)^bad +\S+ +failed +0 +\w+: ")
        self.assertNotIn("stray", text)
        self.assertRegex(self.text("list", "--all"), r"(?m)^stray.so .*unclaimed")

    def test_why_names_the_predicates_of_each(self):
        text = self.text("why", SQUARE, "--shape", "n=17")
        self.assertRegex(text, r"(?m)^fast/square +1 +10/0/10 +selected$")
        self.assertRegex(
            text, r"(?m)^slow/square +- +10/0/4 +\w+: required n multiple of 16, actual n = 17 "
        )
        self.assertRegex(text, r"(?m)^gpu/square +- +10/0/15 +\w+: required ")
        self.assertRegex(text, r"(?m)^bad/square +- ")

    def test_what_if_changes_only_the_answer(self):
        first = self.text("--quiet", "select", SQUARE)
        self.assertEqual(first, "fast/square\n")
        other = self.text("--quiet", "select", SQUARE, "--on", "nvidia-9.0")
        self.assertEqual(other, "gpu/square\n")
        without = self.text("--quiet", "select", SQUARE, "--without", "fast")
        self.assertEqual(without, "slow/square\n")
        self.assertEqual(self.text("--quiet", "select", SQUARE), first)

    def test_a_platform_of_a_file_is_a_what_if(self):
        device = {"id": "g", "kind": "gpu", "vendor": "nvidia", "arch": "9.0", "features": []}
        with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
            json.dump({"name": "mine", "devices": [device]}, file)
            file.flush()
            text = self.text("--quiet", "select", SQUARE, "--on", file.name)
        self.assertEqual(text, "gpu/square\n")

    def test_nothing_eligible_exits_1_with_the_nearest_candidates(self):
        args = [SQUARE, "--without", "fast", "--shape", "n=17"]
        text = self.complaint(self.ctl("select", *args), 1)
        self.assertIn(f"no kernel of {SQUARE} is eligible", text)
        self.assertIn("slow/square", text)
        self.assertIsNone(self.json("select", *args, status=1)["selected"])
        self.assertIsNone(self.json("why", *args, status=1)["selected"])

    def test_an_override_that_cannot_run_exits_1_with_the_error_object(self):
        args = ["select", SQUARE, "--override", "gpu/square"]
        self.complaint(self.ctl(*args), 1)
        error = self.error(self.ctl("--json", *args), 1, "override_ineligible")
        self.assertTrue(error["reasons"])
        self.assertEqual(self.text("--quiet", *args, "--force"), "gpu/square\n")

    def test_an_override_may_be_a_solution(self):
        args = ["select", SQUARE, "--override", "quick"]
        self.assertEqual(self.json(*args)["override"]["value"], "quick")

    def test_info_of_a_file_is_that_of_the_plugin_without_its_state(self):
        plugin = self.json("info", "fast")["plugin"]
        file = self.json("info", self.daemon.library_path("fast"))["plugin"]
        for key in ("package", "version", "sha256", "size", "abi", "host"):
            self.assertEqual(file[key], plugin[key], key)
        for key in ("name", "signatures", "capability", "traits", "priority", "band"):
            self.assertEqual(file["kernels"][0][key], plugin["kernels"][0][key], key)
        with self.daemon.client() as client:
            client.interface = client.describe()
            client.check_reply("Info", {"parameters": {"plugin": file}})


class Changing(Together):
    def setUp(self):
        super().setUp()
        self.daemon.add("fast", [kernel(priority=10)])
        self.daemon.add("slow", [kernel(priority=4)])
        self.daemon.call("Reload")
        self.daemon.settle()

    def test_nx06_disable_holds_for_the_next_select_and_a_restart(self):
        self.assertEqual(self.selected(), "fast/square")
        self.assertIn("fast: disabled", self.text("disable", "fast", "--reason", "too fast"))
        self.assertEqual(self.selected(), "slow/square")
        text = self.text("select", SQUARE)
        self.assertRegex(text, r"(?s)instead of +fast/square: .*too fast")
        self.assertIn("too fast", self.text("list"))
        self.daemon.restart()
        self.text("status", "--wait")
        self.assertEqual(self.selected(), "slow/square")
        self.assertIn(
            "fast: already disabled", self.text("disable", "fast", "--reason", "too fast")
        )
        self.assertIn("fast: enabled", self.text("enable", "fast"))
        self.assertEqual(self.selected(), "fast/square")

    def test_disable_for_the_runtime_ends_with_it(self):
        self.text("disable", "fast", "--runtime")
        self.assertEqual(self.text("is-enabled", "fast", status=1), "disabled-runtime\n")
        self.assertEqual(self.selected(), "slow/square")
        self.daemon.restart()
        self.text("status", "--wait")
        self.assertEqual(self.selected(), "fast/square")

    def test_one_wrong_name_of_several_leaves_the_others_as_they_are(self):
        self.error(self.ctl("disable", "fast", "foo", "--json"), 5, "no_such_plugin")
        self.assertEqual(self.text("is-enabled", "fast"), "enabled\n")
        self.text("disable", "fast", "slow")
        self.error(self.ctl("enable", "fast", "foo", "--json"), 5, "no_such_plugin")
        self.assertEqual(self.text("is-enabled", "fast", status=1), "disabled\n")
        text = self.text("enable", "fast", "slow")
        self.assertEqual(text, "fast: enabled\nslow: enabled\n")

    def test_enable_of_what_its_manifest_disables_exits_1_and_names_the_manifest(self):
        self.daemon.add("off", [kernel(priority=12)], manifest={"enabled": False})
        self.text("reload")
        text = self.text("enable", "off", status=1)
        self.assertIn(self.daemon.manifest_path("off"), text)
        self.assertNotIn("already", text)

    def test_enable_of_what_failed_exits_1_and_names_retry(self):
        self.daemon.add("bad", [kernel(name="other")], before=CRASH)
        self.text("reload")
        self.assertRegex(
            self.text("enable", "bad", status=1), r"bad is failed .*pluginctl retry bad\n$"
        )

    def test_enable_of_a_plugin_tells_of_its_kernel_that_stays_disabled(self):
        self.text("disable", "fast/square")
        self.assertRegex(self.text("list"), r"(?m)^fast .* 0 of 1  1 kernel disabled: square$")
        done = self.ctl("enable", "fast")
        self.assertEqual(self.good(done), "fast: already enabled\n")
        self.assertIn(b"its kernel square is still disabled", done.stderr)

    def test_enable_of_what_is_gone_takes_the_decision_back_and_says_that_it_is_gone(self):
        for name in ("fast", "fast/square"):
            self.text("disable", name)
            self.daemon.remove("fast")
            self.text("reload")
            self.assertEqual(self.text("is-enabled", name, status=1), "disabled\n")
            self.assertIn(f"{name}: enabled, should it come back", self.text("enable", name))
            self.error(self.ctl("enable", name, "--json"), 5)
            self.daemon.manifest("fast")
            self.text("reload")
            self.assertEqual(self.selected(), "fast/square")

    def test_one_kernel_is_disabled_by_its_name(self):
        self.text("disable", "fast/square")
        self.assertEqual(self.selected(), "slow/square")
        self.assertEqual(self.text("is-enabled", "fast/square", status=1), "disabled\n")
        self.assertEqual(self.text("is-enabled", "fast"), "enabled\n")
        self.text("enable", "fast/square")
        self.assertEqual(self.selected(), "fast/square")

    def test_no_override_brings_a_disabled_one_back(self):
        self.text("disable", "fast")
        for more in ([], ["--force"]):
            args = ["select", SQUARE, "--override", "fast/square", *more]
            self.error(self.ctl("--json", *args), 1, "override_ineligible")

    def test_mask_takes_a_plugin_away_and_unmask_brings_it_back(self):
        self.daemon.remove("fast")
        self.text("reload")
        second = Daemon(layers=2)
        self.addCleanup(second.close)
        second.add("fast", [kernel(priority=10)], layer=1)
        second.add("slow", [kernel(priority=4)], layer=1)
        second.call("Reload")
        self.daemon.close()
        self.daemon = second
        self.text("mask", "fast")
        self.assertEqual(os.readlink(second.manifest_path("fast")), "/dev/null")
        self.assertEqual(self.selected(), "slow/square")
        self.assertRegex(self.text("list"), r"(?m)^fast .*masked")
        self.assertEqual(self.text("is-enabled", "fast", status=1), "masked\n")
        self.assertIn("already masked", self.text("mask", "fast"))
        self.text("unmask", "fast")
        self.assertEqual(self.selected(), "fast/square")

    def test_reload_names_what_changed(self):
        self.daemon.add("new", [kernel(priority=12)])
        self.text("reload")
        self.assertEqual(self.selected(), "new/square")
        self.daemon.remove("new")
        self.text("reload")
        self.assertEqual(self.selected(), "fast/square")
        self.assertEqual(self.text("reload"), "nothing changed\n")

    def test_retry_exits_1_while_it_fails_and_0_once_it_is_mended(self):
        self.daemon.add("bad", [kernel(name="other")], before=CRASH)
        self.text("reload")
        self.assertIn("bad: failed", self.text("retry", "bad", status=1))
        make_plugin(self.daemon.library_path("bad"), "bad", [kernel(name="other")])
        self.assertIn("bad: active", self.text("retry", "bad"))

    def test_after_the_daemon_nothing_is_answered(self):
        self.daemon.stop()
        self.complaint(self.ctl("list"), 3)
        self.error(self.ctl("list", "--json"), 3, "no_daemon")


class Measuring(Together):
    """The kernels that harness makes do nothing: they are measured, and found wrong."""

    def setUp(self):
        super().setUp()
        library = os.path.join(BUILD, "plugins", "reference.so")
        self.daemon.manifest("reference", library=library)
        self.daemon.add("idle", [kernel(priority=10)])
        self.daemon.call("Reload")
        self.daemon.settle()

    def test_nx25_a_wrong_kernel_is_a_row_and_exits_1_and_the_others_run(self):
        args = ["bench", SQUARE, "--shape", "n=64", "--shape", "n=100", "--time", "0.01"]
        document = self.json(*args, status=1)
        self.assertEqual(document["format"], "kplug-bench/1")
        verdicts = {(r["kernel"], r["shape"]["n"]): r["verdict"] for r in document["runs"]}
        self.assertEqual(len(verdicts), 4)
        for n in (64, 100):
            self.assertEqual(verdicts["reference/elementwise_square", n], "ok")
            self.assertNotEqual(verdicts["idle/square", n], "ok")
        with self.daemon.client() as client:
            client.interface = client.describe()
            client.check_reply("Bench", {"parameters": {**document}})
        text = self.text(*args, status=1)
        self.assertEqual(text.count("KERNEL"), 2)
        self.assertRegex(text, r"(?m)^  reference/elementwise_square .* 100% .* ok$")
        self.assertRegex(text, r"(?m)^  idle/square: \w+: .")

    def test_one_kernel_alone_is_measured_by_its_name(self):
        args = ["bench", SQUARE, "--kernel", "reference/elementwise_square", "--time", "0.01"]
        runs = self.json(*args, "--shape", "n=64", "--seed", "5")["runs"]
        self.assertEqual([(r["verdict"], r["seed"]) for r in runs], [("ok", 5)])
        self.assertGreaterEqual(runs[0]["samples"], 30)

    def test_what_cannot_be_measured_is_refused_before_anything_runs(self):
        rows = [
            (["elementwise/cube"], 5),
            ([SQUARE, "--kernel", "nobody/square"], 5),
            ([SQUARE, "--shape", "q=1"], 2),
            ([SQUARE, "--sig", "x=f32"], 2),
            ([SQUARE, "--trait", "zzz=1"], 2),
        ]
        for args, status in rows:
            with self.subTest(args=args):
                self.complaint(self.ctl("bench", *args), status)
                self.error(self.ctl("bench", "--json", *args), status)


class Unexecuted(Case):
    def test_nx09_info_of_a_file_and_help_run_nothing_of_it(self):
        with tempfile.TemporaryDirectory(prefix="kplug-unexecuted.") as place:
            mark = os.path.join(place, "ran")
            before = (
                "#include <fcntl.h>\n__attribute__((constructor)) static void tell(void)"
                f' {{ close(open("{mark}", O_CREAT | O_WRONLY, 0600)); }}'
            )
            library = os.path.join(place, "marked.so")
            make_plugin(library, "marked", before=before)
            for args in (["info", library], ["--json", "info", library], ["info", "-h"]):
                self.good(call(*args, socket="/nowhere/plugind.sock"))
            self.assertFalse(os.path.exists(mark))

    def test_a_file_that_would_be_refused_exits_1_and_says_why(self):
        with tempfile.TemporaryDirectory(prefix="kplug-refused.") as place:
            texts = {"not-elf.so": b"hello", "empty.so": b"", "cut.so": b"\x7fELF"}
            for name, content in texts.items():
                path = os.path.join(place, name)
                with open(path, "wb") as file:
                    file.write(content)
                with self.subTest(name=name):
                    self.assertRegex(self.good(call("info", path), 1), r"(?m)^state +rejected$")
                    plugin = self.document(call("info", path, "--json"), 1)["plugin"]
                    self.assertEqual(plugin["state"], "rejected")
                    self.assertTrue(plugin["reason"]["code"])


if __name__ == "__main__":
    unittest.main()
