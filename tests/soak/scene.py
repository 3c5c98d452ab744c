# SPDX-License-Identifier: MIT
"""A plugind of a soak's own, its plugins, and what is known of each of them."""

import os
import shutil
from collections import namedtuple

import broken
import harness
import plugins

# How much of everything. Each application has an operation of its own.
Scale = namedtuple("Scale", "good broken clients applications")
FULL = Scale(700, 300, 200, 16)

CYCLE = 4  # libraries of a plugin that applications run: what is mapped stays mapped
NEVER = 1 << 30  # goes round
UPGRADED = 64  # more plugins that are upgraded, which nobody runs
SPOILT = 16  # and that are broken from time to time


class Scene:
    def __init__(self, scale, kinds=None):
        """kinds: of broken plugins, all where None."""
        self.scale = scale
        self.serial = 0
        self.template = plugins.Template()
        self.kinds = broken.kinds()
        if kinds is not None:
            self.kinds = {name: self.kinds[name] for name in kinds}
        self.codes = broken.judge_each(self.kinds)
        self.order = self.even()
        self.put = {}  # name of a broken plugin -> its kind
        self.daemon = harness.Daemon(start=False)
        try:
            self.prepare()
        except BaseException:
            self.close()
            raise

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.daemon.close()

    def prepare(self):
        daemon, parts = self.daemon, self.scale.applications
        families = os.path.join(daemon.place, "families")
        shutil.copytree(daemon.families, families)
        square = os.path.join(families, "elementwise.square.json")
        plugins.write_families(families, parts, square)
        daemon.families = families
        self.page_path = os.path.join(daemon.place, "page")
        self.page = plugins.make_page(self.page_path, self.scale.good, parts)
        for number in range(self.scale.good):
            self.page.plugins[number].cycle = CYCLE if number < 2 * parts else NEVER
            self.write_good(number)
            daemon.manifest(plugins.good_name(number))

    # -- good ones

    def content(self, number):
        plugin = self.page.plugins[number]
        return plugin.newest % plugin.cycle

    def image(self, number):
        return self.template.library(number, self.content(number), self.scale.applications)

    def write_good(self, number):
        broken.write_library(self.daemon, plugins.good_name(number), self.image(number))

    def upgrade(self, number):
        # First it may run, then it is there.
        self.page.plugins[number].newest += 1
        self.write_good(number)

    def spoil(self, number):
        """Half of a library in the place of a good one."""
        self.page.plugins[number].newest += 1
        image = self.image(number)
        broken.write_library(self.daemon, plugins.good_name(number), image[: len(image) // 2])

    def run_by_applications(self):
        return range(2 * self.scale.applications)

    def run_by_nobody(self):
        first = 2 * self.scale.applications
        return range(first, min(first + UPGRADED, self.scale.good - SPOILT))

    def spoilt(self):
        return range(self.scale.good - SPOILT, self.scale.good)

    def is_new(self, number, plugin):
        """Is what plugind says of it the newest library?"""
        return plugin["version"] == f"1.0.{self.content(number)}" and plugin["state"] in (
            "active",
            "disabled",
        )

    # -- broken ones

    def even(self):
        """Those that fail, those that are active all the same, those that fail again."""
        fail = [kind for kind in self.kinds if self.codes[kind]]
        try_something = [kind for kind in self.kinds if not self.codes[kind]]
        return fail + try_something + fail

    def break_one(self, number):
        """The next kind in the place of a broken plugin."""
        name = f"bad{number:04d}"
        kind = self.order[self.serial % len(self.order)]
        self.serial += 1
        if self.put.get(name):
            broken.clear(self.daemon, name)
        self.kinds[kind](self.daemon, name, self.serial)
        self.put[name] = kind

    def break_all(self):
        for number in range(self.scale.broken):
            self.break_one(number)
