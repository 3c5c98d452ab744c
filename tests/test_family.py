# SPDX-License-Identifier: MIT
"""Families and notes of the tree fit their schemas, each other, and the schemas bite."""

import copy
import functools
import glob
import json
import math
import os
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)


def load(pattern):
    found = {}
    for path in sorted(glob.glob(os.path.join(ROOT, pattern))):
        with open(path, encoding="utf-8") as file:
            found[os.path.relpath(path, ROOT)] = json.load(file)
    return found


FAMILIES = load("lib/families/*.json")
NOTES = load("plugins/*/plugin.json")


def validator(name):
    try:
        import jsonschema
    except ImportError:
        raise unittest.SkipTest("python3-jsonschema is not installed") from None
    schema = load(f"lib/schemas/{name}.json")[f"lib/schemas/{name}.json"]
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


def changed(value, path, new):
    """A copy in which the place of that path is `new`; None removes it."""
    value = copy.deepcopy(value)
    *parents, last = path
    place = value
    for key in parents:
        place = place[key]
    if new is None:
        del place[last]
    else:
        place[last] = new
    return value


class Schemas(unittest.TestCase):
    def test_families_fit_the_schema(self):
        check = validator("family")
        self.assertGreater(len(FAMILIES), 5)
        for path, family in FAMILIES.items():
            with self.subTest(path):
                check.validate(family)

    def test_notes_fit_the_schema(self):
        check = validator("note")
        self.assertGreater(len(NOTES), 2)
        for path, note in NOTES.items():
            with self.subTest(path):
                check.validate(note)

    def refuse(self, name, value, changes):
        check = validator(name)
        self.assertTrue(check.is_valid(value))
        for path, new in changes:
            with self.subTest(path=path, new=new):
                self.assertFalse(check.is_valid(changed(value, path, new)))

    def test_schema_refuses_a_wrong_note(self):
        first = ("kernels", 0)
        self.refuse(
            "note",
            NOTES["plugins/x86/plugin.json"],
            [
                (("name",), None),
                (("name",), "has space"),
                (("version",), None),
                (("version",), "1.02.3"),
                (("version",), "+1.0.0"),
                ((*first, "name"), None),
                ((*first, "operation"), None),
                ((*first, "operation"), "gemm"),
                ((*first, "priority"), None),
                ((*first, "priority"), 20),
                ((*first, "priority"), -1),
                ((*first, "priority"), 3.5),
                ((*first, "priority"), "9"),
                ((*first, "signatures"), None),
                ((*first, "signatures"), []),
                ((*first, "flags"), ["fast"]),
                ((*first, "capability", "device"), "tpu"),
                ((*first, "revision"), 0),
            ],
        )

    def test_schema_lets_a_newer_note_through(self):
        newer = changed(NOTES["plugins/x86/plugin.json"], ("kernels", 0, "future"), 1)
        self.assertTrue(validator("note").is_valid(newer))

    def test_schema_refuses_a_wrong_family(self):
        self.refuse(
            "family",
            FAMILIES["lib/families/attention.decode.json"],
            [
                (("operation",), None),
                (("revision",), 0),
                (("roles",), []),
                (("roles", 0, "direction"), "sideways"),
                (("roles", 0, "formats"), []),
                (("roles", 0, "unknown"), 1),
                (("roles", 0, "fill", "kind"), "noise"),
                (("attributes", 0, "default"), None),
                (("traits", "window", "kind"), "real"),
                (("check", "kind"), "close"),
                (("shapes", "edge", 0, "b"), -1),
                (("unknown",), 1),
            ],
        )


def with_every_family(test):
    """Runs a test once a family, each as a part of its own."""

    @functools.wraps(test)
    def run(self):
        for path, family in FAMILIES.items():
            with self.subTest(path):
                test(self, path, family)

    return run


class Families(unittest.TestCase):
    @with_every_family
    def test_file_is_named_after_its_operation(self, path, family):
        name = family["operation"].replace("/", ".")
        self.assertEqual(os.path.basename(path), f"{name}.json")

    @with_every_family
    def test_every_name_is_a_dim_or_a_derived_value(self, _path, family):
        known = set(family["dims"]) | set(family.get("derived", {}))
        used = set(family.get("independent", []))
        used |= {t["dim"] for t in family.get("traits", {}).values() if "dim" in t}
        terms = list(family["work"]["flops"])
        terms += [d["times"] + d.get("over", []) for d in family.get("derived", {}).values()]
        for role in family["roles"]:
            terms += [role["dims"], *(role.get("distinct") or [])]
            terms += [[v for k, v in role.get("fill", {}).items() if k != "kind"]]
        used |= {f for term in terms for f in term if isinstance(f, str)}
        self.assertLessEqual(used, known)

    @with_every_family
    def test_shapes_give_every_dim(self, _path, family):
        for kind in ("default", "edge"):
            self.assertTrue(family["shapes"][kind])
            for shape in family["shapes"][kind]:
                self.assertEqual(set(shape), set(family["dims"]))

    @with_every_family
    def test_edge_shapes_have_ones_and_zeros(self, _path, family):
        extents = [set(shape.values()) for shape in family["shapes"]["edge"]]
        self.assertTrue(any(1 in e for e in extents))
        self.assertTrue(any(0 in e for e in extents))

    @with_every_family
    def test_default_signature_names_the_key_roles(self, _path, family):
        keys = sorted(r["name"] for r in family["roles"] if r.get("key"))
        self.assertEqual(family["signature"], ",".join(f"{k}=f32" for k in keys))

    @with_every_family
    def test_inputs_have_a_fill_and_outputs_have_none(self, _path, family):
        for role in family["roles"]:
            self.assertEqual("fill" in role, role["direction"] != "out")

    @with_every_family
    def test_output_types_have_a_tolerance(self, _path, family):
        for role in family["roles"]:
            if role["direction"] != "in":
                self.assertEqual(set(role["formats"]), set(family["check"]["tolerance"]))

    @with_every_family
    def test_reference_is_a_kernel_that_has_the_default_signature(self, _path, family):
        plugin, name = family["reference"].split("/")
        kernels = {k["name"]: k for k in NOTES[f"plugins/{plugin}/plugin.json"]["kernels"]}
        self.assertEqual(kernels[name]["operation"], family["operation"])
        self.assertIn(family["signature"], kernels[name]["signatures"])
        self.assertEqual(kernels[name]["priority"], 0)

    def test_attention_shapes_can_be_filled(self):
        family = FAMILIES["lib/families/attention.decode.json"]
        for shape in family["shapes"]["default"] + family["shapes"]["edge"]:
            with self.subTest(shape):
                self.assertLessEqual(shape["b"] * shape["max_pages"], shape["pages"])
                most = math.prod(shape[d] for d in ("b", "page", "max_pages"))
                self.assertLessEqual(shape["tokens"], most)
                self.assertEqual(shape["h"] % shape["hkv"], 0)


if __name__ == "__main__":
    unittest.main()
