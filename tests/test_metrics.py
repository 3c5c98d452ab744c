# SPDX-License-Identifier: MIT
"""`pluginctl metrics`: read by a parser that others wrote, and counting what has happened."""

import os
import re
import subprocess
import tempfile
import unittest

from prometheus_client.openmetrics.parser import text_string_to_metric_families as openmetrics
from prometheus_client.parser import text_string_to_metric_families as prometheus

from harness import BUILD, CRASH, Daemon, kernel
from pluginctl import Case, call

HERE = os.path.dirname(os.path.abspath(__file__))
EXAMPLES = os.path.join(os.path.dirname(HERE), "man/examples")
SQUARE = "elementwise/square"


def samples(families):
    """{(name, labels as text): value} of every sample."""
    return {
        (sample.name, ",".join(f"{k}={v}" for k, v in sorted(sample.labels.items()))): sample.value
        for family in families
        for sample in family.samples
    }


class Scene(Case):
    def setUp(self):
        self.daemon = self.enterContext(Daemon())
        self.daemon.add("fast", [kernel(priority=10)])
        self.daemon.add("slow", [kernel(priority=4)])
        self.daemon.add("bad", before=CRASH)
        self.daemon.call("Reload")
        self.daemon.settle()

    def ctl(self, *args):
        return self.good(call(*args, socket=self.daemon.socket))


class Metrics(Scene):
    def text(self):
        return self.ctl("metrics")

    def now(self):
        return samples(openmetrics(self.text()))

    def test_a_parser_of_openmetrics_takes_it_whole(self):
        families = {family.name: family for family in openmetrics(self.text())}
        self.assertEqual(families["kplug_plugins"].type, "gauge")
        self.assertEqual(families["kplug_calls"].type, "counter")
        self.assertEqual(families["kplug_worker_seconds"].type, "summary")
        for family in families.values():
            with self.subTest(family=family.name):
                self.assertTrue(family.documentation.endswith("."))
                self.assertTrue(family.name.startswith(("kplug_", "process_")))

    def test_the_older_text_format_has_the_same_samples(self):
        text = self.text()
        self.assertEqual(samples(prometheus(text)), samples(openmetrics(text)))

    def test_json_is_the_same_figures(self):
        document = self.document(call("--json", "metrics", socket=self.daemon.socket), 0)
        names = {metric["name"] for metric in document["metrics"]}
        self.assertEqual(names, {family.name for family in openmetrics(self.text())})

    def test_plugins_are_counted_by_state(self):
        now = self.now()
        self.assertEqual(now["kplug_plugins", "state=active"], 2)
        self.assertEqual(now["kplug_plugins", "state=failed"], 1)
        self.assertEqual(now["kplug_plugins", "state=masked"], 0)
        self.assertEqual(now["kplug_kernels", ""], 2)
        self.ctl("disable", "slow")
        now = self.now()
        self.assertEqual(now["kplug_plugins", "state=active"], 1)
        self.assertEqual(now["kplug_plugins", "state=disabled"], 1)

    def test_what_happens_is_counted(self):
        before = self.now()
        for _ in range(3):
            self.ctl("select", SQUARE)  # the second and third are kept answers
        self.ctl("why", SQUARE)
        self.ctl("disable", "fast")
        self.ctl("enable", "fast")
        call("info", "nobody", socket=self.daemon.socket)
        after = self.now()

        def grown(name, labels=""):
            return after[name, labels] - before.get((name, labels), 0)

        self.assertEqual(grown("kplug_selections_total"), 4)
        self.assertEqual(grown("kplug_calls_total", "method=Select"), 3)
        self.assertEqual(grown("kplug_calls_total", "method=Explain"), 1)
        self.assertEqual(grown("kplug_disables_total"), 1)
        self.assertEqual(grown("kplug_incidents_total", "kind=crash"), 0)
        self.assertEqual(grown("kplug_events_total", "kind=enable"), 1)
        self.assertGreaterEqual(grown("kplug_generation"), 2)
        self.assertGreaterEqual(grown("kplug_call_errors_total", "error=NotFound"), 1)

    def test_workers_are_counted_by_what_they_did_and_how_they_ended(self):
        now = self.now()
        self.assertEqual(now["kplug_worker_seconds_count", "job=probe"], 3)
        self.assertGreater(now["kplug_worker_seconds_sum", "job=probe"], 0)
        self.assertEqual(now["kplug_worker_deaths_total", "reason=killed"], 1)
        self.assertEqual(now["kplug_worker_deaths_total", "reason=timed_out"], 0)
        self.assertEqual(now["kplug_launcher_deaths_total", ""], 0)

    def test_figures_of_the_process_are_those_of_the_kernel(self):
        now = self.now()
        with open(f"/proc/{self.daemon.pid}/statm", encoding="ascii") as file:
            resident = int(file.read().split()[1]) * os.sysconf("SC_PAGESIZE")
        self.assertLess(abs(now["process_resident_memory_bytes", ""] - resident), 16 << 20)
        with open("/proc/uptime", encoding="ascii") as file:
            self.assertGreater(now["process_start_time_seconds", ""], float(file.read().split()[0]))
        self.assertGreater(now["process_cpu_seconds_total", ""], 0)


class Example(Scene):
    """The service for the node exporter's textfile collector, with another directory."""

    def command(self, place):
        with open(os.path.join(EXAMPLES, "kplug-metrics.service"), encoding="utf-8") as file:
            line = re.search(r"^ExecStart=(.*)$", file.read(), re.M)[1]
        self.assertIn("/var/lib/prometheus/node-exporter", line)
        return line.replace("/var/lib/prometheus/node-exporter", place)

    def run_example(self, place, socket):
        environment = dict(os.environ, PATH=f"{BUILD}:{os.environ['PATH']}", KPLUG_SOCKET=socket)
        return subprocess.run(
            self.command(place), shell=True, env=environment, capture_output=True, check=False
        )

    def test_the_example_leaves_one_whole_file(self):
        with tempfile.TemporaryDirectory() as place:
            done = self.run_example(place, self.daemon.socket)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(os.listdir(place), ["kplug.prom"])
            with open(os.path.join(place, "kplug.prom"), encoding="utf-8") as file:
                self.assertIn(("kplug_kernels", ""), samples(prometheus(file.read())))

    def test_without_plugind_the_example_fails_and_leaves_the_old_file(self):
        with tempfile.TemporaryDirectory() as place:
            old = os.path.join(place, "kplug.prom")
            with open(old, "w", encoding="utf-8") as file:
                file.write("old\n")
            done = self.run_example(place, os.path.join(place, "nobody"))
            self.assertNotEqual(done.returncode, 0)
            with open(old, encoding="utf-8") as file:
                self.assertEqual(file.read(), "old\n")


if __name__ == "__main__":
    unittest.main()
