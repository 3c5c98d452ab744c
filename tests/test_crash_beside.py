# SPDX-License-Identifier: MIT
"""A plugin that crashes an application before or beside a call is blamed for it, too."""

import signal
import unittest

from crashing import incidents, run
from harness import Daemon, kernel, wait_until

CRASH = """
#include <string.h>
extern char *program_invocation_short_name;
static int crash(void)
{
	*(volatile int *)8 = 1;
	return KP_OK;
}
static int start(const struct kp_host *host, const char *config, void **state,
	struct kp_error *error)
{
	return crash();
}
static int load(void *state, const struct kp_device *device, void **own,
	struct kp_error *error)
{
	return crash();
}
static void unload(void *state, void *own)
{
	crash();
}
static int need(const struct kp_call *call, struct kp_need *need)
{
	return crash();
}
static int little(const struct kp_call *call, struct kp_need *need)
{
	need->host_plan_bytes = 64;
	return KP_OK;
}
static int plan(const struct kp_call *call)
{
	return crash();
}
static int prepared(const struct kp_call *call, uint32_t role, struct kp_prepared *out)
{
	return crash();
}
static int prepare(const struct kp_call *call, uint32_t role, void *out)
{
	return crash();
}
static int some(const struct kp_call *call, uint32_t role, struct kp_prepared *out)
{
	out->bytes = 64;
	return KP_OK;
}
"""
# Not in a worker, which would find out.
CONSTRUCTOR = """
__attribute__((constructor)) static void begin(void)
{
	if (strcmp(program_invocation_short_name, "crasher") == 0)
		crash();
}
"""
WAYS = {
    "constructor": ({"before": CRASH + CONSTRUCTOR}, ("call", 1)),
    "start": ({"start": "start"}, ("call", 1)),
    "start, warmed": ({"start": "start"}, ("warm",)),
    "load": ({"vtable": ", .load = load"}, ("call", 1)),
    "load in a thread": ({"vtable": ", .load = load"}, ("thread", 1)),
    "need": ({"vtable": ", .need = need"}, ("whole", 1)),
    "need of a plan": ({"vtable": ", .need = need"}, ("plan",)),
    "plan": ({"vtable": ", .need = little, .plan = plan"}, ("plan",)),
    "prepared": ({"vtable": ", .prepared = prepared, .prepare = prepare"}, ("weight",)),
    "prepare": ({"vtable": ", .prepared = some, .prepare = prepare"}, ("weight",)),
    "unload": ({"vtable": ", .unload = unload"}, ("call", 1, "close")),
}


class Beside(unittest.TestCase):
    def daemon_with(self, *options, **plugin):
        daemon = Daemon(options=list(options))
        self.addCleanup(daemon.close)
        flags = ["reentrant"]
        plugin = {"before": CRASH, **plugin}
        daemon.add("bad", [kernel("square", priority=15, flags=flags)], **plugin)
        daemon.add(
            "good",
            [kernel("square", priority=5, flags=flags)],
            body="((float *)call->tensors[1]->data)[0] = 7;",
        )
        daemon.call("Reload")
        daemon.settle()
        return daemon

    def test_the_kernel_that_was_to_be_run_is_blamed(self):
        for way, (plugin, steps) in WAYS.items():
            with self.subTest(way=way):
                daemon = self.daemon_with("--no-quarantine", **plugin)
                status, _ = run(daemon, *steps)
                self.assertEqual(status, -signal.SIGSEGV)
                found = incidents(daemon)[0]
                self.assertEqual((found["kind"], found["kernel"]), ("crash", "bad/square"))
                self.assertIn(found["label"], ("ffn.up", "a label that is longer than a s"))
                daemon.close()

    def test_there_is_no_crash_loop(self):
        for way in ("constructor", "start", "load"):
            plugin, steps = WAYS[way]
            with self.subTest(way=way):
                daemon = self.daemon_with("--strikes", "2", **plugin)
                for count in (1, 2):
                    status, _ = run(daemon, *steps)
                    self.assertEqual(status, -signal.SIGSEGV)
                    wait_until(lambda: incidents(daemon)[0]["count"] == count, f"{count} crashes")
                self.assertEqual(run(daemon, *steps), (0, ["7"]))
                daemon.close()


if __name__ == "__main__":
    unittest.main()
