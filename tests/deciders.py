# SPDX-License-Identifier: MIT
"""Clients that change things at once, and remember what plugind acknowledged.

Each has a plugin or operation of its own, so that what must hold of it is known: what was
acknowledged last, or what was asked for after that and got no answer.
"""

import random
import threading

from varlink import VarlinkError

REASONS = ["it crashes", "too slow", "wrong sums", ""]


class Decider(threading.Thread):
    """One client: `change` does a change and returns what holds then.

    acknowledged: what holds for sure; asked: what may, too
    """

    def __init__(self, daemon, seed):
        super().__init__(daemon=True)
        self.server = daemon
        self.random = random.Random(seed)
        self.acknowledged = None
        self.asked = None
        self.count = 0
        self.failures = []

    def run(self):
        try:
            with self.server.client() as client:
                while True:
                    self.step(client)
        except (OSError, EOFError, ValueError):
            return  # plugind has been killed

    def step(self, client):
        method, parameters, wanted = self.next()
        self.asked = wanted
        try:
            client.call(method, parameters)
        except VarlinkError as error:
            if error.code == "disconnected":
                raise EOFError from error
            self.failures.append((method, parameters, error.code, str(error)))
            return
        self.acknowledged = wanted
        self.asked = None
        self.count += 1

    def holds(self, seen):
        return seen == self.acknowledged or (self.asked is not None and seen == self.asked)


class Disabler(Decider):
    def __init__(self, daemon, seed, plugin):
        super().__init__(daemon, seed)
        self.plugin = plugin
        self.acknowledged = ("enabled",)

    def next(self):
        if self.random.random() < 0.5:
            return "Enable", {"name": self.plugin}, ("enabled",)
        reason = self.random.choice(REASONS)
        return "Disable", {"name": self.plugin, "reason": reason}, ("disabled",)

    def look(self, daemon):
        return (daemon.call("IsEnabled", name=self.plugin)["state"],)


class Pinner(Decider):
    def __init__(self, daemon, seed, operation, kernels):
        super().__init__(daemon, seed)
        self.operation = operation
        self.kernels = kernels

    def next(self):
        choice = self.random.choice([None, *self.kernels])
        if choice is None:
            return "Unpin", {"operation": self.operation}, None
        return "Pin", {"operation": self.operation, "choice": choice}, choice

    def holds(self, seen):
        # None is a choice here: of a request without an answer it is not known which.
        return seen == self.acknowledged or seen == self.asked

    def look(self, daemon):
        pins = {p["operation"]: p["choice"] for p in daemon.call("Pins")["pins"]}
        return pins.get(self.operation)


class Roller(Decider):
    def __init__(self, daemon, seed, plugin, numbers):
        super().__init__(daemon, seed)
        self.plugin = plugin
        self.numbers = numbers
        self.acknowledged = (None,)

    def next(self):
        number = self.random.choice([None, *self.numbers])
        if number is None:
            return "Rollback", {"name": self.plugin, "release": True}, (None,)
        return "Rollback", {"name": self.plugin, "number": number}, (number,)

    def look(self, daemon):
        rolled = daemon.call("History", name=self.plugin)["rolled_back"]
        return (rolled["number"] if rolled else None,)
