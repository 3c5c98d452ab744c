# SPDX-License-Identifier: MIT
"""What a site of the Python module may be asked for, beyond calls."""

import ctypes
import unittest

import numpy

from harness import kernel
from python_module import Attached, kplug

X = numpy.arange(1, 5, dtype=numpy.float32)


class Options(Attached):
    def test_a_stable_site_has_one_kernel_over_its_range_or_none(self):
        def small(x, y):
            y[...] = -1

        self.k.local(
            "elementwise/square", small, priority=19, traits={"n": {"max": 8}}, name="small"
        )
        for stable, least in ((False, "local/small"), (True, None)):
            site = self.k.site("elementwise/square", ranges={"n": (1, 64)}, stable=stable)
            if least:
                self.assertEqual(site.kernel(), least)
                self.assertNotEqual(site.kernel(n=64), least)
                self.assertEqual(site(X)[0], -1)
            else:
                self.assertEqual(site.kernel(n=1), site.kernel(n=64))
                self.assertEqual(site(X)[0], 1)
        inside = self.k.site("elementwise/square", ranges={"n": (1, 8)}, stable=True)
        self.assertEqual(inside.kernel(), "local/small")

    def test_a_captured_site_takes_what_can_be_captured(self):
        site = self.k.site("elementwise/square", captured=True)
        self.assertIsNone(site.kernel())
        self.k.local(
            "elementwise/square",
            lambda x, y: None,
            name="graph",
            flags=["reentrant", "capturable"],
        )
        self.assertEqual(site.kernel(), "local/graph")

    def test_traits_and_attributes_of_every_type_reach_the_decision(self):
        seen = []

        def decode(*arrays, scale, window):
            seen.append((scale, window))
            arrays[-1][...] = 0

        self.k.local("attention/decode", decode, priority=19, traits={"window": {"min": 2}})
        q, pages = numpy.zeros((1, 2, 4), "f4"), numpy.zeros((2, 8, 1, 4), "f4")
        table, lens = numpy.zeros((1, 2), "i4"), numpy.ones(1, "i4")
        for attributes, local in (
            ({"window": 3, "scale": 0.5}, True),
            ({"window": numpy.int32(2), "scale": numpy.float32(1)}, True),
            ({"scale": 0.5}, False),
        ):
            site = self.k.site("attention/decode", attributes=attributes)
            self.assertEqual(site.kernel() == "local/decode", local, attributes)
            site(q, pages, pages, table, lens)
        self.assertEqual(seen, [(0.5, 3), (1.0, 2)])
        with self.assertRaises(TypeError):
            self.k.site("attention/decode", attributes={"window": [1]})

    def test_a_site_ends_with_its_with(self):
        with self.k.site("elementwise/square", label="one") as site:
            self.assertEqual(site(X)[1], 4)
            self.assertEqual(repr(site), "<kplug.Site elementwise/square 'one'>")
        for use in (lambda: site(X), site.kernel, site.why, site.hold, lambda: site.plan(X)):
            with self.assertRaisesRegex(kplug.Invalid, "the site was given up"):
                use()


class Undescribed(Attached):
    """An operation that kernels have and no family describes."""

    builtin = False

    def test_its_arrays_are_given_whole_and_in_order(self):
        body = """
        float *out = call->tensors[1]->data;
        for (int64_t i = 0; i < call->tensors[0]->shape[0]; i++)
            out[i] = ((float *)call->tensors[0]->data)[i * call->tensors[0]->strides[0]] + 1;
        """
        one = kernel("add", "math/add_one", flags=["reentrant"])
        self.daemon.add("odd", kernels=[one], body=body)
        self.daemon.call("Reload")
        self.daemon.settle()
        site = self.k.site("math/add_one", signature="x=f32,y=f32")
        out = numpy.zeros(2, "f4")
        self.assertIsNone(site(X[::2], out))
        self.assertEqual(out.tolist(), [2, 4])
        self.assertEqual(site.kernel(), "odd/add")
        for use in (
            lambda: site(X, out=out),
            lambda: site.kernel(n=1),
            lambda: site.plan(X),
            lambda: self.k.site("math/add_one", dtype="f32"),
        ):
            with self.assertRaisesRegex(kplug.Invalid, "no family describes math/add_one"):
                use()


class Planned(Attached):
    """A kernel that plans: in C terms, by the module's own structs."""

    def add(self, name, priority):
        layout, call = kplug._layout, kplug._layout.kp_call
        seen = []

        def run(address):
            seen.append(call.from_address(address).host_plan)
            return 0

        def need(_, address):
            # struct kp_need: host_plan_bytes
            ctypes.c_uint64.from_address(address + 40).value = 64
            return 0

        def plan(address):
            ctypes.c_uint64.from_address(call.from_address(address).host_plan).value = 77
            return 0

        needing = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)
        functions = layout.RUN(run), needing(need), layout.RUN(plan)
        table = layout.sized(layout.kp_kernel)
        table.run = functions[0]
        table.need = ctypes.cast(functions[1], ctypes.c_void_p)
        table.plan = ctypes.cast(functions[2], ctypes.c_void_p)
        outcome = kplug._library.Outcome()
        note = b"""{"name": "%s", "operation": "elementwise/square", "priority": %d,
            "signatures": ["x=f32,y=f32"], "flags": ["reentrant"]}"""
        self.k._core.kept.append((functions, table))
        with self.k._core.use() as handle:
            outcome.must(
                kplug._library.lib.kp_local_add(
                    handle, note % (name.encode(), priority), ctypes.byref(table), outcome.out
                )
            )
        return seen

    def test_a_plan_reaches_its_kernel_and_is_stale_for_another(self):
        seen = self.add("first", 18)
        site = self.k.site("elementwise/square")
        plan = site.plan(X)
        site(X, plan=plan)
        site(X)
        self.assertEqual(ctypes.c_uint64.from_address(seen[0]).value, 77)
        self.assertIsNone(seen[1])
        self.add("second", 19)
        with self.assertRaisesRegex(kplug.Stale, "local/second.*local/first") as caught:
            site(X, plan=plan)
        self.assertEqual(caught.exception.status, kplug.Status.STALE)
        plan.release()
        site(X, plan=site.plan(X))


if __name__ == "__main__":
    unittest.main()
