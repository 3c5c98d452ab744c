# SPDX-License-Identifier: MIT
"""Python functions as kernels of a process: ranked, called, and what they raise."""

import threading
import unittest

import numpy

from python_module import Attached, kplug

X = numpy.arange(1, 5, dtype=numpy.float32)


class Local(Attached):
    def setUp(self):
        super().setUp()
        self.site = self.k.site("elementwise/square")

    def local(self, function, **options):
        options.setdefault("name", "mine")
        local = self.k.local("elementwise/square", function, priority=19, **options)
        return local

    def test_a_function_is_called_where_it_has_the_highest_rank(self):
        @self.k.local("elementwise/square", priority=19)
        def fast(x, y):
            y[...] = x * x + 1

        self.assertEqual(fast.name, "local/fast")
        self.assertEqual(self.site.kernel(), "local/fast")
        numpy.testing.assert_array_equal(self.site(X), X * X + 1)
        self.assertEqual(self.site.why().selected, "local/fast")
        fast.remove()
        numpy.testing.assert_array_equal(self.site(X), X * X)
        with self.assertRaises(kplug.Invalid):
            fast.remove()
        # Nobody else is told.
        self.assertNotIn("local", str(self.daemon.why("elementwise/square")))

    def test_attributes_and_absent_roles_are_what_the_site_has(self):
        seen = []

        def rms(x, weight, y, *, eps):
            seen.append((weight is None, eps, x.flags.writeable))
            y[...] = x if weight is None else x * weight

        self.k.local("norm/rms", rms, priority=19)
        site = self.k.site("norm/rms", attributes={"eps": 0.25})
        x, weight = numpy.ones((2, 3), "f4"), numpy.full(3, 2, "f4")
        self.assertEqual(site(x, weight).sum(), 12)
        self.assertEqual(site(x).sum(), 6)
        self.assertEqual(seen, [(False, 0.25, False), (True, 0.25, False)])

    def test_strides_and_empty_arrays_arrive_as_they_are(self):
        seen = []

        def mm(a, b, c):
            seen.append((a.shape, a.strides))
            c[...] = a @ b

        self.k.local("gemm/mm", mm, priority=19)
        site, b = self.k.site("gemm/mm"), numpy.ones((4, 2), "f4")
        for a in (
            numpy.arange(12, dtype="f4").reshape(4, 3).T,
            numpy.arange(12, dtype="f4").reshape(3, 4)[::-1],
            numpy.arange(24, dtype="f4").reshape(3, 8)[:, ::2],
        ):
            numpy.testing.assert_array_equal(site(a, b), a @ b)
            self.assertEqual(seen[-1], (a.shape, a.strides))
        self.assertEqual(site(numpy.ones((0, 4), "f4"), b).shape, (0, 2))
        self.assertEqual(seen[-1][0], (0, 4))

    def test_bf16_arrives_as_what_says_so(self):
        def twice(x, y):
            self.assertEqual(x.dtype, "bf16")
            y.array[...] = x.array + 0x80

        local = self.local(twice, dtype="bf16")
        site = self.k.site("elementwise/square", dtype="bf16", override=local.name)
        made = site(kplug.Tensor.from_float32(X))
        self.assertEqual(made.float32().tolist(), [2, 4, 6, 8])

    def test_what_it_raises_is_the_cause_of_what_the_call_raises(self):
        for raised, words in (
            (KeyError("no such thing"), "KeyError: 'no such thing'"),
            (ValueError("bad \N{SNOWMAN}"), "ValueError: bad \N{SNOWMAN}"),
            (RuntimeError("long" * 1000), "RuntimeError: longlong"),
        ):

            def fail(x, y, raised=raised):
                raise raised

            local = self.local(fail)
            with self.assertRaises(kplug.Failed) as caught:
                self.site(X)
            self.assertIn(words, str(caught.exception))
            self.assertIs(caught.exception.__cause__, raised)
            local.remove()
        numpy.testing.assert_array_equal(self.site(X), X * X)

    def test_an_error_of_kplug_keeps_its_status(self):
        for kind in (kplug.Unsupported, kplug.Cancelled, kplug.NoMemory):

            def fail(x, y, kind=kind):
                raise kind("not today")

            local = self.local(fail)
            with self.assertRaisesRegex(kind, "not today") as caught:
                self.site(X)
            self.assertIs(type(caught.exception), kind)
            local.remove()

    def test_an_interrupt_goes_through_as_it_is(self):
        for kind in (KeyboardInterrupt, SystemExit, GeneratorExit):

            def stop(x, y, kind=kind):
                raise kind

            local = self.local(stop)
            with self.assertRaises(kind):
                self.site(X)
            local.remove()

    def test_a_value_that_is_returned_is_an_error(self):
        self.local(lambda x, y: x * x)
        with self.assertRaisesRegex(kplug.Failed, "local/mine returned a value"):
            self.site(X)

    def test_a_kernel_may_call_a_site_even_its_own(self):
        plain = self.k.site("elementwise/square", override="reference")

        def deep(x, y):
            if x[0] > 100:
                y[...] = x
            else:
                self.site(plain(x), out=y)

        self.local(deep)
        numpy.testing.assert_array_equal(self.site(X * 2), X**8 * 2**8)

    def test_threads_are_in_it_at_once(self):
        count = 4
        together = threading.Barrier(count, timeout=30)

        def meet(x, y):
            together.wait()
            y[...] = x

        self.local(meet)
        threads = [threading.Thread(target=self.site, args=(X,)) for _ in range(count)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertFalse(together.broken)

    def test_closing_inside_of_it_is_refused(self):
        said = []

        def close(x, y):
            with self.assertRaises(kplug.Invalid) as caught:
                self.k.close()
            said.append(str(caught.exception))

        self.local(close)
        self.site(X)
        self.assertIn("inside of a call", said[0])
        self.assertFalse(self.k.closed)

    def test_what_is_no_kernel_is_refused_in_words(self):
        for options, words in (
            ({"tags": {"objective": 3}}, ""),
            ({"priority": 99}, ""),
            ({"flags": ["quick"]}, "quick"),
            ({"signatures": ["q=f32"]}, ""),
        ):
            with self.assertRaisesRegex(kplug.Invalid, words):
                self.k.local("elementwise/square", lambda x, y: None, name="bad", **options)
        self.local(lambda x, y: None)
        with self.assertRaisesRegex(kplug.Invalid, "there already"):
            self.local(lambda x, y: None)


if __name__ == "__main__":
    unittest.main()
