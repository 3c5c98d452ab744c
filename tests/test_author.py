# SPDX-License-Identifier: MIT
"""What authors of plugins use: new, install, uninstall; cat and schema."""

import hashlib
import json
import os
import shutil
import subprocess
import tempfile
import unittest

import jsonschema

from harness import BUILD, CRASH, PATIENCE_S, Daemon, make_plugin, write

PLUGINCTL = os.path.join(BUILD, "pluginctl")
OPERATIONS = sorted(
    name[: -len(".json")].replace(".", "/", 1)
    for name in os.listdir(os.path.join(BUILD, "families"))
)


def schema(name):
    with open(os.path.join(BUILD, "schemas", name + ".json"), encoding="utf-8") as file:
        return json.load(file)


def digest(path):
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()


class Case(unittest.TestCase):
    def setUp(self):
        self.place = tempfile.mkdtemp(prefix="kplug-author.")
        self.addCleanup(shutil.rmtree, self.place)

    def ctl(self, *words, status=0, program=PLUGINCTL):
        done = subprocess.run(
            [program, *words],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            cwd=self.place,
            timeout=PATIENCE_S,
            check=False,
        )
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done

    def document(self, kind, *words):
        document = json.loads(self.ctl("--json", *words).stdout)
        jsonschema.validate(document, schema(kind))
        return document

    def make(self, name, target, verify=""):
        done = subprocess.run(
            ["make", "-C", name, target, "CFLAGS=-O1", f"VERIFY={verify}"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            cwd=self.place,
            timeout=PATIENCE_S * 2,
            check=False,
        )
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout


class New(Case):
    def test_a_scaffold_of_every_operation_builds_loads_and_is_right(self):
        self.assertGreaterEqual(len(OPERATIONS), 6)
        for operation in OPERATIONS:
            name = "my-" + operation.replace("/", "-")
            made = self.document("new", "new", name, "--operation", operation)
            self.assertEqual(made["operation"], operation)
            self.assertEqual(
                sorted(os.listdir(os.path.join(self.place, name))), sorted(made["files"])
            )
            # The whole check of one; a quick one of the others.
            quick = "" if operation == "elementwise/square" else "--seed 1 --layout contiguous"
            self.assertIn(f"{name}/{made['kernel']}", self.make(name, "check", quick))

    def test_its_note_and_manifest_are_as_published(self):
        self.ctl("new", "mine")
        for file, kind in (("plugin.json", "note"), ("mine.json", "manifest")):
            with open(os.path.join(self.place, "mine", file), encoding="utf-8") as text:
                jsonschema.validate(json.load(text), schema(kind))

    def test_nothing_is_overwritten(self):
        os.mkdir(os.path.join(self.place, "mine"))
        self.assertIn("mine", self.ctl("new", "mine", status=2).stderr)
        self.assertEqual(os.listdir(os.path.join(self.place, "mine")), [])
        self.ctl("new", "mine", "--directory", "other")
        self.ctl("new", "mine", "--directory", "other", status=2)

    def test_what_cannot_be_written_whole_is_not_there(self):
        # A limit in KiB of a file stands for a full disk.
        script = 'trap "" XFSZ; ulimit -f "$1"; shift; exec "$@"'
        for limit in (0, 1, 2):
            with self.subTest(limit=limit):
                words = [script, "bash", str(limit), PLUGINCTL, "new", "mine"]
                done = self.ctl("-c", *words, status=7, program="bash")
                self.assertIn("File too large", done.stderr)
                self.assertEqual(os.listdir(self.place), [])
        self.ctl("new", "mine")

    def test_wrong_names_are_refused(self):
        for words, text in (
            (["a b"], "no name for a plugin"),
            (["a/b"], "no name for a plugin"),
            (["x" * 65], "no name for a plugin"),
        ):
            self.assertIn(text, self.ctl("new", *words, status=2).stderr)
        done = self.ctl("new", "x", "--operation", "gemm/nm", status=5)
        self.assertTrue(done.stderr.endswith("; did you mean gemm/mm?\n"), done.stderr)
        self.assertEqual(os.listdir(self.place), [])


class Install(Case):
    def setUp(self):
        super().setUp()
        self.daemon = Daemon()
        self.addCleanup(self.daemon.close)
        self.library = os.path.join(self.place, "fast.so")

    def install(self, *words, status=0):
        done = self.daemon.ctl("--json", "install", *words)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return json.loads(done.stdout)

    def files(self):
        return sorted(os.listdir(self.daemon.plugin_dir)), sorted(
            os.listdir(self.daemon.manifest_dirs[0])
        )

    def states(self):
        return {name: p["state"] for name, p in self.daemon.plugins().items()}

    def test_a_library_and_its_manifest_are_put_where_plugind_looks(self):
        make_plugin(self.library, "fast")
        done = self.install(self.library)
        jsonschema.validate(done, schema("install"))
        self.assertEqual(done["plugin"]["state"], "active")
        self.assertEqual(self.files(), (["fast.so"], ["fast.json"]))
        with open(self.daemon.manifest_path("fast"), encoding="utf-8") as file:
            self.assertEqual(
                json.load(file), {"library": "fast.so", "sha256": digest(self.library)}
            )
        self.assertEqual(self.states(), {"fast": "active"})

    def test_another_name_installs_it_under_that(self):
        make_plugin(self.library, "fast")
        self.assertEqual(self.install(self.library, "--name", "slow")["name"], "slow")
        self.assertEqual(self.files(), (["slow.so"], ["slow.json"]))

    def test_an_upgrade_is_asked_for_and_keeps_what_was_set(self):
        make_plugin(self.library, "fast")
        self.install(self.library)
        self.assertEqual(self.install(self.library, status=2)["error"]["code"], "file_exists")
        self.daemon.manifest("fast", timeout_ms=777)
        make_plugin(self.library, "fast", version="2.0.0")
        done = self.install(self.library, "--force")
        self.assertTrue(done["replaced"])
        self.assertEqual(done["plugin"]["version"], "2.0.0")
        with open(self.daemon.manifest_path("fast"), encoding="utf-8") as file:
            self.assertEqual(json.load(file)["timeout_ms"], 777)
        self.assertEqual(self.files(), (["fast.so"], ["fast.json"]))

    def test_what_is_refused_leaves_nothing(self):
        write(self.library, "not a library")
        error = self.install(self.library, status=7)["error"]
        self.assertEqual(error["code"], "not_installed")
        make_plugin(self.library, "fast", before=CRASH)
        error = self.install(self.library, status=7)["error"]
        self.assertEqual(error["code"], "not_installed")
        self.assertIn("killed_by_signal", error["message"])
        absent = os.path.join(self.place, "absent.so")
        for words in ([], ["--name", "other"]):
            error = self.install(absent, *words, status=2)["error"]
            self.assertEqual(
                (error["code"], error["message"]), ("missing_file", f"there is no file {absent}")
            )
        self.assertEqual(self.files(), ([], []))
        self.assertEqual(self.states(), {})

    def test_what_is_refused_leaves_the_one_before(self):
        make_plugin(self.library, "fast")
        self.install(self.library)
        before = digest(self.daemon.library_path("fast"))
        make_plugin(self.library, "fast", before=CRASH)
        self.assertEqual(
            self.install(self.library, "--force", status=7)["error"]["code"], "not_installed"
        )
        self.assertEqual(digest(self.daemon.library_path("fast")), before)
        self.assertEqual(self.files(), (["fast.so"], ["fast.json"]))
        self.assertEqual(self.states(), {"fast": "active"})

    def test_uninstall_takes_back_what_install_did(self):
        make_plugin(self.library, "fast")
        self.install(self.library)
        done = self.daemon.ctl("uninstall", "fast")
        self.assertEqual((done.returncode, done.stdout), (0, "fast: removed\n"))
        self.assertEqual(self.files(), ([], []))
        self.assertEqual(self.states(), {})
        done = self.daemon.ctl("uninstall", "fast")
        self.assertEqual(done.returncode, 5)

    def test_uninstall_leaves_a_library_that_others_put_there(self):
        make_plugin(self.library, "fast")
        self.daemon.manifest("fast", library=self.library)
        self.daemon.call("Reload")
        self.assertIn("left where it is", self.daemon.ctl("uninstall", "fast").stdout)
        self.assertTrue(os.path.exists(self.library))


class Cat(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.daemon = Daemon(layers=2)
        cls.daemon.add("both", layer=1)
        cls.daemon.manifest("both", layer=0, timeout_ms=5, config={"x": [1, "\x1b"]})
        cls.daemon.add("masked", layer=1)
        os.symlink("/dev/null", cls.daemon.manifest_path("masked"))
        write(cls.daemon.manifest_path("wrong"), '{"library": "x.so",\n "priority": 3}')
        cls.daemon.call("Reload")
        cls.daemon.settle()

    @classmethod
    def tearDownClass(cls):
        cls.daemon.close()

    def document(self, name):
        done = self.daemon.ctl("--json", "cat", name)
        self.assertEqual(done.returncode, 0, done.stderr)
        document = json.loads(done.stdout)
        jsonschema.validate(document, schema("cat"))
        return document

    def test_each_key_says_where_it_came_from(self):
        document = self.document("both")
        keys = {row["key"]: row for row in document["keys"]}
        path = self.daemon.manifest_path("both")
        self.assertEqual(document["manifest"], path)
        self.assertEqual(document["hidden"], [self.daemon.manifest_path("both", layer=1)])
        self.assertEqual(keys["timeout_ms"]["value"], 5)
        self.assertEqual(
            (keys["timeout_ms"]["from"], keys["timeout_ms"]["path"], keys["timeout_ms"]["line"]),
            ("manifest", path, 1),
        )
        with open(path, encoding="utf-8") as file:
            column = file.read().index('"timeout_ms"') + 1
        self.assertEqual(keys["timeout_ms"]["column"], column)
        self.assertEqual((keys["enabled"]["value"], keys["enabled"]["from"]), (True, "default"))
        self.assertEqual(keys["config"]["value"], {"x": [1, "\x1b"]})

    def test_a_mask_and_what_is_wrong_are_shown_as_that(self):
        self.assertTrue(self.document("masked")["masked"])
        self.assertEqual(self.document("masked")["keys"], [])
        error = self.document("wrong")["error"]
        self.assertEqual(error["code"], "unknown_key")
        self.assertIn("priority", self.daemon.ctl("cat", "wrong").stdout)

    def test_text_is_safe_to_show(self):
        text = self.daemon.ctl("cat", "both").stdout
        self.assertIn("# hidden: ", text)
        self.assertIn("default", text)
        self.assertNotIn("\x1b", text)

    def test_unknown_names_are_refused(self):
        self.assertEqual(self.daemon.ctl("cat", "bot").returncode, 5)
        self.assertEqual(self.daemon.ctl("cat", "both/kernel").returncode, 2)


class Schema(Case):
    def test_all_are_listed_and_each_is_printed(self):
        rows = self.document("schemas", "schema")["schemas"]
        names = [row["name"] for row in rows]
        self.assertEqual(names, sorted(names))
        for row in rows:
            self.assertTrue(row["title"], row)
            if row["name"] == "org.kplug.Manager":
                continue
            printed = json.loads(self.ctl("schema", row["name"]).stdout)
            self.assertEqual(printed, schema(row["name"]))
            jsonschema.Draft7Validator.check_schema(printed)

    def test_a_method_stands_for_its_reply(self):
        for name in ("List", "list", "reply.List"):
            self.assertEqual(json.loads(self.ctl("schema", name).stdout), schema("reply.List"))

    def test_the_protocol_is_printed_whole(self):
        with open(
            os.path.join(os.path.dirname(__file__), "..", "lib", "org.kplug.Manager.varlink"),
            encoding="utf-8",
        ) as file:
            self.assertEqual(self.ctl("schema", "org.kplug.Manager").stdout, file.read())

    def test_an_unknown_one_offers_the_nearest(self):
        error = self.ctl("schema", "nota", status=5).stderr
        self.assertTrue(error.endswith("; did you mean note?\n"), error)


if __name__ == "__main__":
    unittest.main()
