# SPDX-License-Identifier: MIT
"""How pluginctl ends when plugind refuses, is silent, away or hostile."""

import glob
import os
import re
import subprocess
import tempfile
import unittest

import fake_plugind as fakes
from fake_plugind import Fake
from pluginctl import (
    ASKING,
    ERRORS,
    LIMIT_S,
    PLUGINCTL,
    RAW,
    Case,
    as_nobody,
    call,
    environment,
)


ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
CODE_SET = r'(?:kp_diag_set|output_refuse)\(\s*[^,;()]+,\s*"([a-z0-9_]+)"'


def pauses(pid):
    """How often a process has gone to sleep so far."""
    with open(f"/proc/{pid}/status", encoding="utf-8") as file:
        return int(re.search(r"\nvoluntary_ctxt_switches:\s*(\d+)", file.read()).group(1))


def layers(**replies):
    return {"Layers": {"mask_dir": "/nowhere/kplug"}, **replies}


class Failures(Case):
    def test_t73_each_error_of_the_daemon_has_its_status_in_text(self):
        for args, method in ASKING:
            for name, status in ERRORS:
                replies = layers(**{method: fakes.error(name, message="it is so")})
                with self.subTest(args=args, error=name), Fake(**replies) as fake:
                    text = self.complaint(call(*args, socket=fake.path), status)
                    self.assertEqual(text, f"pluginctl: {args[0]}: it is so\n")

    def test_t74_each_error_of_the_daemon_is_an_error_object_in_json(self):
        for args, method in ASKING:
            for name, status in ERRORS:
                replies = layers(**{method: fakes.error(name, nearest="other")})
                with self.subTest(args=args, error=name), Fake(**replies) as fake:
                    done = call("--json", *args, socket=fake.path)
                    error = self.error(done, status, "some_code")
                    self.assertEqual(error["nearest"], "other")

    def test_the_nearest_name_is_offered_once(self):
        with Fake(Info=fakes.error("NotFound", message="no x8", nearest="x86")) as fake:
            text = self.complaint(call("info", "x8", socket=fake.path), 5)
            self.assertEqual(text, "pluginctl: info: no x8; did you mean x86?\n")
        told = fakes.error("NotFound", message="no x8, but x86", nearest="x86")
        with Fake(Info=told) as fake:
            text = self.complaint(call("info", "x8", socket=fake.path), 5)
            self.assertEqual(text, "pluginctl: info: no x8, but x86\n")

    def test_a_name_of_another_kind_is_told_what_it_is(self):
        none = {"message": "there is none"}
        plugin = fakes.error("NotFound", code="no_such_plugin", **none)
        operation = fakes.error("NotFound", code="unknown_operation", **none)
        named = fakes.error("NotFound", code="no_such_kernel", object="x", **none)
        rows = [
            (["kernels", "x86"], {"Kernels": operation}, "x86 is a plugin: `pluginctl info x86`"),
            (
                ["kernels", "x86/mm"],
                {"Kernels": operation},
                "x86 is a plugin: `pluginctl info x86`",
            ),
            (["disable", "gemm/mm"], {"Disable": plugin}, "`pluginctl kernels gemm/mm`"),
            (["is-enabled", "gemm"], {"IsEnabled": plugin}, "gemm is an operation"),
            (["info", "gemm"], {"Info": plugin}, "`pluginctl kernels gemm`"),
            (["retry", "gemm"], {"Retry": plugin}, "`pluginctl kernels gemm`"),
            (
                ["bench", "a/b", "--kernel", "x"],
                {"Bench": named, "Kernels": operation},
                "x is a plugin",
            ),
            (["info", "zz"], {"Info": plugin, "Kernels": operation}, "there is none\n"),
        ]
        for args, replies, word in rows:
            with self.subTest(args=args), Fake(**replies) as fake:
                self.assertIn(word, self.complaint(call(*args, socket=fake.path), 5))
                error = self.error(call("--json", *args, socket=fake.path), 5)
                self.assertIn(word.strip(), error["message"])

    def test_errors_of_varlink_itself_ask_for_the_versions(self):
        unknown = {"method": "org.kplug.Manager.List"}
        reply = [{"error": "org.varlink.service.MethodNotFound", "parameters": unknown}]
        with Fake(List=reply) as fake:
            self.assertIn("MethodNotFound", self.complaint(call("list", socket=fake.path), 7))
            error = self.error(call("list", "--json", socket=fake.path), 7, "protocol_error")
            self.assertEqual(error["object"], "org.kplug.Manager.List")

    def test_an_ineligible_override_keeps_its_reasons(self):
        reply = fakes.error(
            "OverrideIneligible", code="override_ineligible", reasons=fakes.EXCLUDED
        )
        with Fake(Select=reply) as fake:
            done = call("select", "gemm/mm", "--override", "x", "--json", socket=fake.path)
            error = self.error(done, 1, "override_ineligible")
            self.assertEqual(error["reasons"], fakes.EXCLUDED)

    def test_t74_without_a_daemon_every_command_exits_3(self):
        place = "/nowhere/plugind.sock"
        for args, method in ASKING:
            if method == "Version":
                continue
            with self.subTest(args=args):
                args = ["--timeout", "0.05", *args]
                text = self.complaint(call(*args, socket=place), 3)
                self.assertRegex(text, rf"no plugind listens at {place} \(No such .*\)\n$")
                error = self.error(call("--json", *args, socket=place), 3, "no_daemon")
                self.assertIn(place, error["message"])

    def test_without_a_name_every_place_tried_is_told(self):
        with Fake() as fake:
            os.mkdir(os.path.join(fake.dir, "kplug"))
            os.rename(fake.path, os.path.join(fake.dir, "kplug", "plugind.sock"))
            env = environment(XDG_RUNTIME_DIR=fake.dir)
            answered = call("list", env=env)
        if os.path.exists("/run/kplug/plugind.sock"):
            self.assertEqual(fake.connections, 0)
            return
        self.assertIn("openblas", self.good(answered))
        text = self.complaint(call("list", env=env), 3)
        self.assertIn("/run/kplug/plugind.sock", text)
        self.assertIn(f"{fake.dir}/kplug/plugind.sock", text)
        self.assertIn("`plugind`, or that of the machine with `plugind --system`\n", text)
        text = self.complaint(call("list", env=environment(XDG_RUNTIME_DIR=None)), 3)
        self.assertIn("XDG_RUNTIME_DIR is not set: ", text)
        text = self.complaint(call("list", env=environment(XDG_RUNTIME_DIR="run")), 3)
        self.assertIn("XDG_RUNTIME_DIR is not absolute: ", text)

    def test_status_with_wait_waits_for_the_socket_too(self):
        with Fake() as fake:
            away = fake.path + ".away"
            os.rename(fake.path, away)
            self.complaint(call("status", "--wait", "--timeout", "0.05", socket=fake.path), 3)
            self.complaint(call("status", socket=fake.path), 3)
            command = [PLUGINCTL, "--socket", fake.path, "status", "--wait", "-q"]
            with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment()) as process:
                while pauses(process.pid) < 3:
                    self.assertIsNone(process.poll())
                os.rename(away, fake.path)
                out, _ = process.communicate(timeout=LIMIT_S)
            self.assertEqual((out, process.returncode), (b"ready\n", 0))

    def test_t66_a_socket_path_that_is_too_long_exits_2_with_length_and_limit(self):
        for length in (108, 109, 300):
            path = "/" + "p" * (length - 1)
            for args in (["list"], ["version"], ["status"]):
                with self.subTest(length=length, args=args):
                    text = self.complaint(call(*args, socket=path), 2)
                    self.assertIn(f"{length} bytes", text)
                    self.assertIn("at most 107", text)
                    self.error(call("--json", *args, socket=path), 2, "path_too_long")
                    env = environment(KPLUG_SOCKET=path)
                    self.error(call("--json", *args, env=env), 2, "path_too_long")

    def test_t66_a_socket_path_of_107_bytes_is_used(self):
        with tempfile.TemporaryDirectory() as place, Fake() as fake:
            path = os.path.join(place, "p" * (106 - len(place)))
            self.assertEqual(len(path), 107)
            os.rename(fake.path, path)
            self.assertIn("openblas", self.good(call("list", socket=path)))

    def test_a_socket_that_may_not_be_used_exits_4(self):
        with Fake() as fake, as_nobody(fake.path) as options:
            os.chmod(fake.path, 0)
            self.complaint(call("list", socket=fake.path, **options), 4)
            done = call("list", "--json", socket=fake.path, **options)
            self.error(done, 4, "not_permitted")

    def test_t74_a_daemon_that_stays_silent_times_out_with_6(self):
        for args, method in ASKING:
            with self.subTest(args=args), Fake(**{method: None}) as fake:
                done = call(*args, "--timeout", "0.05", socket=fake.path)
                wait = "0.55 s" if args[0] == "bench" else "0.05 s"
                self.assertIn(wait, self.complaint(done, 6))
                done = call("--json", "--timeout=0.05", *args, socket=fake.path)
                self.error(done, 6, "timed_out")


class Codes(Case):
    def test_every_code_that_is_set_has_a_place_in_the_table_of_errors(self):
        with open(os.path.join(ROOT, "lib/protocol/message_error.c"), encoding="utf-8") as file:
            known = set(re.findall(r'"([a-z0-9_]+)"', file.read()))
        found = {}
        for place in ("lib/**/*.c", "daemon/**/*.c", "cmd/*.c"):
            for path in glob.glob(os.path.join(ROOT, place), recursive=True):
                if "/lib/host/" in path:  # an application's: no reply carries them
                    continue
                with open(path, encoding="utf-8") as file:
                    text = file.read()
                for code in re.findall(CODE_SET, text):
                    found.setdefault(code, os.path.relpath(path, ROOT))
        self.assertGreater(len(found), 100)
        lacking = {code: path for code, path in found.items() if code not in known}
        self.assertEqual(lacking, {}, "say in lib/protocol/message_error.c whose mistake each is")


class Hostile(Case):
    def both(self, args, **replies):
        """Fails with 7 in text and JSON; the text."""
        with Fake(**replies) as fake:
            text = self.complaint(call(*args, socket=fake.path), 7)
            self.error(call("--json", *args, socket=fake.path), 7)
        return text

    def test_garbage_exits_7(self):
        garbage = [
            b"HTTP/1.1 400 Bad Request\r\n\r\n\0",
            b"\0",
            b"[]\0",
            b"{\0",
            b'{"parameters": "x"}\0',
            b'{"parameters": {"plugins": [NaN]}}\0',
            b'{"parameters": {"plugins": ["\xff"]}}\0',
            b'{"parameters": {}, "parameters": {}}\0',
            b'{"parameters": {}, "continues": true}\0',
            b"",
            b'{"parameters": {"plugins": []}}',
            b'{"parameters": ' + b'{"x": ' * 5000 + b"1" + b"}" * 5000 + b"}\0",
        ]
        for bytes_ in garbage:
            with self.subTest(bytes=bytes_[:40]):
                self.both(["list"], List=bytes_)

    def test_a_reply_without_what_is_needed_exits_7_and_says_what(self):
        for args, method in ASKING:
            with self.subTest(args=args):
                self.assertIn(f"to {method} has", self.both(args, **{method: {}}))

    def test_a_reply_of_other_types_exits_7(self):
        self.both(["list"], List={"plugins": {}})
        self.both(["info", "x"], Info={"plugin": []})
        self.both(["status"], Status=dict(fakes.STATUS, pending="none"))
        self.both(["is-enabled", "x"], IsEnabled={"enabled": "yes", "state": "enabled"})
        self.both(["select", "gemm/mm"], Select=dict(fakes.DECISION, selected=5))
        self.both(["bench", "gemm/mm"], Bench={"format": "kplug-bench/1", "runs": None})

    def test_members_of_other_types_are_shown_as_unknown(self):
        rows = [None, 5, "x", [], {}, {"name": 5, "state": {}, "reason": "x", "kernels": 5}]
        odd = {"operation": "x", "selected": "x", "rank": 5, "override": [], "warnings": [5]}
        odd.update(fallback_from="x", pending={"a": 1}, candidates=rows, signature=4)
        info = dict.fromkeys(fakes.INFO, 5)
        info.update(kernels=rows, since=2**62)
        status = dict.fromkeys(fakes.STATUS, "x")
        status.update(pending=[5], degraded=True)
        shown = [
            (["list"], {"List": {"plugins": rows}}, 0),
            (["kernels"], {"Kernels": {"kernels": rows}}, 0),
            (["select", "x"], {"Select": odd}, 0),
            (["why", "x"], {"Explain": odd}, 0),
            (["info", "x"], {"Info": {"plugin": info}}, 0),
            (["status"], {"Status": status}, 0),
            (["bench", "x"], {"Bench": {"format": "x", "runs": rows}}, 1),
        ]
        for args, replies, wanted in shown:
            with self.subTest(args=args), Fake(**replies) as fake:
                self.assertTrue(self.good(call(*args, socket=fake.path), wanted))

    def evil_replies(self, evil):
        reason = {"code": evil, "message": evil}
        row = fakes.plugin(evil, evil, version=evil, reason=reason)
        decision = dict(fakes.DECISION, operation=evil, selected=evil, signature=evil)
        decision.update(device=evil, pending=[evil], warnings=[reason])
        decision["fallback_from"] = dict(reason, kernel=evil)
        exclusion = {"code": evil, "required": evil, "actual": evil, "source": evil}
        candidate = dict(fakes.CANDIDATES[2], kernel=evil, reasons=[exclusion])
        kernel = dict(fakes.KERNEL, name=evil, traits={evil: {evil: [evil]}}, tags=[evil])
        info = {k: evil if isinstance(v, str) else v for k, v in fakes.INFO.items()}
        info.update(elf={evil: evil}, config={evil: evil}, kernels=[kernel])
        return {
            "List": {"plugins": [row]},
            "Kernels": {"kernels": [dict(candidate, state=evil, band=evil)]},
            "Select": decision,
            "Explain": dict(decision, candidates=[candidate]),
            "Info": {"plugin": info},
            "Disable": {"name": evil, "changed": True},
            "Enable": {"name": evil, "changed": False},
            "IsEnabled": {"enabled": True, "state": evil},
            "Pin": dict(fakes.PIN, choice=evil),
            "Unpin": {"changed": True, "previous": evil},
            "Pins": {"pins": [dict(fakes.PINNED, choice=evil, reasons=[exclusion])]},
            "Guard": dict(fakes.GUARDED, operation=evil, changed=True, problem=evil),
            "Guards": {"guards": [dict(fakes.GUARDED, operation=evil, problem=evil)]},
            "History": {
                "rolled_back": dict(fakes.ROLLED, reason=evil),
                "generations": [dict(fakes.GENERATION, version=evil, verdict=evil)],
            },
            "Rollback": {"name": evil, "changed": True, "plugin": row},
            "Monitor": dict(fakes.MONITOR, event=dict(fakes.MONITOR["event"], message=evil)),
            "Load": {"plugin": row},
            "Unload": {"name": evil},
            "Logs": {"state": evil, "failures": [dict(fakes.FAILURE, message=evil)]},
            "Reload": {"added": [evil], "changed": [evil], "removed": []},
            "Retry": {"plugin": row},
            "Status": dict(fakes.STATUS, state=evil, plugins={evil: 3}, plugin_dir=evil),
            "Version": {"version": evil},
            "Bench": {"format": evil, "runs": [fakes.run(evil, 1.5, message=evil)]},
            "Verify": {"format": evil, "runs": [dict(fakes.VERIFIED, kernel=evil)]},
        }

    def test_control_bytes_of_names_and_texts_never_reach_the_terminal(self):
        with Fake(**self.evil_replies("a\x1b[2J\x07b\x7f\u009bc\rd\ne\tf")) as fake:
            for args, _ in ASKING:
                if args[0] in ("mask", "unmask"):
                    continue
                with self.subTest(args=args):
                    done = call(*args, socket=fake.path)
                    text = (done.stdout + done.stderr).decode()
                    self.assertNotRegex(text, RAW)
                    self.assertIn("x1b[2J", text)
                    done = call("--json", *args, socket=fake.path)
                    self.assertNotRegex(done.stdout.decode(), RAW)

    def test_control_bytes_of_errors_never_reach_the_terminal(self):
        evil = "a\x1b[2J\u009b\n\x7f"
        reply = fakes.error("Failed", code=evil, message=evil, nearest=evil)
        with Fake(List=reply) as fake:
            text = self.complaint(call("list", socket=fake.path), 7)
            self.assertNotRegex(text, RAW)
            self.assertEqual(text.count("\n"), 1)
            self.error(call("list", "--json", socket=fake.path), 7, evil)

    def test_control_bytes_survive_json_as_escapes(self):
        name = "a\x01\x7f\u0085\u00a0é"
        with Fake(List={"plugins": [fakes.plugin(name)]}) as fake:
            document = self.document(call("list", "--json", socket=fake.path))
            self.assertEqual(document["plugins"][0]["name"], name)

    def test_a_large_reply_is_read(self):
        rows = [fakes.plugin(f"plugin-{i:05}") for i in range(20000)]
        with Fake(List={"plugins": rows, "pending": [], "generation": 1}) as fake:
            document = self.document(call("list", "--json", socket=fake.path))
            self.assertEqual(len(document["plugins"]), 20000)
            self.assertEqual(len(self.good(call("list", socket=fake.path)).splitlines()), 20001)

    def test_a_reply_over_the_bound_exits_7(self):
        self.both(["list"], List=b'{"parameters": {"x": "' + b"x" * (65 << 20))


if __name__ == "__main__":
    unittest.main()
