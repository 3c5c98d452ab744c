# SPDX-License-Identifier: MIT
"""Whatever numbers and names a reply holds, --json prints one document of strict JSON."""

import json
import math
import unittest

import fake_plugind as fakes
from fake_plugind import Fake
from pluginctl import ASKING, Case, call

LARGEST = 1.7976931348623157e308
NUMBERS = [LARGEST, -LARGEST, math.nextafter(LARGEST, 0), 5e-324, -0.0, 1e300, 2.0**63]
INTEGERS = [2**63 - 1, -(2**63), 0]
NAMES = ["", "\x00\x1f\x7f\u0085", '"\\\n', "\u2028\uffff\U0010ffff", "NaN", "x" * 5000]


def strict(text):
    """The document; no number that is none or infinite, no key twice, nothing behind it."""

    def refuse(token):
        raise AssertionError(f"{token} in a JSON document")

    def real(digits):
        assert math.isfinite(float(digits)), digits
        return float(digits)

    def once(pairs):
        assert len({key for key, _ in pairs}) == len(pairs), pairs
        return dict(pairs)

    return json.loads(text, parse_constant=refuse, parse_float=real, object_pairs_hook=once)


def changed(value, kinds, other):
    """A copy in which every value of these kinds is another; bool is no number here."""
    if isinstance(value, dict):
        return {key: changed(item, kinds, other) for key, item in value.items()}
    if isinstance(value, list):
        return [changed(item, kinds, other) for item in value]
    return other if isinstance(value, kinds) and not isinstance(value, bool) else value


def replies(kinds, other):
    made = {}
    for method, reply in fakes.REPLIES.items():
        messages = reply if isinstance(reply, list) else [{"parameters": reply}]
        made[method] = [
            dict(m, parameters=changed(m["parameters"], kinds, other))
            for m in messages
            if isinstance(m, dict)
        ]
    return made


class Strict(Case):
    def scan(self, kinds, others):
        for other in others:
            with Fake(**replies(kinds, other)) as fake:
                for args, _ in ASKING:
                    if args[0] in ("mask", "unmask"):
                        continue
                    with self.subTest(args=args, other=repr(other)[:40]):
                        done = call("--json", *args, socket=fake.path)
                        self.assertTrue(strict(done.stdout.decode()))

    def test_real_numbers_next_to_every_limit(self):
        self.scan(float, NUMBERS)

    def test_whole_numbers_next_to_every_limit(self):
        self.scan(int, INTEGERS)

    def test_real_numbers_where_whole_ones_are_expected(self):
        self.scan(int, NUMBERS[:3])

    def test_texts_of_any_characters(self):
        self.scan(str, NAMES)

    def test_largest_number_is_the_same_afterwards(self):
        for number in NUMBERS:
            row = dict(fakes.VERIFIED, max_error=number)
            with Fake(Verify={"format": "x", "runs": [row]}) as fake:
                done = call("--json", "verify", "x/y", socket=fake.path)
            got = strict(done.stdout.decode())["runs"][0]["max_error"]
            self.assertAlmostEqual(got / number if number else got, 1 if number else 0)

    def test_numbers_in_between_are_printed_as_they_were_meant(self):
        row = dict(fakes.VERIFIED, max_error=0.1)
        with Fake(Verify={"format": "x", "runs": [row]}) as fake:
            done = call("--json", "verify", "x/y", socket=fake.path)
        self.assertIn(b'"max_error": 0.1,', done.stdout)


if __name__ == "__main__":
    unittest.main()
