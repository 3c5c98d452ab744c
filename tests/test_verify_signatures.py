# SPDX-License-Identifier: MIT
"""Operands lie as a signature says, and are checked by a reference that has it."""

import json
import os
import shutil
import tempfile

from harness import Daemon
from measuring import place
from verifying import Verifying

SCALED = "scaled-int8:i8@f32"
SUM = {
    "operation": "signed/sum",
    "revision": 1,
    "dims": ["k", "n"],
    "roles": [
        {
            "name": "b",
            "direction": "in",
            "dims": ["k", "n"],
            "key": True,
            "formats": ["f32", "f32/nk", "f32/NK", "f32/kn"],
            "fill": {"kind": "normal"},
        },
        {"name": "y", "direction": "out", "dims": ["n"], "key": True, "formats": ["f32"]},
    ],
    "signature": "b=f32,y=f32",
    "shapes": {"default": [{"k": 5, "n": 7}], "edge": [{"k": 1, "n": 3}, {"k": 0, "n": 2}]},
    "check": {"kind": "norm", "tolerance": {"f32": 1e-5}},
    "reference": "signed_layouts/sum_oracle",
}
WIDEN = {
    "operation": "signed/widen",
    "revision": 1,
    "dims": ["n"],
    "roles": [
        {
            "name": "x",
            "direction": "in",
            "dims": ["n"],
            "key": True,
            "formats": [SCALED, SCALED + ":channel", SCALED + ":block:block=dynamic"],
            "fill": {"kind": "uniform", "min": -100, "max": 100},
        },
        {"name": "y", "direction": "out", "dims": ["n"], "key": True, "formats": ["f32"]},
    ],
    "shapes": {"default": [{"n": 64}], "edge": [{"n": 1}]},
    "check": {"kind": "exact"},
    "reference": "signed_layouts/widen_oracle",
}


class Signed(Verifying):
    fixture = "signed_layouts"

    @classmethod
    def setUpClass(cls):
        families = tempfile.mkdtemp(prefix="kplug-families.")
        cls.addClassCleanup(shutil.rmtree, families)
        for family in (SUM, WIDEN):
            name = family["operation"].replace("/", ".") + ".json"
            with open(os.path.join(families, name), "w", encoding="utf-8") as file:
                json.dump(family, file)
        cls.daemon = Daemon(families=families)
        cls.addClassCleanup(cls.daemon.close)
        place(cls.daemon, cls.fixture)

    def verdicts(self, kernel, operation, **more):
        runs = self.verify(kernel, operation=operation, shapes=None, **more)
        return runs, {run["verdict"] for run in runs}

    def test_ad05_operand_lies_by_columns_where_the_signature_says_so(self):
        runs, verdicts = self.verdicts("by_columns_too", "signed/sum")
        self.assertEqual(verdicts, {"ok"}, runs)
        self.assertEqual({run["signature"] for run in runs}, {"b=f32/nk,y=f32"})

    def test_ad05_operand_lies_by_rows_where_the_signature_says_so(self):
        runs, verdicts = self.verdicts("by_rows", "signed/sum")
        self.assertEqual(verdicts, {"ok"}, runs)

    def test_ad05_kernel_that_reads_it_the_other_way_is_wrong(self):
        runs = self.verify("mistaken", operation="signed/sum", shapes=[{"k": 5, "n": 7}])
        self.assertEqual(runs[0]["verdict"], "wrong", runs)
        self.assertEqual(runs[0]["failed"]["strides"]["b"], [1, 5])

    def test_ad05_layout_in_capitals_is_another_signature_that_lies_the_same(self):
        runs = self.verify("by_columns", operation="signed/sum", shapes=[{"k": 5, "n": 7}])
        self.assertEqual([run["signature"] for run in runs], ["b=f32/NK,y=f32"])
        self.assertIn("does not have this signature", runs[0]["message"])
        self.assertEqual(runs[0]["verdict"], "unverified")

    def test_ad03_signature_that_the_reference_has_is_the_one_that_is_verified(self):
        runs, verdicts = self.verdicts("both", "signed/widen")
        self.assertEqual(verdicts, {"ok"}, runs)
        self.assertEqual({run["signature"] for run in runs}, {f"x={SCALED},y=f32"})

    def test_ad03_signature_that_is_left_out_is_told(self):
        reply = self.daemon.call(
            "Verify", {"operation": "signed/widen", "kernels": ["signed_layouts/both"]}
        )
        self.assertEqual(len(reply["remarks"]), 1)
        for text in ("signed_layouts/both", ":channel", "widen_oracle"):
            self.assertIn(text, reply["remarks"][0])

    def test_ad03_kernel_that_shares_none_is_unverified(self):
        runs, verdicts = self.verdicts("channel", "signed/widen")
        self.assertEqual(verdicts, {"unverified"}, runs)

    def test_ad03_signature_that_is_asked_for_stays(self):
        channel = f"x={SCALED}:channel,y=f32"
        runs = self.verify("both", operation="signed/widen", shapes=None, signature=channel)
        self.assertEqual({run["signature"] for run in runs}, {channel})

    def test_ad04_blocks_of_no_size_are_an_error(self):
        runs, verdicts = self.verdicts("dynamic", "signed/widen")
        self.assertEqual(verdicts, {"error"}, runs)
        self.assertIn("blocks of no size", runs[0]["message"])


if __name__ == "__main__":
    import unittest

    unittest.main()
