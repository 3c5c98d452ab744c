# SPDX-License-Identifier: MIT
"""The published schemas say what the programs accept, and nothing else."""

import glob
import json
import os
import subprocess
import tempfile
import unittest

import jsonschema

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
BUILD = os.path.abspath(os.environ.get("KPLUG_BUILD", os.path.join(ROOT, "build")))


def load(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def conforms(schema, value):
    return jsonschema.Draft202012Validator(schema).is_valid(value)


class Schemas(unittest.TestCase):
    def test_every_schema_is_a_schema(self):
        paths = glob.glob(os.path.join(ROOT, "lib/schemas/*.json"))
        self.assertGreaterEqual(len(paths), 4)
        for path in paths:
            with self.subTest(path=path):
                jsonschema.Draft202012Validator.check_schema(load(path))


class Manifest(unittest.TestCase):
    schema = load(os.path.join(ROOT, "lib/schemas/manifest.json"))

    def test_manifests_of_the_plugins_conform(self):
        paths = glob.glob(os.path.join(ROOT, "plugins/*/manifest.json"))
        self.assertTrue(paths)
        for path in paths:
            with self.subTest(path=path):
                self.assertTrue(conforms(self.schema, load(path)))

    def test_right_manifests_conform(self):
        for more in (
            {},
            {"library": "/opt/../x.so"},
            {"library": "sub/..x.so"},
            {"config": {"threads": 4}},
            {"sha256": "0123456789abcdefABCDEF" + "0" * 42},
            {"timeout_ms": 1},
            {"timeout_ms": 600000},
            {"priority_offset": -19},
            {"priority_offset": 19},
            {"enabled": False},
            {"$schema": "manifest.json"},
        ):
            with self.subTest(more=more):
                self.assertTrue(conforms(self.schema, {"library": "x.so", **more}))

    def test_t06_wrong_manifests_do_not(self):
        for wrong in (
            {},
            [],
            {"library": 7},
            {"library": ""},
            {"library": "dir/"},
            {"library": "../x.so"},
            {"library": "a/../../x.so"},
            {"library": ".."},
            {"library": "x", "libary": "x"},
            {"library": "x", "config": []},
            {"library": "x", "sha256": "abc"},
            {"library": "x", "sha256": "g" * 64},
            {"library": "x", "timeout_ms": 0},
            {"library": "x", "timeout_ms": 1.5},
            {"library": "x", "timeout_ms": 600001},
            {"library": "x", "priority_offset": 20},
            {"library": "x", "priority_offset": -20},
            {"library": "x", "enabled": 1},
        ):
            with self.subTest(wrong=wrong):
                self.assertFalse(conforms(self.schema, wrong))


class Config(unittest.TestCase):
    schema = load(os.path.join(ROOT, "lib/schemas/config.json"))

    def setUp(self):
        place = tempfile.TemporaryDirectory(prefix="kplug-schemas.")
        self.addCleanup(place.cleanup)
        self.path = os.path.join(place.name, "plugind.json")
        self.base = {
            "manifest_dir": [os.path.join(place.name, "plugins.d")],
            "plugin_dir": place.name,
            "families_dir": os.path.join(ROOT, "lib/families"),
            "state_dir": os.path.join(place.name, "state"),
            "cache_dir": os.path.join(place.name, "cache"),
            "socket": os.path.join(place.name, "s"),
            "worker": os.path.join(BUILD, "plugin-worker"),
        }

    def accepted(self, value):
        """What plugind itself says of the file."""
        with open(self.path, "w", encoding="utf-8") as file:
            json.dump(value, file)
        done = subprocess.run(
            [os.path.join(BUILD, "plugind"), "--check-config", "--config", self.path],
            capture_output=True,
            timeout=60,
            check=False,
        )
        self.assertIn(done.returncode, (0, 2), done.stderr)
        return done.returncode == 0

    def test_right_configurations_conform_and_are_accepted(self):
        for more in (
            {},
            {"log_level": "debug"},
            {"log_level": "error"},
            {"system": False},
            {"manifest_dir": []},
            {"plugin_dir": "relative/to/the/file"},
        ):
            with self.subTest(more=more):
                value = {**self.base, **more}
                self.assertTrue(conforms(self.schema, value))
                self.assertTrue(self.accepted(value))

    def test_wrong_configurations_do_not_and_are_refused(self):
        for more in (
            {"manifest_dir": "one"},
            {"manifest_dir": [7]},
            {"manifest_dir": [""]},
            {"plugin_dir": ""},
            {"plugin_dir": None},
            {"state_dir": []},
            {"log_level": "loud"},
            {"log_level": 3},
            {"system": "yes"},
            {"manifest-dir": []},
            {"plugin_dri": "x"},
            {"config": "x"},
            {"check_config": True},
            {"socket": "/" + "s" * 107},
        ):
            with self.subTest(more=more):
                value = {**self.base, **more}
                self.assertFalse(conforms(self.schema, value))
                self.assertFalse(self.accepted(value))
        self.assertFalse(conforms(self.schema, []))
        self.assertFalse(self.accepted([]))


if __name__ == "__main__":
    unittest.main()
