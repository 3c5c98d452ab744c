# SPDX-License-Identifier: MIT
"""What pluginctl asks of plugind, and how it shows the answers."""

import json
import os
import re
import tempfile
import unittest

import fake_plugind as fakes
from fake_plugind import Fake
from pluginctl import ASKING, Case, call


class Json(Case):
    def test_the_parameters_of_the_reply_are_printed_as_they_are(self):
        for args, method in ASKING:
            if method in ("Layers", "Version", "Bench", "Monitor") or args[0] == "mask":
                continue
            with self.subTest(args=args), Fake() as fake:
                reply = fakes.REPLIES[method]
                document = self.document(call(*args, "--json", socket=fake.path))
                self.assertEqual(document, reply)
                self.assertEqual(list(document), list(reply))

    def test_numbers_come_out_as_they_went_in(self):
        for number in (0.1, 1e-7, 123456.789012345, 1e300, 5.0):
            info = dict(fakes.INFO, probe_ms=number, size=2**53 + 1)
            with self.subTest(number=number), Fake(Info={"plugin": info}) as fake:
                document = self.document(call("info", "x86", "--json", socket=fake.path))
                self.assertEqual(document["plugin"], info)

    def test_the_same_is_printed_each_time(self):
        with Fake() as fake:
            one = call("info", "x86", "--json", socket=fake.path).stdout
            self.assertEqual(one, call("info", "x86", "--json", socket=fake.path).stdout)

    def test_t73_exit_1_prints_the_ordinary_reply(self):
        bad = fakes.plugin("x86", "failed")
        rows = [
            (["select", "gemm/mm"], "Select", fakes.NOTHING),
            (["why", "gemm/mm"], "Explain", dict(fakes.NOTHING, candidates=[])),
            (["is-enabled", "x86"], "IsEnabled", {"enabled": False, "state": "masked"}),
            (["retry", "x86"], "Retry", {"plugin": bad, "generation": 3}),
            (["status", "--strict"], "Status", dict(fakes.STATUS, degraded=True)),
        ]
        for args, method, reply in rows:
            with self.subTest(args=args), Fake(**{method: reply}) as fake:
                document = self.document(call(*args, "--json", socket=fake.path), 1)
                self.assertEqual(document, reply)
                self.assertEqual(call(*args, socket=fake.path).returncode, 1)

    def test_t73_degraded_is_not_failed(self):
        with Fake(Status=dict(fakes.STATUS, degraded=True)) as fake:
            self.assertIn("degraded", self.good(call("status", socket=fake.path)))
            self.assertEqual(self.good(call("status", "-q", socket=fake.path)), "ready, degraded\n")
            self.good(call("status", "--json", socket=fake.path))
            self.good(call("status", "--wait", socket=fake.path))


class Listing(Case):
    def test_list_has_a_row_for_every_plugin(self):
        with Fake() as fake:
            lines = self.good(call("list", socket=fake.path)).splitlines()
        self.assertEqual(lines[0].split(), ["NAME", "VERSION", "STATE", "KERNELS", "REASON"])
        self.assertEqual(lines[2].split(), ["reference", "1.2.3", "active", "2"])
        self.assertIn("host_too_old: needs kplug 0.3.0, this is 0.1.0", lines[3])
        self.assertEqual(len(lines), 4)

    def test_nx07_plugins_that_are_off_or_bad_are_listed_with_state_and_reason(self):
        states = ["disabled", "failed", "rejected", "quarantined", "missing", "masked"]
        rows = [fakes.plugin(state + "-one", state) for state in states]
        with Fake(List={"plugins": rows}) as fake:
            text = self.good(call("list", socket=fake.path))
        for state in states:
            self.assertRegex(text, rf"(?m)^{state}-one +1.2.3 +{state} +0 +host_too_old: needs")

    def test_list_passes_its_filters_on(self):
        rows = [
            ([], {}),
            (["--all"], {"all": True}),
            (["--state", "failed"], {"state": "failed"}),
            (["--state=unclaimed"], {"state": "unclaimed", "all": True}),
            (["--family", "gemm"], {"family": "gemm"}),
        ]
        for args, wanted in rows:
            with self.subTest(args=args), Fake() as fake:
                self.good(call("list", *args, socket=fake.path))
                self.assertEqual(fake.asked("List"), wanted)

    def test_an_empty_list_exits_0_and_says_so(self):
        with Fake(List={"plugins": [], "pending": [], "generation": 1}) as fake:
            done = call("list", socket=fake.path)
            self.assertEqual(self.good(done), "")
            self.assertIn(b"no plugins", done.stderr)
            self.assertEqual(call("list", "--quiet", socket=fake.path).stderr, b"")

    def test_what_is_pending_is_told_beside_the_list(self):
        with Fake(List={"plugins": [fakes.plugin("a")], "pending": ["b", "c"]}) as fake:
            self.assertIn(b"2 still pending", call("list", socket=fake.path).stderr)

    def test_quiet_prints_names_and_ids_alone(self):
        printed = [
            (["list"], ["openblas", "reference", "very-long-name-of-a-plugin-that-goes-on"]),
            (["kernels"], ["x86/mm", "reference/mm", "avx512/mm"]),
            (["select", "gemm/mm"], ["x86/mm"]),
            (["why", "gemm/mm"], ["x86/mm"]),
            (["info", "x86"], ["mm"]),
            (["status"], ["ready"]),
            (["disable", "x"], []),
            (["enable", "x"], []),
            (["reload"], []),
            (["retry", "x"], []),
            (["is-enabled", "x"], []),
        ]
        with Fake() as fake:
            for args, lines in printed:
                with self.subTest(args=args):
                    done = call("--quiet", *args, socket=fake.path)
                    self.assertEqual(self.good(done).splitlines(), lines)
                    self.assertEqual(done.stderr, b"")

    def test_kernels_names_the_operation_and_every_predicate(self):
        with Fake() as fake:
            text = self.good(call("kernels", "gemm", socket=fake.path))
            self.assertEqual(fake.asked("Kernels"), {"operation": "gemm"})
        self.assertRegex(text, r"(?m)^gemm/mm$")
        self.assertRegex(text, r"(?m)^  x86/mm +1 +10 performant +usable$")
        self.assertRegex(text, r"(?m)^  avx512/mm .*arch: required >= 4.0, actual 3.0 \(kernel\)$")
        self.assertRegex(text, r"(?m)^ +trait: required n multiple of 16, actual 17 \(kernel\)$")

    def test_kernels_of_one_operation_need_no_heading_and_others_are_grouped(self):
        with Fake() as fake:
            text = self.good(call("kernels", "gemm/mm", socket=fake.path))
        self.assertEqual(text.splitlines()[0].split(), ["KERNEL", "ORDER", "PRIORITY", "USABLE"])
        self.assertNotIn("gemm/mm", text)
        rows = [fakes.listed("a/x", 1), fakes.listed("b/x", 1, operation="norm/rms")]
        with Fake(Kernels={"kernels": rows, "pending": []}) as fake:
            lines = self.good(call("kernels", socket=fake.path)).splitlines()
        self.assertEqual(
            [line for line in lines if line and line[0] != " "], ["gemm/mm", "norm/rms"]
        )

    def test_what_is_pending_is_told_with_the_way_to_wait(self):
        pending = {"pending": ["slow"]}
        rows = [
            (["list"], {"List": dict(fakes.REPLIES["List"], **pending)}, 0),
            (["kernels"], {"Kernels": dict(fakes.REPLIES["Kernels"], **pending)}, 0),
            (["select", "gemm/mm"], {}, 0),
            (["why", "gemm/mm"], {}, 0),
            (["select", "x/y"], {"Select": fakes.NOTHING}, 1),
        ]
        for args, replies, status in rows:
            with self.subTest(args=args), Fake(**replies) as fake:
                done = call(*args, socket=fake.path)
                self.assertEqual(done.returncode, status)
                self.assertIn(b"1 still pending; `pluginctl status --wait`", done.stderr)
                self.assertEqual(call("-q", *args, socket=fake.path).stderr, b"")

    def test_settle_is_passed_on_in_milliseconds_and_extends_the_timeout(self):
        rows = [
            (["list"], "List", lambda p: p),
            (["info", "x86"], "Info", lambda p: p),
            (["kernels"], "Kernels", lambda p: p),
            (["select", "gemm/mm"], "Select", lambda p: p["request"]),
            (["why", "gemm/mm"], "Explain", lambda p: p["request"]),
        ]
        for args, method, inner in rows:
            with self.subTest(args=args), Fake() as fake:
                self.good(call(*args, "--settle", "1.5", socket=fake.path))
                self.assertEqual(inner(fake.asked(method))["settle_ms"], 1500)
            with self.subTest(args=args, silent=True), Fake(**{method: None}) as fake:
                done = call(*args, "--settle", "0.1", "--timeout", "0.05", socket=fake.path)
                self.assertIn("0.15 s", self.complaint(done, 6))

    def test_a_kernel_that_is_disabled_alone_is_seen_in_the_list(self):
        rows = [
            fakes.plugin("one", kernels=["gemm_mm"], disabled_kernels=["gemm_mm"]),
            fakes.plugin("two", kernels=["a", "b", "c"], disabled_kernels=["a", "c"]),
            fakes.plugin("all", disabled_kernels=[]),
        ]
        with Fake(List={"plugins": rows, "pending": []}) as fake:
            text = self.good(call("list", socket=fake.path))
        self.assertRegex(text, r"(?m)^one .* 0 of 1  1 kernel disabled: gemm_mm$")
        self.assertRegex(text, r"(?m)^two .* 1 of 3  2 kernels disabled: a, c$")
        self.assertRegex(text, r"(?m)^all +\S+ +active +2$")

    def test_a_family_that_nobody_has_exits_5(self):
        none = {"plugins": [], "pending": [], "generation": 1}
        unknown = fakes.error("NotFound", code="unknown_operation", nearest="gemm/mm")
        with Fake(List=none, Kernels=unknown) as fake:
            args = ["list", "--family", "gem"]
            self.assertIn("gemm/mm", self.complaint(call(*args, socket=fake.path), 5))
            self.error(call(*args, "--json", socket=fake.path), 5, "unknown_operation")
        with Fake(List=none) as fake:
            done = call("list", "--family", "gemm", "--state", "failed", socket=fake.path)
            self.assertEqual(self.good(done), "")
            self.assertIn(b"no plugin is like that", done.stderr)

    def test_a_code_is_printed_once(self):
        rows = [
            ("rejected", "abi_major", "abi_major: built for 9", "abi_major: built for 9"),
            ("failed", "exited_during_load", "exited_during_load(0)", "exited_during_load(0)"),
            ("masked", "masked", "its manifest is masked", "its manifest is masked"),
            ("rejected", "host", "the host is old", "host: the host is old"),
            ("rejected", "abi_minor", "xabi_minor: no", "abi_minor: xabi_minor: no"),
        ]
        for state, code, message, shown in rows:
            row = fakes.plugin("x86", state, reason={"code": code, "message": message})
            reply = {"plugin": row, "generation": 1}
            listed = {"plugins": [row], "pending": []}
            with self.subTest(code=code), Fake(List=listed, Retry=reply) as fake:
                text = self.good(call("list", socket=fake.path))
                self.assertRegex(text, rf"(?m)  {re.escape(shown)}$")
                text = call("retry", "x86", socket=fake.path).stdout.decode()
                self.assertEqual(text, f"x86: {state}: {shown}\n")

    def test_info_of_one_kernel_shows_it_alone(self):
        other = dict(fakes.KERNEL, name="rms", operation="norm/rms")
        info = {"plugin": dict(fakes.INFO, kernels=[fakes.KERNEL, other])}
        with Fake(Info=info) as fake:
            text = self.good(call("info", "x86/rms", socket=fake.path))
            self.assertEqual(fake.asked("Info"), {"name": "x86"})
            self.assertIn("kernel rms", text)
            self.assertNotIn("kernel mm", text)
            document = self.document(call("info", "x86/mm", "--json", socket=fake.path))
            self.assertEqual(document["plugin"]["kernels"], [fakes.KERNEL])
            text = self.complaint(call("info", "x86/rns", socket=fake.path), 5)
            self.assertIn("x86 has no kernel rns; did you mean rms?", text)
            self.error(call("info", "x86/q", "--json", socket=fake.path), 5, "no_such_kernel")

    def test_info_shows_all_that_is_known(self):
        with Fake() as fake:
            text = self.good(call("info", "x86", socket=fake.path))
        for word in [
            "/usr/lib/kplug/plugins.d/x86.json",
            "/usr/lib/kplug/plugins/x86.so",
            fakes.INFO["stored"],
            "b" * 64,
            "40960 bytes",
            "from 0.1.0, before 0.2.0",
            "2023-11-14 22:13:20 +0000",
            "12.5 ms",
            "libc.so.6, libm.so.6",
            "unknown_key: unknown key colour",
            "kernel mm",
            "gemm/mm, revision 1",
            "a=bf16,b=bf16,c=f32",
            "cpu x86-64, arch from 3.0, with avx2, fma",
            "in {64, 128}",
            "multiple_of 16",
            "10, performant",
            "libopenblas.so.0",
        ]:
            self.assertIn(word, text)

    def test_info_tells_of_no_death_where_nothing_died(self):
        evidence = {"stage": "identify", "signal": None, "exit": 0, "at": 1700000000}
        for state, exit_code, died in (("rejected", 0, 0), ("rejected", 3, 1), ("failed", 0, 1)):
            row = dict(fakes.INFO, state=state, evidence=dict(evidence, exit=exit_code))
            with self.subTest(state=state), Fake(Info={"plugin": row}) as fake:
                text = self.good(call("info", "x86", socket=fake.path))
                self.assertEqual(len(re.findall("(?m)^died in +identify$", text)), died)
                self.assertEqual(len(re.findall(f"(?m)^exit +{exit_code}$", text)), died)

    def test_info_shows_the_evidence_of_a_failure(self):
        evidence = {
            "stage": "probe kernel mm",
            "exit": None,
            "signal": "SIGSEGV",
            "loader": "undefined symbol: zgemm_",
            "output": "last words",
            "at": 1700000000,
        }
        with Fake(Info={"plugin": dict(fakes.INFO, evidence=evidence)}) as fake:
            text = self.good(call("info", "x86", socket=fake.path))
        for word in ("probe kernel mm", "SIGSEGV", "zgemm_", "last words"):
            self.assertIn(word, text)


class Selecting(Case):
    def test_the_kernel_is_the_first_line_and_the_rest_is_told_behind(self):
        with Fake() as fake:
            lines = self.good(call("select", "gemm/mm", socket=fake.path)).splitlines()
        self.assertEqual(lines[0], "x86/mm")
        text = "\n".join(lines)
        for word in [
            "policy 10, objective 0, priority 10 (performant)",
            "a=f32,b=f32,c=f32 (the family's defaults)",
            "openblas/mm: disabled_by_operator: disabled by uid 0: wrong results",
            "slow",
            "equal_rank",
        ]:
            self.assertIn(word, text)

    def test_a_signature_that_was_given_is_not_called_a_default(self):
        with Fake() as fake:
            done = call("select", "gemm/mm", "--sig", "a=f32,b=f32,c=f32", socket=fake.path)
            self.assertNotIn("defaults", self.good(done))

    def test_nx22_an_override_is_told_with_those_that_gave_way(self):
        pin = {"value": "old/mm", "source": "pin", "code": "disabled", "message": "is off"}
        override = {"value": "x86/mm", "source": "argument", "ignored": [pin]}
        decision = dict(fakes.DECISION, override=override)
        explained = dict(decision, candidates=fakes.CANDIDATES)
        with Fake(Select=decision, Explain=explained) as fake:
            for command in ("select", "why"):
                text = self.good(call(command, "gemm/mm", socket=fake.path))
                self.assertIn("x86/mm, by argument", text)
                self.assertIn("old/mm, by pin: is off", text)

    def test_nothing_selected_exits_1_and_names_the_nearest(self):
        explained = dict(fakes.NOTHING, candidates=fakes.CANDIDATES[2:])
        with Fake(Select=fakes.NOTHING, Explain=explained) as fake:
            text = self.complaint(call("select", "gemm/mm", socket=fake.path), 1)
            self.assertIn("no kernel of gemm/mm is eligible", text)
            self.assertIn("avx512/mm  arch: required >= 4.0, actual 3.0", text)
            self.assertIn("`pluginctl why gemm/mm` has every predicate", text)
            asked = ["--trait", "d=1", "--sig=a=f32"]
            text = self.complaint(call("select", "gemm/mm", *asked, socket=fake.path), 1)
            self.assertIn("`pluginctl why gemm/mm` with the same --sig --trait has every", text)
            done = call("select", "gemm/mm", "--quiet", socket=fake.path)
            self.assertEqual((done.stdout, done.stderr, done.returncode), (b"", b"", 1))

    def test_only_the_nearest_few_are_named_and_the_rest_counted(self):
        candidates = [dict(fakes.CANDIDATES[2], kernel=f"p{i}/mm") for i in range(8)]
        candidates[7] = dict(candidates[7], reasons=fakes.EXCLUDED[:1])
        explained = dict(fakes.NOTHING, candidates=candidates)
        with Fake(Select=fakes.NOTHING, Explain=explained) as fake:
            text = self.complaint(call("select", "gemm/mm", socket=fake.path), 1)
        self.assertEqual(re.findall(r"p\d/mm", text)[0], "p7/mm")
        self.assertIn("and 3 more; see `pluginctl why gemm/mm`", text)

    def test_nx21_why_has_a_row_for_every_kernel_and_predicate(self):
        with Fake() as fake:
            for args in (["why", "gemm/mm"], ["select", "gemm/mm", "--explain"]):
                text = self.good(call(*args, socket=fake.path))
                self.assertRegex(text, r"(?m)^x86/mm +1 +10/0/10 +selected$")
                self.assertRegex(text, r"(?m)^reference/mm +2 +10/0/0 +eligible$")
                self.assertRegex(text, r"(?m)^avx512/mm +- +10/0/13 +arch: required >= 4.0, a")
                self.assertRegex(text, r"(?m)^ +trait: required n multiple of 16, actual 17 ")

    def test_why_of_nothing_exits_1_with_the_table_on_stdout(self):
        explained = dict(fakes.NOTHING, candidates=fakes.CANDIDATES[2:])
        with Fake(Explain=explained) as fake:
            text = self.good(call("why", "gemm/mm", socket=fake.path), 1)
        self.assertIn("no kernel of gemm/mm is eligible", text)
        self.assertIn("avx512/mm", text)

    def test_every_option_becomes_its_member_of_the_request(self):
        rows = [
            ([], {}),
            (["--sig", "a=f32,b=f32"], {"signature": "a=f32,b=f32"}),
            (["--shape", "m=64,n=0"], {"shape": {"m": 64, "n": 0}}),
            (["--shape", "m=1", "--shape", "n=2,m=1"], {"shape": {"m": 1, "n": 2}}),
            (["--trait", "d=64"], {"traits": {"d": 64}}),
            (["--trait", "d=0.5"], {"traits": {"d": 0.5}}),
            (["--trait=causal=true"], {"traits": {"causal": True}}),
            (["--trait=causal=false"], {"traits": {"causal": False}}),
            (["--trait=kind=a=b"], {"traits": {"kind": "a=b"}}),
            (["--trait=kind=inf"], {"traits": {"kind": "inf"}}),
            (["--trait=kind=0x10"], {"traits": {"kind": "0x10"}}),
            (["--trait", "page=16|32", "--trait", "d=1"], {"traits": {"page": [16, 32], "d": 1}}),
            (["--feature", "a", "--feature", "b"], {"features": ["a", "b"]}),
            (["--solution", "avx2"], {"solution": "avx2"}),
            (["--objective", "latency"], {"objective": "latency"}),
            (["--on", "nvidia-9.0"], {"on": "nvidia-9.0"}),
            (["--without", "x86", "--without", "a/b"], {"without": ["x86", "a/b"]}),
            (["--override", "x/mm", "--force"], {"override": "x/mm", "force": True}),
        ]
        for command, method in (("select", "Select"), ("why", "Explain")):
            for args, wanted in rows:
                with self.subTest(command=command, args=args), Fake() as fake:
                    self.good(call(command, "gemm/mm", *args, socket=fake.path))
                    wanted = dict(wanted, operation="gemm/mm")
                    self.assertEqual(fake.asked(method), {"request": wanted})

    def test_a_platform_file_is_read_here_and_sent_as_an_object(self):
        platform = {"name": "mine", "devices": [{"kind": "cpu", "vendor": "x86-64"}]}
        with tempfile.TemporaryDirectory() as place, Fake() as fake:
            with open(os.path.join(place, "p.json"), "w", encoding="utf-8") as file:
                json.dump(platform, file)
            self.good(call("select", "gemm/mm", "--on", "p.json", socket=fake.path, cwd=place))
            self.assertEqual(fake.asked("Select")["request"]["on"], platform)

    def test_a_platform_file_that_is_wrong_is_named_with_its_place(self):
        rows = [("{\n x", "json_syntax", ":2:"), ("[1]", "bad_platform", "an array")]
        rows.append(('{"devices": [{"vendr": 1}]}', "unknown_key", "vendr"))
        rows.append((" " * ((1 << 20) + 1), "file_too_large", "1048576"))
        for text, code, word in rows:
            with tempfile.TemporaryDirectory() as place, self.subTest(code=code):
                path = os.path.join(place, "p.json")
                with open(path, "w", encoding="utf-8") as file:
                    file.write(text)
                error = self.error(call("why", "gemm/mm", "--on", path, "--json"), 2, code)
                self.assertIn(word, error["message"])
                self.assertIn(path, error["message"])


if __name__ == "__main__":
    unittest.main()
