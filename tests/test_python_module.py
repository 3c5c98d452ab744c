# SPDX-License-Identifier: MIT
"""The Python module in an application's hands: decisions, overrides, arrays, errors."""

import html.parser
import json
import unittest

import numpy

from harness import kernel
from python_module import Attached, kplug

ONE = numpy.ones(4, numpy.float32)


def giving(value):
    return f"((float *)call->tensors[1]->data)[0] = {value};"


class Following(Attached):
    """What an operator decides, while the application runs."""

    builtin = False

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        for name, value, priority in (("a", 1, 14), ("b", 2, 12), ("c", 3, 10)):
            cls.daemon.add(
                name,
                body=giving(value),
                kernels=[kernel(flags=["reentrant"], priority=priority, solution=f"s-{name}")],
            )
        cls.daemon.call("Reload")
        cls.daemon.settle()

    def setUp(self):
        super().setUp()
        self.site = self.k.site("elementwise/square", label="tests")

    def ran(self, site=None):
        return (site or self.site)(ONE)[0]

    def test_the_next_call_after_disable_runs_another_kernel(self):
        self.assertEqual([self.ran(), self.site.kernel()], [1, "a/square"])
        for name, next_value in (("a", 2), ("b", 3)):
            self.daemon.call("Disable", {"name": name})
            self.addCleanup(self.daemon.call, "Enable", {"name": name})
            self.assertEqual(self.ran(), next_value)
        self.daemon.call("Enable", {"name": "a"})
        self.assertEqual(self.ran(), 1)

    def test_with_adopt_step_it_is_the_next_step(self):
        k = self.open(adopt="step")
        site = k.site("elementwise/square")
        self.assertEqual(self.ran(site), 1)
        self.daemon.call("Disable", {"name": "a"})
        self.addCleanup(self.daemon.call, "Enable", {"name": "a"})
        self.assertEqual(self.ran(site), 1)
        self.assertEqual(k.step(), 1)
        self.assertEqual([self.ran(site), k.step()], [2, 0])

    def test_an_override_and_a_solution_of_a_site(self):
        for options, value in (
            ({"override": "c/square"}, 3),
            ({"override": "s-b"}, 2),
            ({"solution": "s-b"}, 2),
        ):
            with self.subTest(options=options):
                site = self.k.site("elementwise/square", **options)
                self.assertEqual(self.ran(site), value)

    def test_scopes_nest_and_end(self):
        with self.k.scope("elementwise/square", "b/square"):
            self.assertEqual(self.ran(), 2)
            with self.k.scope("elementwise/square", "s-c", thread=True):
                self.assertEqual(self.ran(), 3)
            self.assertEqual(self.ran(), 2)
        self.assertEqual(self.ran(), 1)
        with self.assertRaises(ZeroDivisionError):
            with self.k.scope("elementwise/square", "b/square"):
                raise ZeroDivisionError
        self.assertEqual(self.ran(), 1)

    def test_what_holds_a_kernel_is_told(self):
        self.ran()
        with self.site.hold("graph 7"):
            told = self.daemon.call("Clients")["clients"]
            self.assertIn("graph 7", json.dumps(told))
        hold = self.k.hold(self.site)
        hold.release()
        hold.release()
        self.assertNotIn("graph", json.dumps(self.daemon.call("Clients")["clients"]))

    def test_clients_shows_the_name(self):
        self.open(name="notebook")
        names = [c["name"] for c in self.daemon.call("Clients")["clients"]]
        self.assertIn("notebook", names)

    def test_warm_counts_rungs_and_leaves_nothing_to_decide(self):
        self.assertEqual(self.k.warm([self.site])[2:4], (1, 0))
        self.assertEqual(self.k.warm([]).rungs, 0)
        none = self.k.site("elementwise/square", solution="nobody")
        self.assertEqual(self.k.warm([self.site, none]).unsupported, 1)

    def test_fingerprint_is_that_of_pluginctl(self):
        for device in (None, "cpu"):
            parameters = {"device": device} if device else {}
            wanted = self.daemon.call("Fingerprint", parameters)["digest"]
            self.assertEqual(self.k.fingerprint(device), wanted)


class Reasons(Attached):
    def test_why_prints_what_pluginctl_prints(self):
        for operation in ("gemm/mm", "norm/rms", "attention/decode"):
            reply = self.daemon.why(operation)
            printed = self.daemon.ctl("why", operation, "--sig", reply["signature"]).stdout
            self.assertEqual(f"{kplug.Why(json.dumps(reply))!r}\n", printed)
            nothing = self.daemon.why(operation, solution="nobody")
            printed = self.daemon.ctl("why", operation, "--solution", "nobody").stdout
            shown = str(kplug.Why(json.dumps(nothing)))
            self.assertEqual(shown, printed.rstrip("\n").replace(" (the family's defaults)", ""))

    def test_a_decision_in_this_process_is_the_daemons(self):
        for operation in ("gemm/mm", "norm/softmax"):
            for request in ({}, {"dtype": "bf16"}, {"override": "reference"}, {"shape": {"n": 8}}):
                selected = self.k.select(operation, **request)
                self.assertEqual(selected.selected, self.k.why(operation, **request).selected)
                if "dtype" in request:
                    request = {"signature": selected.json["signature"]}
                asked = self.daemon.select(operation, **request)
                self.assertEqual(selected.selected, asked["selected"])
                self.assertTrue(selected)

    def test_a_site_says_why(self):
        site = self.k.site("gemm/mm", override="x86", ranges={"m": (1, 64), "n": 8})
        why = site.why(m=3)
        self.assertEqual(why.selected, site.kernel({"m": 3}))
        self.assertIn("override", str(why))
        self.assertEqual(why.operation, "gemm/mm")
        self.assertGreaterEqual(len(why.candidates), 4)
        self.assertEqual(site.kernel([1, 8, 5]), why.selected)

    def test_html_is_well_formed_and_escaped(self):
        class Reader(html.parser.HTMLParser):
            def __init__(self):
                super().__init__()
                self.open, self.text, self.seen = [], "", set()

            def handle_starttag(self, tag, attrs):
                self.seen.add(tag)
                if tag != "br":
                    self.open.append(tag)

            def handle_endtag(self, tag):
                assert self.open.pop() == tag

            def handle_data(self, data):
                self.text += data

        reply = self.daemon.why("gemm/mm")
        evil = '<script>alert("1")</script>&'
        reply["warnings"] = [{"code": "evil", "message": evil}]
        reply["candidates"][1]["kernel"] = evil
        reply["candidates"][-1]["reasons"] = [{"code": "evil", "actual": evil}]
        reader = Reader()
        reader.feed(kplug.Why(json.dumps(reply))._repr_html_())
        self.assertEqual(reader.open, [])
        self.assertNotIn("script", reader.seen)
        self.assertEqual(reader.text.count(evil), 3)

    def test_no_control_character_reaches_a_terminal(self):
        reply = self.daemon.why("gemm/mm")
        for bad in ("\x1b[31m", "\a", "\x9b"):
            reply["warnings"] = [{"code": "bad", "message": bad}]
            self.assertNotIn(bad, str(kplug.Why(json.dumps(reply))))


class Arrays(Attached):
    class Producer:
        """Somebody else's array: DLPack and nothing more."""

        def __init__(self, array):
            self.array = array
            self.shape = array.shape

        def __dlpack__(self, **_):
            return self.array.__dlpack__()

        def __dlpack_device__(self):
            return 1, 0

    def setUp(self):
        super().setUp()
        self.mm = self.k.site("gemm/mm", override="reference")
        self.a = numpy.arange(12, dtype=numpy.float32).reshape(3, 4)
        self.b = numpy.arange(20, dtype=numpy.float32).reshape(4, 5)

    def test_any_producer_of_dlpack_is_read_and_written(self):
        for a, b in ((self.a, self.b), (self.a[::-1], self.b), (self.a, self.b[:, ::2])):
            out = numpy.zeros((3, b.shape[1]), numpy.float32)
            said = self.Producer(out)
            self.assertIs(self.mm(self.Producer(a), self.Producer(b), out=said), said)
            numpy.testing.assert_array_equal(out, a @ b)

    def test_shapes_and_layouts_may_change_from_call_to_call(self):
        for _ in range(2):
            for rows in (3, 1, 2, 3):
                for a in (self.a[:rows], self.a[:rows].copy(order="F"), self.a[:rows].copy()):
                    numpy.testing.assert_array_equal(self.mm(a, self.b), a @ self.b)
                    a = self.Producer(a)
                    numpy.testing.assert_array_equal(self.mm(a, self.b), a.array @ self.b)

    def test_what_is_read_may_be_read_only(self):
        self.b.flags.writeable = False
        for a in (self.a, numpy.broadcast_to(self.a[:1], (3, 4))):
            numpy.testing.assert_array_equal(self.mm(a, self.b), a @ self.b)
        out = numpy.zeros((3, 5), numpy.float32)
        out.flags.writeable = False
        with self.assertRaisesRegex(kplug.Invalid, "c: the array is read-only"):
            self.mm(self.a, self.b, out=out)

    def test_a_dtype_is_told_from_bits_of_its_size(self):
        site = self.k.site("elementwise/square", dtype="bf16", override="reference")
        bits = numpy.full(3, 0x4000, numpy.uint16)
        self.assertEqual(site(kplug.Tensor(bits, "bf16")).float32().tolist(), [4, 4, 4])
        with self.assertRaisesRegex(kplug.Invalid, "u16, bf16 is needed"):
            site(bits)

    def test_ml_dtypes_bfloat16_comes_and_goes_as_it_is(self):
        try:
            from ml_dtypes import bfloat16
        except ImportError:
            self.skipTest("ml_dtypes is not installed")
        site = self.k.site("gemm/mm", dtype="bf16", override="reference")
        made = site(self.a.astype(bfloat16), self.b.astype(bfloat16))
        self.assertEqual(made.dtype, bfloat16)
        self.assertLess(abs(made.astype("f4") / (self.a @ self.b) - 1).max(), 1e-2)

    def test_what_is_no_array_for_a_kernel_is_refused_in_words(self):
        for wrong, words in (
            ([1, 2], "a: list is no array for kplug: has no __dlpack__"),
            (self.a.astype(">f4"), "kplug has no dtype for NumPy's >f4"),
            (self.a.astype(object), "kplug has no dtype for NumPy's .O"),
        ):
            with self.assertRaisesRegex(TypeError, words):
                self.mm(wrong, self.b)
        packed = numpy.zeros((3, 4), numpy.dtype([("x", "f4"), ("y", "u1")]))["x"]
        with self.assertRaisesRegex(kplug.Invalid, "a: strides are no whole elements"):
            self.mm(packed, self.b)

    def test_arguments_that_no_call_could_mean_are_type_errors(self):
        for arguments, named in (
            ((self.a, self.b, self.a), {}),
            ((self.a,), {"a": self.a}),
            ((self.a, self.b), {"d": self.a}),
            ((self.a, self.b), {"out": (self.a, self.b)}),
        ):
            with self.assertRaises(TypeError):
                self.mm(*arguments, **named)


class Errors(Attached):
    def test_the_library_says_what_is_wrong(self):
        mm = self.k.site("gemm/mm", ranges={"m": (1, 8)})
        a, b = numpy.ones((3, 4), "f4"), numpy.ones((4, 5), "f4")
        for arguments, words in (
            ((a, a), r"b: dim 0 \(k\) is 3, a has 4"),
            ((a, b.astype("f8")), "b: the tensor is f64, f32 is needed"),
            ((a,), "b: the role is required"),
            ((a[0], b), "a: "),
            ((numpy.ones((9, 4), "f4"), b), r"m is 9, the site was made for \[1, 8\]"),
        ):
            with self.assertRaisesRegex(kplug.Invalid, words) as caught:
                mm(*arguments)
            self.assertEqual(caught.exception.status, kplug.Status.INVALID)
            self.assertIsInstance(caught.exception, ValueError)
        # And then it works.
        numpy.testing.assert_array_equal(mm(a, b), a @ b)

    def test_a_site_that_nothing_describes_is_refused(self):
        for operation, options, words in (
            ("gemm/mn", {}, "did you mean gemm/mm"),
            ("gemm/mm", {"traits": {"foo": 1}}, "no trait foo"),
            ("gemm/mm", {"ranges": {"q": (1, 2)}}, "no dim q"),
            ("gemm/mm", {"ranges": {"m": (5, 2)}}, r"\[5, 2\]"),
            ("gemm/mm", {"signature": "a=f32"}, ""),
            ("gemm/mm", {"signature": "a=f32", "dtype": "f32"}, "exclude each other"),
            ("norm/rms", {"attributes": {"eps": "x"}}, "eps"),
            ("gemm/\0mm", {}, "NUL"),
            ("gemm/mm", {"ranges": {"m": (0, 1 << 64)}}, "m is 18446744073709551616"),
            ("attention/decode", {"attributes": {"window": 1 << 63}}, "window is 9223"),
            ("gemm/mm", {"guard_every": -1}, "guard_every is -1"),
        ):
            with self.subTest(operation=operation, **options):
                with self.assertRaisesRegex(kplug.Invalid, words):
                    self.k.site(operation, **options)

    def test_nothing_eligible_is_unsupported(self):
        site = self.k.site("gemm/mm", solution="nobody")
        self.assertIsNone(site.kernel())
        self.assertFalse(site.why())
        with self.assertRaises(kplug.Unsupported):
            site(numpy.ones((1, 1), "f4"), numpy.ones((1, 1), "f4"))
        with self.assertRaises(kplug.Unsupported):
            self.k.select("gemm/mm", override="reference/gemm_mm", solution="nobody")

    def test_no_daemon_is_unavailable(self):
        for options in ({}, {"daemon": False}, {"threads": 2}):
            with self.assertRaisesRegex(kplug.Unavailable, "/nonexistent/socket") as caught:
                kplug.open("/nonexistent/socket", **options)
            self.assertEqual(caught.exception.status, kplug.Status.UNAVAILABLE)

    def test_each_status_is_an_error_of_its_own(self):
        kinds = {kind.status: kind for kind in kplug.Error.__subclasses__()}
        self.assertEqual(set(kinds), set(kplug.Status) - {kplug.Status.OK})


if __name__ == "__main__":
    unittest.main()
