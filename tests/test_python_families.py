# SPDX-License-Identifier: MIT
"""Every kernel of every family, called from Python and held against NumPy."""

import unittest

import numpy

from python_module import Attached, kplug


def floats(*shape, seed=1):
    return numpy.random.default_rng(seed).standard_normal(shape, numpy.float32)


def rms(x, weight, eps):
    y = x / numpy.sqrt((x.astype(float) ** 2).mean(-1, keepdims=True) + eps)
    return y if weight is None else y * weight


def softmax(x):
    y = numpy.exp(x - x.max(-1, keepdims=True))
    return y / y.sum(-1, keepdims=True)


def silu_mul(gate, up):
    return gate / (1 + numpy.exp(-gate)) * up


def decode(q, k_pages, v_pages, table, lens, scale):
    """One query a sequence against its pages."""
    out = numpy.zeros(q.shape)
    group = q.shape[1] // k_pages.shape[2]
    for i, length in enumerate(lens):
        pages = table[i, : -(-length // k_pages.shape[1])]
        k = k_pages[pages].reshape(-1, *k_pages.shape[2:])[:length]
        v = v_pages[pages].reshape(-1, *v_pages.shape[2:])[:length]
        for j in range(q.shape[1] if length else 0):
            weights = softmax((k[:, j // group] @ q[i, j] * scale)[None])[0]
            out[i, j] = weights @ v[:, j // group]
    return out


class Families(Attached):
    def sites(self, operation, **options):
        """One for each kernel that may run here."""
        why = self.k.why(operation, dtype=options.get("dtype"))
        names = [c["kernel"] for c in why.candidates if c["eligible"]]
        self.assertGreaterEqual(len(names), 1)
        for name in names:
            site = self.k.site(operation, override=name, **options)
            with self.subTest(kernel=name):
                self.assertEqual(site.kernel(), name)
                yield site

    def near(self, got, wanted, tolerance=1e-5):
        self.assertEqual(got.shape, wanted.shape)
        self.assertLessEqual(
            numpy.linalg.norm(got - wanted), tolerance * (numpy.linalg.norm(wanted) + 1e-30)
        )

    def test_a_product(self):
        for site in self.sites("gemm/mm"):
            for m, n, k in ((1, 1, 1), (7, 17, 33), (64, 48, 32), (1, 128, 65), (3, 5, 0)):
                a, b = floats(m, k), floats(k, n, seed=2)
                self.near(site(a, b), a @ b)
            self.assertEqual(site(floats(0, 3), floats(3, 5)).shape, (0, 5))

    def test_a_product_of_transposed_arrays(self):
        for site in self.sites("gemm/mm"):
            a, b = floats(9, 5).T, floats(7, 9, seed=2).T
            self.near(site(a, b), a @ b)
            out = numpy.zeros((5, 14), numpy.float32)[:, :7]
            self.assertIs(site(a, b, out=out), out)
            self.near(out, a @ b)
            self.near(site(numpy.zeros((5, 20), numpy.float32)[:, 3:12] + 1, b), (a * 0 + 1) @ b)

    def test_a_norm_with_and_without_its_weight(self):
        for eps in (1e-6, 0.5):
            for site in self.sites("norm/rms", attributes={"eps": eps}):
                x, weight = floats(5, 33), floats(33, seed=2)
                self.near(site(x, weight), rms(x, weight, eps))
                self.near(site(x), rms(x, None, eps))

    def test_a_softmax(self):
        for site in self.sites("norm/softmax"):
            for shape in ((1, 1), (3, 7), (31, 129)):
                x = floats(*shape) * 3
                self.near(site(x), softmax(x))
            x[0] = -numpy.inf
            numpy.testing.assert_array_equal(site(x)[0], 0)

    def test_a_gate_in_place_and_not(self):
        for site in self.sites("activation/silu_mul"):
            gate, up = floats(4, 37), floats(4, 37, seed=2)
            wanted = silu_mul(gate, up)
            self.near(site(gate, up), wanted)
            self.assertIs(site(gate, up, out=gate), gate)
            self.near(gate, wanted)

    def test_a_square_by_the_names_of_roles(self):
        for site in self.sites("elementwise/square"):
            x = floats(1001)
            self.near(site(x=x), x * x)
            y = numpy.empty_like(x)
            self.assertIs(site(x=x, y=y), y)
            self.near(y, x * x)

    def test_attention_over_pages(self):
        q = floats(3, 6, 16)
        k_pages, v_pages = floats(20, 5, 2, 16, seed=2), floats(20, 5, 2, 16, seed=3)
        table = numpy.random.default_rng(4).permutation(20)[:18].reshape(3, 6)
        lens = numpy.array([0, 7, 30], numpy.int32)
        for site in self.sites("attention/decode", attributes={"scale": 0.3}):
            out = site(q, k_pages, v_pages, table.astype(numpy.int32), lens)
            self.near(out, decode(q, k_pages, v_pages, table, lens, 0.3))

    def test_bfloat16_as_tensors_of_bits(self):
        a, b = floats(9, 33), floats(33, 7, seed=2)
        for site in self.sites("gemm/mm", dtype="bf16"):
            c = site(kplug.Tensor.from_float32(a), kplug.Tensor.from_float32(b))
            self.near(c.float32(), a @ b, 1e-2)


class Bits(unittest.TestCase):
    def test_float32_becomes_the_nearest_bf16(self):
        values = numpy.array(
            [1.0, 1.00390625, 1.01171875, 1.0078125, -2.5, 0.0, numpy.inf, 3.4e38], "f4"
        )
        wanted = [0x3F80, 0x3F80, 0x3F82, 0x3F81, 0xC020, 0, 0x7F80, 0x7F80]
        made = kplug.Tensor.from_float32(values)
        self.assertEqual([int(bits) for bits in made.array], wanted)
        self.assertEqual(made.float32()[:2].tolist(), [1.0, 1.0])

    def test_no_number_stays_none(self):
        for bits in (0x7FC00000, 0x7F800001, 0xFFFFFFFF):
            value = numpy.array([bits], numpy.uint32).view(numpy.float32)
            self.assertTrue(numpy.isnan(kplug.Tensor.from_float32(value).float32()[0]))

    def test_elements_of_another_size_are_refused(self):
        for dtype, kind in (("bf16", "u4"), ("f8_e5m2", "u2"), ("f32", "f8")):
            with self.assertRaises(kplug.Invalid):
                kplug.Tensor(numpy.zeros(3, kind), dtype)


if __name__ == "__main__":
    unittest.main()
