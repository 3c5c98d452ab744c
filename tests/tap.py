#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Runs one unittest file and prints TAP, so that tests/run can count it."""

import importlib.util
import os
import sys
import traceback
import unittest


class TapResult(unittest.TestResult):
    """One line a test; a subtest that fails is its test's failure."""

    def __init__(self):
        super().__init__()
        self.number = 0
        self.broken = set()

    def line(self, ok, test, note=""):
        self.number += 1
        name = str(test).split(" ", maxsplit=1)[0]
        print(f"{'ok' if ok else 'not ok'} {self.number} - {name}{note}", flush=True)

    def trouble(self, test, err):
        if test in self.broken:
            return
        self.broken.add(test)
        self.line(False, test)
        for text in traceback.format_exception(*err):
            for row in text.rstrip().split("\n"):
                print("# " + row, flush=True)

    def addSuccess(self, test):
        super().addSuccess(test)
        if test not in self.broken:
            self.line(True, test)

    def addFailure(self, test, err):
        super().addFailure(test, err)
        self.trouble(test, err)

    addError = addFailure

    def addSubTest(self, test, subtest, err):
        super().addSubTest(test, subtest, err)
        if err is not None:
            print(f"# in {subtest}", flush=True)
            self.trouble(test, err)

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        self.line(True, test, f" # SKIP {reason}")

    def addUnexpectedSuccess(self, test):
        super().addUnexpectedSuccess(test)
        self.line(False, test, " (unexpected success)")


def main():
    path = sys.argv[1]
    sys.path.insert(0, os.path.dirname(os.path.abspath(path)))
    sys.argv = [path] + sys.argv[2:]
    name = os.path.basename(path)[: -len(".py")]
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    loader = unittest.defaultTestLoader
    suite = (
        loader.loadTestsFromNames(sys.argv[1:], module)
        if sys.argv[1:]
        else loader.loadTestsFromModule(module)
    )
    result = TapResult()
    suite.run(result)
    print(f"1..{result.number}")
    sys.exit(0 if result.wasSuccessful() else 1)


main()
