# SPDX-License-Identifier: MIT
"""plugind is killed while it probes: what it makes of that when it comes back.

The plugins here tell by the name of their process that their probe has begun, for a
worker can write no file, then wait: the test kills plugind at that moment, as a machine
that goes down would.
"""

import json
import os
import subprocess
import unittest

from harness import Daemon, children, install, kernel, make_plugin, wait_until

# Says that it is there, and stays there while `hold` exists.
LINGER = """
#include <sys/prctl.h>
static void linger(void)
{
	if (write(2, "so far, so good\\n", 16) < 0 || prctl(PR_SET_NAME, "begun-%(name)s") < 0)
		_exit(1);
	while (access("%(place)s/hold-%(name)s", F_OK) == 0)
		usleep(1000);
}
"""
IN_CONSTRUCTOR = "__attribute__((constructor)) static void begin(void) { linger(); }"
STRIKES = 3


class Case(unittest.TestCase):
    def setUp(self):
        self.daemon = Daemon(start=False)
        self.addCleanup(self.daemon.close)
        self.place = self.daemon.place

    def path(self, what, name):
        return os.path.join(self.place, f"{what}-{name}")

    def hold(self, name):
        with open(self.path("hold", name), "w", encoding="utf-8"):
            pass

    def release(self, name):
        os.unlink(self.path("hold", name))

    def linger(self, name):
        return LINGER % {"place": self.place, "name": name}

    def add(self, name, **plugin):
        """A plugin whose constructor lingers."""
        self.hold(name)
        manifest = {"timeout_ms": 600000}
        self.daemon.add(
            name, before=self.linger(name) + IN_CONSTRUCTOR, manifest=manifest, **plugin
        )

    def marks(self):
        with open(os.path.join(self.daemon.state_dir, "probes.json"), encoding="utf-8") as file:
            return {m["plugin"]: m for m in json.load(file)["probes"]}

    def has_begun(self, name):
        """Is its worker in its code, here and now?"""
        for pid in children(self.daemon.pid):
            try:
                with open(f"/proc/{pid}/comm", encoding="utf-8") as file:
                    if file.read().strip() == f"begun-{name}":
                        return True
            except OSError:
                pass
        return False

    def wait_begun(self, name):
        wait_until(lambda: self.has_begun(name), f"the probe of {name}")

    def die_in(self, name, stage=None):
        """Starts plugind and kills it once the plugin's probe has begun."""
        self.daemon.start()
        self.wait_begun(name)
        if stage:
            wait_until(
                lambda: self.marks()[name]["stage"] == stage and self.marks()[name]["output"],
                "what the mark says",
            )
        self.daemon.kill()

    def info(self, name):
        return self.daemon.call("Info", name=name)["plugin"]

    def quarantine(self, name, stage="load"):
        self.die_in(name)
        for _ in range(STRIKES):
            self.die_in(name, stage)
        self.daemon.start()
        self.daemon.settle()


class Suspects(Case):
    def test_t21_who_was_probed_with_others_is_suspect_last_and_alone(self):
        names = ["a", "b", "c"]
        for name in names:
            self.add(name)
        self.daemon.add("innocent")
        self.daemon.start()
        for name in names:
            self.wait_begun(name)
        self.daemon.kill()
        self.assertEqual({self.marks()[n]["state"] for n in names}, {"probing"})
        self.daemon.add("later")
        self.daemon.start()
        # One of them is there, alone; nobody else waits for it.
        first = wait_until(lambda: [n for n in names if self.has_begun(n)], "a suspect")
        states = {p["name"]: p for p in self.daemon.call("List")["plugins"]}
        self.assertEqual(states["later"]["state"], "active")
        for name in names:
            self.assertEqual(states[name]["state"], "pending")
            self.assertEqual(states[name]["reason"]["code"], "suspect")
            self.assertIn("plugind died", states[name]["reason"]["message"])
        for _ in range(len(names)):
            (one,) = first
            running = {n: m["state"] for n, m in self.marks().items()}
            self.assertEqual(running.pop(one), "alone")
            self.assertLessEqual(set(running.values()), {"suspect"})
            self.release(one)
            names.remove(one)
            if names:
                first = wait_until(
                    lambda: [n for n in names if self.has_begun(n)], "the next suspect"
                )
        states = self.daemon.plugins()
        self.assertEqual({p["state"] for p in states.values()}, {"active"})
        wait_until(lambda: self.marks() == {}, "marks that are gone")

    def test_t21_in_whichever_kernel_it_is(self):
        self.hold("k")
        self.daemon.add(
            "k",
            [kernel(), kernel("other")],
            before=self.linger("k"),
            available="linger();",
            manifest={"timeout_ms": 600000},
        )
        self.quarantine("k", stage="probe kernel square")
        self.assertEqual(self.info("k")["evidence"]["stage"], "probe kernel square")

    def test_t21_who_survives_alone_begins_anew(self):
        self.add("p")
        self.die_in("p")
        self.die_in("p", "load")
        self.assertEqual(self.marks()["p"]["strikes"], 0)
        self.daemon.start()
        self.wait_begun("p")
        self.assertEqual(self.marks()["p"]["strikes"], 1)
        self.release("p")
        self.daemon.settle()
        self.assertEqual(self.info("p")["state"], "active")
        wait_until(lambda: self.marks() == {}, "marks that are gone")

    def test_t21_a_death_while_nothing_is_probed_is_nobodys_fault(self):
        self.daemon.add("p")
        self.daemon.start()
        self.daemon.settle()
        wait_until(lambda: self.marks() == {}, "marks that are gone")
        self.daemon.kill()
        self.daemon.start()
        self.daemon.settle()
        self.assertNotIn("[suspect]", self.daemon.log())

    def test_t21_an_orderly_end_is_no_strike(self):
        self.add("p")
        self.die_in("p")
        for _ in range(STRIKES + 1):
            self.daemon.start()
            self.wait_begun("p")
            self.daemon.stop()
            self.assertEqual(self.marks()["p"]["state"], "suspect")
            self.assertEqual(self.marks()["p"]["strikes"], 0)

    def test_t21_an_orderly_end_beside_others_leaves_no_suspect(self):
        self.add("p")
        self.daemon.start()
        self.wait_begun("p")
        self.daemon.stop()
        self.assertEqual(self.marks(), {})


class Quarantined(Case):
    def test_t21_three_deaths_alone_quarantine_with_evidence(self):
        self.add("killer")
        self.daemon.add("good")
        self.quarantine("killer")
        plugin = self.info("killer")
        self.assertEqual(plugin["state"], "quarantined")
        self.assertEqual(plugin["reason"]["code"], "deadly_probe")
        evidence = plugin["evidence"]
        self.assertEqual(evidence["stage"], "load")
        self.assertEqual(evidence["output"].strip(), "so far, so good")
        self.assertEqual(evidence["sha256"], plugin["sha256"])
        self.assertGreater(evidence["at"], 1700000000)
        self.assertEqual(self.info("good")["state"], "active")
        self.assertFalse(self.has_begun("killer"))
        (failure,) = self.daemon.call("Logs", name="killer")["failures"]
        self.assertEqual(failure["evidence"], evidence)
        status = self.daemon.call("Status")
        self.assertTrue(status["degraded"])
        (warning,) = [w for w in status["warnings"] if w["code"] == "deadly_probe"]
        self.assertIn("killer is quarantined: 3 times plugind", warning["message"])

    def check_record(self, name, stage):
        plugin = self.info(name)
        evidence = plugin["evidence"]
        self.assertEqual(plugin["reason"]["code"], "deadly_probe")
        self.assertEqual(evidence["stage"], stage)
        self.assertEqual(evidence["output"].strip(), "so far, so good")
        self.assertEqual(evidence["sha256"], plugin["sha256"])
        # plugind ended before the worker did: nobody knows how that would have.
        for key in ("exit", "signal", "loader", "backtrace"):
            self.assertIsNone(evidence[key], key)
        for command in ("info", "logs"):
            text = self.daemon.ctl(command, name).stdout
            for word in (stage, evidence["sha256"], "so far, so good", "deadly_probe"):
                self.assertIn(word, text)

    def test_t22_a_quarantine_has_what_was_known_of_the_last_death(self):
        self.add("killer")
        self.quarantine("killer")
        self.check_record("killer", "load")

    def test_t22_a_quarantine_says_in_which_kernel_it_was(self):
        self.hold("killer")
        self.daemon.add(
            "killer",
            before=self.linger("killer"),
            available="linger();",
            manifest={"timeout_ms": 600000},
        )
        self.quarantine("killer", stage="probe kernel square")
        self.check_record("killer", "probe kernel square")

    def test_t21_every_command_that_shows_it_has_code_and_remedy(self):
        self.add("killer")
        self.quarantine("killer")
        why = ["why", "elementwise/square"]
        for command in (["info", "killer"], ["logs", "killer"], ["list"], ["status"], why):
            with self.subTest(command=command[0]):
                text = self.daemon.ctl(*command).stdout
                self.assertIn("deadly_probe", text)
                self.assertIn("quarantined", text)
                if command[0] != "list":
                    self.assertIn("pluginctl retry killer", " ".join(text.split()))

    def check_cleared(self, name):
        plugin = self.info(name)
        self.assertEqual((plugin["state"], plugin["reason"]), ("active", None))
        self.assertFalse(self.daemon.call("Status")["degraded"])
        wait_until(lambda: self.marks() == {}, "marks that are gone")

    def test_t21_retry_clears_it(self):
        self.add("killer")
        self.quarantine("killer")
        self.release("killer")
        plugin = self.daemon.call("Retry", name="killer")["plugin"]
        self.assertEqual(plugin["state"], "active")
        self.check_cleared("killer")

    def test_t21_a_retry_that_kills_again_has_no_strike_of_before(self):
        self.add("killer")
        self.quarantine("killer")
        with self.daemon.client() as client:
            client.start("Retry", {"name": "killer"})
            self.wait_begun("killer")
            self.daemon.kill()
        self.daemon.start()
        self.wait_begun("killer")
        self.assertEqual(self.marks()["killer"]["strikes"], 1)
        self.release("killer")
        self.daemon.settle()
        self.check_cleared("killer")

    def test_t21_a_changed_library_clears_it(self):
        self.add("killer")
        self.quarantine("killer")
        make_plugin(self.daemon.library_path("killer"), "killer")
        self.daemon.call("Reload")
        self.check_cleared("killer")

    def test_t21_t23_a_changed_dependency_clears_it(self):
        helper = os.path.join(self.daemon.plugin_dir, "libhelper.so")
        self.build_helper(helper, 1)
        flags = [f"-L{self.daemon.plugin_dir}", "-Wl,--no-as-needed", "-lhelper"]
        self.add("killer", flags=[*flags, "-Wl,-rpath,$ORIGIN"])
        self.quarantine("killer")
        self.assertEqual(self.info("killer")["state"], "quarantined")
        self.release("killer")
        self.build_helper(helper, 2)
        self.daemon.call("Reload")
        self.check_cleared("killer")

    @staticmethod
    def build_helper(path, value):
        with open(path + ".c", "w", encoding="utf-8") as file:
            file.write(f"int helper(void) {{ return {value}; }}\n")
        flags = ["-shared", "-fPIC", "-Wl,-soname,libhelper.so"]
        subprocess.run(["cc", *flags, "-o", path + ".new", path + ".c"], check=True)
        install(path)

    def test_t21_a_restart_changes_nothing(self):
        self.add("killer")
        self.quarantine("killer")
        before = self.info("killer")
        self.daemon.restart()
        self.daemon.settle()
        after = self.info("killer")
        self.assertEqual(after["evidence"], before["evidence"])
        self.assertEqual(after["reason"], before["reason"])
        self.assertEqual(after["state"], "quarantined")


class Damage(Case):
    def test_marks_that_are_damaged_are_set_aside_and_said(self):
        self.daemon.add("p")
        path = os.path.join(self.daemon.state_dir, "probes.json")
        os.mkdir(self.daemon.state_dir, 0o700)
        rows = {
            "no JSON": "{",
            "another format": '{"format": "kplug-probes/9", "boot": "", "probes": []}',
            "a sum of others": json.dumps(
                {"format": "kplug-probes/1", "boot": "", "probes": [], "sum": "0" * 16}
            ),
        }
        for what, text in rows.items():
            with self.subTest(what=what):
                with open(path, "w", encoding="utf-8") as file:
                    file.write(text)
                self.daemon.start()
                status = self.daemon.call("Retry", name="p") and self.daemon.call("Status")
                self.assertEqual(self.info("p")["state"], "active")
                warned = [w for w in status["warnings"] if "probes.json" in w["message"]]
                self.assertEqual([w["code"] for w in warned], ["damaged_state"])
                self.daemon.stop()
        self.assertTrue(os.path.exists(path + ".damaged"))


if __name__ == "__main__":
    unittest.main()
