# SPDX-License-Identifier: MIT
"""Plugins that are broken, in every way that the tests know: all of tests/fixtures, headers
that lie, files that are none, manifests that are wrong.

A kind puts its plugin under a name: put(daemon, name, serial). No two serials give the same
bytes or the same name in the note, for a duplicate is a fault of its own.
"""

import glob
import os
import re
import tempfile

import harness
from elf import PT_DYNAMIC, PT_GNU_STACK, PT_LOAD, Elf

FIXTURES = os.path.join(harness.BUILD, "tests", "fixtures")
TIMEOUT_MS = 1000
NAMED = re.compile(rb'"name": "([a-z_]+)",\n\t"version"')
DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"


def numbered(serial, width):
    """A name of so many letters."""
    text = ""
    for _ in range(width - 1):
        serial, digit = divmod(serial, len(DIGITS))
        text = DIGITS[digit] + text
    return "x" + text


def own(data, serial):
    """The library as one that nobody else has."""
    for name in set(NAMED.findall(data)):
        new = numbered(serial, len(name)).encode()
        data = data.replace(
            b'"name": "%s",\n\t"version"' % name, b'"name": "%s",\n\t"version"' % new
        )
    return data + serial.to_bytes(8, "little")


def write_library(daemon, name, data):
    path = daemon.library_path(name)
    with open(path + ".new", "wb") as file:
        file.write(data)
    harness.install(path)


def clear(daemon, name):
    """Nothing of that name is left, whatever it was."""
    for path in (daemon.library_path(name), daemon.manifest_path(name)):
        if os.path.isdir(path) and not os.path.islink(path):
            os.rmdir(path)
        elif os.path.lexists(path):
            os.unlink(path)


# ---- kinds ----


def library(data):
    """A file of these bytes."""

    def put(daemon, name, serial):
        write_library(daemon, name, own(data, serial))
        daemon.manifest(name, timeout_ms=TIMEOUT_MS)

    return put


def raw(data):
    """The same, and nothing behind them."""

    def put(daemon, name, _):
        write_library(daemon, name, data)
        daemon.manifest(name)

    return put


def file_kind(make):
    """make(path) puts something that is no file where a library should be."""

    def put(daemon, name, _):
        clear(daemon, name)
        make(daemon.library_path(name))
        daemon.manifest(name)

    return put


def manifest_kind(text, data):
    """A library that is good, and a manifest of this text: %s is its name."""

    def put(daemon, name, serial):
        write_library(daemon, name, own(data, serial))
        harness.write(daemon.manifest_path(name), text.replace("%s", name))

    return put


def odd_manifest(make):
    """make(path) puts something that is no file where a manifest should be."""

    def put(daemon, name, _):
        clear(daemon, name)
        make(daemon.manifest_path(name))

    return put


def fixtures():
    for path in sorted(glob.glob(os.path.join(FIXTURES, "*.so"))):
        with open(path, "rb") as file:
            yield os.path.basename(path)[: -len(".so")], library(file.read())


def cut(plain):
    for share in (25, 50, 90, 99):
        yield f"cut at {share} %", raw(plain.data[: len(plain.data) * share // 100])


def headers(plain):
    """Those of test_check_elf.py, a few of each part."""
    far = 1 << 40
    load, dynamic, stack = plain.find(PT_LOAD), plain.find(PT_DYNAMIC), plain.find(PT_GNU_STACK)
    bad = {
        "of aarch64": plain.with_header(machine=183),
        "no shared object": plain.with_header(type=1),
        "of 32 bits": Elf(plain.data[:4] + b"\1" + plain.data[5:]),
        "of the other byte order": Elf(plain.data[:5] + b"\2" + plain.data[6:]),
        "of another version": plain.with_header(version=2),
        "without segments": plain.with_header(phnum=0),
        "too many segments": plain.with_header(phnum=0xFFFF),
        "segments far away": plain.with_header(phoff=far),
        "sections far away": plain.with_header(shoff=far),
        "a segment behind the file": plain.with_segment(load, filesz=far, memsz=far),
        "a segment of odd alignment": plain.with_segment(load, align=3),
        "two dynamic segments": plain.with_segment(stack, type=PT_DYNAMIC),
        "a dynamic segment far away": plain.with_segment(dynamic, offset=far),
        "strings far away": plain.with_dynamic("STRTAB", far),
        "an executable stack": plain.with_segment(stack, flags=7),
        "an unmarked stack": plain.with_segment(stack, type=0),
    }
    for name, elf in bad.items():
        yield name, library(elf.data)


def files():
    yield "empty", raw(b"")
    yield "a text", raw(b"this is no library\n")
    yield "missing", file_kind(lambda path: None)
    yield "a fifo", file_kind(os.mkfifo)
    yield "a directory", file_kind(os.mkdir)
    yield "a device", file_kind(lambda path: os.symlink("/dev/zero", path))
    yield "a dangling link", file_kind(lambda path: os.symlink("/nowhere/at/all.so", path))
    yield "a loop of links", file_kind(lambda path: os.symlink(os.path.basename(path), path))


def manifests(data):
    texts = {
        "empty": "",
        "no JSON": '{"library": "%s.so"',
        "no object": '["%s.so"]',
        "without a library": "{}",
        "of a wrong type": '{"library": 7}',
        "of an unknown key": '{"library": "%s.so", "libary": 1}',
        "of a key twice": '{"library": "%s.so", "library": "%s.so"}',
        "of no digest": '{"library": "%s.so", "sha256": "abc"}',
        "of another digest": '{"library": "%s.so", "sha256": "' + "0" * 64 + '"}',
        "of a priority beyond": '{"library": "%s.so", "priority_offset": 19}',
        "of no time": '{"library": "%s.so", "timeout_ms": 0}',
        "deep": '{"library": "%s.so", "config": ' + "[" * 4000 + "]" * 4000 + "}",
        "huge": '{"library": "%s.so", "config": {"x": "' + "x" * (2 << 20) + '"}}',
        "of a NUL": '{"library": "%s\\u0000.so"}',
    }
    for name, text in texts.items():
        yield f"manifest: {name}", manifest_kind(text, data)
    yield "manifest: a fifo", odd_manifest(os.mkfifo)
    yield "manifest: a directory", odd_manifest(os.mkdir)
    yield "manifest: a loop of links", odd_manifest(
        lambda path: os.symlink(os.path.basename(path), path)
    )


def notes():
    """Notes and numbers that do not fit this host."""
    major = "#undef KP_ABI_MAJOR\n#define KP_ABI_MAJOR 7u\n"
    bad = {
        "of another ABI": {"before": major, "abi": {"major": 7}},
        "of an ABI that its code has not": {"before": major},
        "of a later host": {"host": {"min": "9.0.0", "max": "10.0.0"}},
        "of a version that is none": {"version": "one"},
        "of a priority that is none": {"kernels": [harness.kernel(priority=20)]},
        "of no operation": {"kernels": [harness.kernel(operation="square")]},
        "of a format that is none": {"kernels": [harness.kernel(signatures=["x=f31,y=f32"])]},
    }
    for name, plugin in bad.items():
        with tempfile.TemporaryDirectory(prefix="kplug-soak.") as place:
            path = os.path.join(place, "x.so")
            harness.make_plugin(path, "x" * 8, **plugin)
            with open(path, "rb") as file:
                data = file.read()
        yield name, renamed(data)


def renamed(data):
    before = b'"name": "xxxxxxxx"'
    assert data.count(before) == 1

    def put(daemon, name, serial):
        new = b'"name": "%s"' % numbered(serial, 8).encode()
        write_library(daemon, name, data.replace(before, new))
        daemon.manifest(name, timeout_ms=TIMEOUT_MS)

    return put


def kinds():
    """{name: put}, the same order each time."""
    plain = Elf.read(os.path.join(FIXTURES, "plain.so"))
    found = dict(fixtures())
    del found["plain"]  # which is not broken
    for more in (cut(plain), headers(plain), files(), notes(), manifests(plain.data)):
        found.update(more)
    return found


def judge_each(found):
    """What becomes of one of each kind, alone with the others: {name: code}, None where it is
    active all the same, as those are that only try something."""
    with harness.Daemon(start=False, options=["--log-level", "error"]) as daemon:
        names = {f"kind{i:04d}": kind for i, kind in enumerate(found)}
        for serial, (name, kind) in enumerate(names.items()):
            found[kind](daemon, name, serial)
        daemon.start()
        plugins = daemon.plugins()
    codes = {}
    for name, kind in names.items():
        reason = plugins[name]["reason"]
        codes[kind] = None if plugins[name]["state"] == "active" else reason["code"]
    return codes
