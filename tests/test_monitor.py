# SPDX-License-Identifier: MIT
"""Events: each one once and in order, and every gap told."""

import json
import os
import signal
import socket
import subprocess
import unittest

from harness import BUILD, CRASH, PATIENCE_S, Daemon, kernel, wait_until
from varlink import Client, VarlinkError

SQUARE = "elementwise/square"
RING = 1024


class Case(unittest.TestCase):
    def daemon(self, **keywords):
        daemon = Daemon(**keywords)
        self.addCleanup(daemon.close)
        return daemon

    def watch(self, daemon, **parameters):
        """A generator of checked replies; its connection ends with the test."""
        client = daemon.client()
        self.addCleanup(client.close)
        return client.call_more("Monitor", parameters)

    def until(self, replies, kind, **members):
        """The first event like that, and all before it."""
        seen = []
        for reply in replies:
            event = reply["event"]
            if not event:
                continue
            seen.append(event)
            if event["kind"] == kind and all(event[k] == v for k, v in members.items()):
                return event, seen
        raise AssertionError(f"no {kind} {members}")


class Events(Case):
    def test_what_happens_is_told_with_who_did_it(self):
        daemon = self.daemon()
        daemon.add("a", [kernel(solution="fast")])
        daemon.settle()
        replies = self.watch(daemon)
        first = next(replies)
        self.assertIsNone(first["event"])
        self.assertFalse(first["gap"])
        uid = os.geteuid()
        daemon.call("Reload")
        event, seen = self.until(replies, "reload")
        self.assertEqual(event["uid"], uid)
        self.assertIn("added", event["message"])
        daemon.call("Disable", name="a", reason="hot")
        event, seen = self.until(replies, "disable", name="a")
        self.assertEqual((event["uid"], event["message"]), (uid, "hot"))
        (state,) = [e for e in seen if e["kind"] == "state"]
        self.assertEqual((state["from"], state["to"], state["uid"]), ("active", "disabled", uid))
        self.assertEqual(state["code"], "disabled_by_operator")
        self.assertTrue([e for e in seen if e["kind"] == "generation"])
        daemon.call("Enable", name="a")
        self.until(replies, "enable", name="a")
        for method, kind in (("Disable", "disable"), ("Enable", "enable")):
            daemon.call(method, name=SQUARE, solution="fast")
            self.until(replies, kind, name=SQUARE, object="fast")
        daemon.call("Pin", operation=SQUARE, choice="fast")
        self.until(replies, "pin", name=SQUARE, object="fast")
        daemon.call("Unpin", operation=SQUARE)
        self.until(replies, "unpin", name=SQUARE)
        daemon.add("bad", before=CRASH)
        event, _ = self.until(replies, "state", name="bad", to="failed")
        self.assertEqual((event["from"], event["code"]), ("pending", "killed_by_signal"))
        self.assertIsNone(event["uid"])
        daemon.remove("bad")
        self.until(replies, "state", name="bad", to=None)

    def test_sequences_have_no_hole_and_one_boot(self):
        daemon = self.daemon()
        replies = self.watch(daemon, since=0)
        boots = set()
        for _ in range(20):
            daemon.call("Reload")
        sequences = []
        for reply in replies:
            boots.add(reply["boot"])
            if reply["event"]:
                sequences.append(reply["event"]["sequence"])
            if len(sequences) >= 20:
                break
        self.assertEqual(sequences, list(range(1, len(sequences) + 1)))
        self.assertEqual(len(boots), 1)

    def test_damage_is_told(self):
        daemon = self.daemon()
        daemon.stop()
        with open(os.path.join(daemon.state_dir, "decisions.json"), "w", encoding="utf-8") as file:
            file.write("garbage")
        daemon.start()
        event, _ = self.until(self.watch(daemon, since=0), "damage")
        self.assertEqual(event["code"], "damaged_state")

    def test_it_needs_more(self):
        daemon = self.daemon()
        with self.assertRaises(VarlinkError) as caught:
            daemon.call("Monitor")
        self.assertIn("org.varlink.service.ExpectedMore", str(caught.exception))


class Resuming(Case):
    def churn(self, daemon, times):
        """So many events of decisions, and as many generations: nothing goes to the disk."""
        with daemon.client() as client:
            for i in range(times):
                client.call("Disable", {"name": "a", "reason": str(i), "runtime": True})

    def ready(self):
        daemon = self.daemon(start=False)
        daemon.add("a")
        daemon.start()
        daemon.settle()
        return daemon

    def test_what_is_in_the_ring_is_replayed(self):
        daemon = self.ready()
        first = next(self.watch(daemon))
        self.churn(daemon, 6)
        replies = self.watch(daemon, boot=first["boot"], since=first["sequence"])
        _, seen = self.until(replies, "disable", message="5")
        self.assertEqual(seen[0]["sequence"], first["sequence"] + 1)
        sequences = [event["sequence"] for event in seen]
        self.assertEqual(sequences, list(range(sequences[0], sequences[-1] + 1)))

    def test_what_is_not_any_more_is_counted_and_the_present_told(self):
        daemon = self.ready()
        first = next(self.watch(daemon))
        self.churn(daemon, RING)
        daemon.call("Pin", operation=SQUARE, choice="a/square")
        reply = next(self.watch(daemon, boot=first["boot"], since=first["sequence"]))
        self.assertTrue(reply["gap"])
        self.assertEqual(reply["unknown"], reply["sequence"] - first["sequence"])
        self.assertGreater(reply["unknown"], RING)
        self.assertEqual([p["name"] for p in reply["present"]["plugins"]], ["a"])
        self.assertEqual(reply["present"]["pins"][0]["choice"], "a/square")

    def test_of_another_boot_nobody_knows_how_many(self):
        daemon = self.ready()
        first = next(self.watch(daemon))
        daemon.restart()
        daemon.settle()
        for since in (first["sequence"], 0, 10**12):
            reply = next(self.watch(daemon, boot=first["boot"], since=since))
            self.assertNotEqual(reply["boot"], first["boot"])
            self.assertEqual((reply["gap"], reply["unknown"]), (True, None))
            self.assertEqual([p["state"] for p in reply["present"]["plugins"]], ["active"])
        own = next(self.watch(daemon))["boot"]
        reply = next(self.watch(daemon, boot=own, since=10**12))
        self.assertEqual((reply["gap"], reply["unknown"]), (True, None))
        with self.assertRaises(VarlinkError) as caught:
            next(self.watch(daemon, since=-1))
        self.assertEqual(caught.exception.code, "bad_since")

    def test_a_slow_reader_gets_a_gap_and_costs_no_memory(self):
        daemon = self.ready()
        slow = Client(daemon.socket, PATIENCE_S)
        self.addCleanup(slow.close)
        slow.interface = slow.describe()
        slow.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        replies = slow.call_more("Monitor", {})
        first = next(replies)
        self.churn(daemon, 3 * RING)
        seen, gaps = first["sequence"], 0
        for reply in replies:
            self.assertEqual(reply["boot"], first["boot"])
            if reply["gap"]:
                gaps += 1
                self.assertEqual(reply["sequence"] - seen, reply["unknown"])
                seen = reply["sequence"]
            else:
                self.assertEqual(reply["event"]["sequence"], seen + 1)
                seen += 1
            if gaps and seen == reply["sequence"]:
                break
        self.assertEqual(gaps, 1)
        daemon.call("Reload")
        self.until(replies, "reload")

    def test_one_that_leaves_is_forgotten(self):
        daemon = self.ready()
        for _ in range(50):
            with daemon.client() as client:
                next(client.call_more("Monitor", {}))
        self.churn(daemon, 10)
        wait_until(lambda: daemon.call("Status")["clients"] == 1, "all but us to have left")


class Command(Case):
    def start(self, daemon, *words):
        process = subprocess.Popen(
            [os.path.join(BUILD, "pluginctl"), "--socket", daemon.socket, *words],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.addCleanup(process.wait)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.stderr.close)
        self.addCleanup(process.kill)
        return process

    def ready(self):
        daemon = self.daemon(start=False)
        daemon.add("a")
        daemon.start()
        daemon.settle()
        return daemon

    def test_count_ends_it_and_json_is_a_document_a_line(self):
        daemon = self.ready()
        done = daemon.ctl("--json", "monitor", "--since", "0", "--count", "2")
        self.assertEqual(done.returncode, 0, done.stderr)
        lines = [json.loads(line) for line in done.stdout.splitlines()]
        self.assertEqual([line["event"]["sequence"] for line in lines], [1, 2])
        done = daemon.ctl("monitor", "--since", "0", "--count", "2")
        self.assertEqual(len(done.stdout.splitlines()), 2)
        self.assertRegex(done.stdout, r" state a: new, pending")
        boot = lines[0]["boot"]
        done = daemon.ctl("--json", "monitor", "--since", f"{boot}:1", "--count", "1")
        self.assertEqual(json.loads(done.stdout)["event"]["sequence"], 2)

    def test_it_goes_on_with_a_daemon_that_was_started_anew(self):
        daemon = self.ready()
        process = self.start(daemon, "--json", "monitor", "--since", "0")
        first = json.loads(process.stdout.readline())
        daemon.restart()
        for line in process.stdout:
            reply = json.loads(line)
            if reply["boot"] != first["boot"]:
                break
        self.assertEqual((reply["gap"], reply["unknown"]), (True, None))
        self.assertEqual([p["name"] for p in reply["present"]["plugins"]], ["a"])
        daemon.call("Disable", name="a")
        for line in process.stdout:
            if json.loads(line)["event"]["kind"] == "disable":
                break
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(PATIENCE_S), 0)

    def test_it_ends_with_3_where_no_daemon_comes_back(self):
        for words in (["--no-reconnect"], ["--timeout", "0.2"]):
            daemon = self.ready()
            process = self.start(daemon, "monitor", "--since", "0", *words)
            process.stdout.readline()
            daemon.stop()
            self.assertEqual(process.wait(PATIENCE_S), 3, words)

    def test_signals_end_it_cleanly_also_while_it_waits_for_a_daemon(self):
        daemon = self.ready()
        for number in (signal.SIGINT, signal.SIGTERM):
            process = self.start(daemon, "monitor", "--since", "0")
            process.stdout.readline()
            process.send_signal(number)
            self.assertEqual(process.wait(PATIENCE_S), 0)
        process = self.start(daemon, "monitor", "--since", "0")
        process.stdout.readline()
        daemon.stop()
        self.assertIn("waiting", process.stderr.readline())
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(PATIENCE_S), 0)

    def test_wrong_words_are_usage(self):
        daemon = self.ready()
        counts = [["--count", "0"], ["--count", "x"]]
        sinces = [["--since", "x"], ["--since", "-1"], ["--since", "boot:"]]
        for words in [*counts, *sinces, ["more"]]:
            self.assertEqual(daemon.ctl("monitor", *words).returncode, 2, words)


if __name__ == "__main__":
    unittest.main()
