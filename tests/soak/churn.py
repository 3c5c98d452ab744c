# SPDX-License-Identifier: MIT
"""Reloads and upgrades without an end, each looked at: what is installed is what is told, and
what applications obey."""

import json
import time

import harness
import plugins

ROUND_S = 0.5  # no more often
UPGRADES = 4  # a round, of each sort
BREAKS = 6
BREAKS_AT_FIRST = 30  # until there is as much history of each as is kept
WARM = 4  # all libraries of a plugin that goes round, and more than plugind keeps


class Churn:
    def __init__(self, scene):
        self.scene, self.daemon, self.page = scene, scene.daemon, scene.page
        self.rounds = self.upgrades = self.breaks = 0
        self.wrong = []
        self.spoilt = []
        self.client = self.daemon.client()

    def close(self):
        self.client.close()

    def some(self, numbers, count):
        """The next ones, round and round."""
        first = self.rounds * count
        return {numbers[(first + i) % len(numbers)] for i in range(min(count, len(numbers)))}

    def round(self, breaks):
        """One: change, reload, look."""
        scene = self.scene
        renewed = self.some(scene.run_by_applications(), UPGRADES)
        renewed |= self.some(scene.run_by_nobody(), UPGRADES)
        renewed |= set(self.spoilt)
        for number in sorted(renewed):
            scene.upgrade(number)
        self.spoilt = [n for n in self.some(scene.spoilt(), 1) if n not in renewed]
        for number in self.spoilt:
            scene.spoil(number)
        for number in self.some(range(scene.scale.broken), breaks):
            scene.break_one(number)
            self.breaks += 1
        self.look(renewed)
        self.upgrades += len(renewed)
        self.rounds += 1

    def look(self, numbers):
        """What plugind says once it has reloaded; from when it is obeyed, old code is wrong."""
        self.client.call("Reload")
        self.client.call("Status", {"wait": True})
        for number in sorted(numbers):
            name = plugins.good_name(number)
            plugin = self.client.call("Info", {"name": name})["plugin"]
            if not self.scene.is_new(number, plugin):
                told = {key: plugin[key] for key in ("state", "version", "reason")}
                self.wrong.append(f"{name} after its upgrade: {json.dumps(told)}")
        generation = self.client.call("Clients")["generation"]
        self.wait_until_obeyed(generation)
        for number in numbers:
            self.page.plugins[number].oldest = self.page.plugins[number].newest

    def wait_until_obeyed(self, generation):
        """Until their calls choose from that table, or a newer one."""

        def obey():
            clients = self.client.call("Clients")["clients"]
            return all(c["table"] >= generation for c in clients)

        harness.wait_until(obey, f"applications to obey generation {generation}")

    def warm(self):
        """All that is upgraded has had each of its libraries, and as many as are kept."""
        numbers = {*self.scene.run_by_applications(), *self.scene.run_by_nobody()}
        for _ in range(WARM):
            for number in sorted(numbers):
                self.scene.upgrade(number)
            self.look(numbers)

    def run(self, is_over, at_rest=lambda: None, breaks=BREAKS):
        """Until then, with so many that break a round; at_rest() is called when no plugin is
        on its way."""
        while not is_over():
            began = time.monotonic()
            self.round(breaks)
            at_rest()
            time.sleep(max(0, began + ROUND_S - time.monotonic()))

    def finish(self):
        """All good ones as they should be, all of them on."""
        for number in range(self.scene.scale.applications):
            word = self.page.plugins[number]
            word.off += word.off % 2
            self.client.call("Enable", {"name": plugins.good_name(number)})
        for number in self.spoilt:
            self.scene.upgrade(number)
        self.look(self.spoilt)
        self.spoilt = []
