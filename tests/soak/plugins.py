# SPDX-License-Identifier: MIT
"""Hundreds of good plugins, compiled once: each computes what only it computes."""

import ctypes
import mmap
import os
import tempfile

import harness

GOOD_MOST = 1024
MARK = b"KPLUG-SOAK-STAMP"
BEFORE = f"""
static const volatile struct {{ char mark[16]; unsigned number, content; }} stamp = {{
	"{MARK.decode()[:15]}", 0, 0}};
"""
# What tests/soak/application.c knows, too.
BODY = """
	const struct kp_tensor *x = call->tensors[0], *y = call->tensors[1];
	float *out = y->data;
	if (call->n_tensors != 2 || y->shape[0] < 4)
		return KP_INVALID;
	out[0] = (float)stamp.number;
	out[1] = (float)stamp.content;
	out[2] = *(const float *)x->data * *(const float *)x->data;
	out[3] = (float)(stamp.number * 4096 + stamp.content);
"""
ROOM = 12  # for a name, and for a version


class Word(ctypes.Structure):
    _fields_ = [(name, ctypes.c_uint32) for name in ("oldest", "newest", "cycle", "off")]


class Page(ctypes.Structure):
    """struct soak_page of page.h."""

    _fields_ = [
        ("good", ctypes.c_uint32),
        ("parts", ctypes.c_uint32),
        ("plugins", Word * GOOD_MOST),
    ]


def make_page(path, good, parts):
    """The page as a file that is mapped, its plugins never changed so far."""
    with open(path, "w+b") as file:
        file.truncate(ctypes.sizeof(Page))
        page = Page.from_buffer(mmap.mmap(file.fileno(), ctypes.sizeof(Page)))
    page.good, page.parts = good, parts
    for plugin in page.plugins[:good]:
        plugin.oldest = plugin.newest = plugin.cycle = 1
    return page


def good_name(number):
    return f"good{number:04d}"


def priority(number, parts):
    """The first of an operation is what is turned off and on, the next ones follow."""
    return max(10, 19 - number // parts)


class Template:
    """A library that is compiled once, and is any of the good ones with a few bytes changed."""

    def __init__(self):
        with tempfile.TemporaryDirectory(prefix="kplug-soak.") as place:
            path = os.path.join(place, "x.so")
            operation = "soak/part" + "x" * 2
            kernels = [harness.kernel("stamp", operation, priority=10)]
            harness.make_plugin(
                path, "x" * ROOM, kernels, BEFORE, body=BODY, version="1.0." + "1" * ROOM
            )
            with open(path, "rb") as file:
                self.bytes = file.read()
        self.at = self.bytes.index(MARK[:15] + b"\0") + len(MARK)

    def replace(self, data, key, before, after):
        """A text of the note, as long as before."""
        old = f'"{key}": "{before}"'.encode()
        assert data.count(old) == 1, old
        return data.replace(old, f'"{key}": "{after}"'.encode().ljust(len(old)))

    def library(self, number, content, parts):
        """The bytes of good plugin `number`, of this content, which is its version, too."""
        data = self.replace(self.bytes, "name", "x" * ROOM, good_name(number))
        data = self.replace(data, "version", "1.0." + "1" * ROOM, f"1.0.{content}")
        data = self.replace(data, "operation", "soak/partxx", f"soak/part{number % parts:02d}")
        data = data.replace(b'"priority": 10', f'"priority": {priority(number, parts)}'.encode())
        stamp = number.to_bytes(4, "little") + content.to_bytes(4, "little")
        return data[: self.at] + stamp + data[self.at + len(stamp) :]


def write_families(directory, parts, source):
    """Operations of their own, so that nobody else's kernel is in rank."""
    with open(source, encoding="utf-8") as file:
        text = file.read()
    for part in range(parts):
        name = f"part{part:02d}"
        own = text.replace("elementwise/square", f"soak/{name}").replace(
            ',\n  "reference": "reference/elementwise_square"', ""
        )
        harness.write(os.path.join(directory, f"soak.{name}.json"), own)
