# SPDX-License-Identifier: MIT
"""Plugins that hang, more of them than workers run at a time, keep no other from its turn."""

import os
import unittest

from harness import HANG, Daemon, kernel, make_plugins, wait_until

HUNG = 9  # more than the most slots
SPIN = '__attribute__((constructor)) static void spin(void) { for (;;) __asm__("pause"); }'
CHATTER = """
__attribute__((constructor)) static void chatter(void)
{
    for (;;) (void)!write(1, "on and on\\n", 10);
}
"""
FAULTS = {
    "pauses": {"before": HANG},
    "spins": {"before": SPIN},
    "prints": {"before": CHATTER},
    "when_asked": {"available": "for (;;) pause();"},
}


class Turns(unittest.TestCase):
    def test_t18_others_are_tried_while_each_of_them_hangs(self):
        for fault, options in FAULTS.items():
            with self.subTest(fault=fault), Daemon(start=False) as daemon:
                hung = [f"a{i}" for i in range(HUNG)]
                good = [f"z{i}" for i in range(3)]
                for names, more in ((hung, options), (good, {})):
                    paths = [os.path.join(daemon.plugin_dir, f"{n}.so") for n in names]
                    make_plugins(paths, [kernel()], **more)
                for name in hung + good:
                    daemon.manifest(name, timeout_ms=600000)
                daemon.start()

                def states():
                    return {p["name"]: p["state"] for p in daemon.call("List")["plugins"]}

                wait_until(
                    lambda: all(states().get(name) == "active" for name in good),
                    "those that are good",
                )
                self.assertEqual({states()[name] for name in hung}, {"pending"})


if __name__ == "__main__":
    unittest.main()
