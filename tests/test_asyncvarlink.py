# SPDX-License-Identifier: MIT
"""A Varlink library that knows nothing of kplug lists and selects."""

import asyncio
import unittest

from harness import Daemon, kernel

try:
    import asyncvarlink
except ImportError:
    asyncvarlink = None

INTERFACE = "org.kplug.Manager"


async def ask(path, *calls):
    transport, protocol = await asyncvarlink.connect_unix_varlink(
        asyncvarlink.VarlinkClientProtocol, path
    )
    try:
        replies = []
        for method, parameters in calls:
            call = asyncvarlink.VarlinkMethodCall(method, parameters)
            reply, _ = await protocol.call(call)
            replies.append(reply)
        return replies
    finally:
        transport.close()


@unittest.skipIf(asyncvarlink is None, "asyncvarlink is not installed")
class AsyncVarlink(unittest.TestCase):
    def test_asyncvarlink_lists_and_selects(self):
        with Daemon(start=False) as daemon:
            daemon.add("good", kernels=[kernel("square", priority=11)])
            daemon.start()
            daemon.settle()
            request = {"request": {"operation": "elementwise/square"}}
            described, listed, selected = asyncio.run(
                ask(
                    daemon.socket,
                    ("org.varlink.service.GetInfo", {}),
                    (INTERFACE + ".List", {}),
                    (INTERFACE + ".Select", request),
                )
            )
        self.assertIn(INTERFACE, described.parameters["interfaces"])
        self.assertEqual([p["name"] for p in listed.parameters["plugins"]], ["good"])
        self.assertEqual(selected.parameters["selected"], "good/square")


if __name__ == "__main__":
    unittest.main()
