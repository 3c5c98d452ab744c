#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""A small decoder on kplug, the one of decoder.c: from the same seed the same tokens.

Embedding, layers of rms norm, attention over a paged cache and a gated feed-forward,
softmax. The likeliest token is taken, a sequence joins at each step until BATCH are
live; a line of tokens a step.

    ./decoder.py [--seed N] [--tokens N | --forever] [--why] [--logits] [--no-daemon]
"""

import argparse
import itertools
import json
import sys

import kplug
import numpy

VOCAB, DIM, HIDDEN, LAYERS, BATCH = 256, 64, 96, 2, 3
HEADS, KV_HEADS = 4, 2
HEAD = DIM // HEADS
KV = KV_HEADS * HEAD
PAGE, HELD = 8, 4
PAGES = BATCH * HELD


class Weights:
    """The same floats on every machine, by splitmix64: multiples of 2^-16 around 0."""

    def __init__(self, seed):
        self.at = 0
        self.seed = seed
        self.embedding = self.take(VOCAB, DIM)
        self.position = self.take(HELD * PAGE, DIM)
        self.layers = [
            {
                "attention_norm": self.take(DIM),
                "qkv": self.take(DIM, DIM + 2 * KV),
                "output": self.take(DIM, DIM),
                "ffn_norm": self.take(DIM),
                "gate": self.take(DIM, HIDDEN),
                "up": self.take(DIM, HIDDEN),
                "down": self.take(HIDDEN, DIM),
            }
            for _ in range(LAYERS)
        ]
        self.norm = self.take(DIM)
        self.head = self.take(DIM, VOCAB)

    def take(self, *shape):
        count = int(numpy.prod(shape))
        step = numpy.arange(self.at + 1, self.at + count + 1, dtype=numpy.uint64)
        self.at += count
        z = numpy.uint64(self.seed) + step * numpy.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> numpy.uint64(30))) * numpy.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> numpy.uint64(27))) * numpy.uint64(0x94D049BB133111EB)
        made = (z >> numpy.uint64(48)).astype(numpy.int32) - 32768
        return (made / 65536).astype(numpy.float32).reshape(shape)


class Decoder:
    def __init__(self, k, seed):
        def site(operation, label, rows, **options):
            return k.site(operation, label=label, ranges={rows: (1, BATCH)}, **options)

        self.norm = site("norm/rms", "norm", "rows", attributes={"eps": 1e-5})
        self.qkv = site("gemm/mm", "attention.qkv", "m")
        self.attention = site("attention/decode", "attention", "b")
        self.output = site("gemm/mm", "attention.output", "m")
        self.up = site("gemm/mm", "ffn.up", "m")
        self.silu_mul = site("activation/silu_mul", "ffn.silu_mul", "rows")
        self.down = site("gemm/mm", "ffn.down", "m")
        self.logits = site("gemm/mm", "head.logits", "m")
        self.softmax = site("norm/softmax", "head.softmax", "rows")
        self.sites = [s for s in vars(self).values() if isinstance(s, kplug.Site)]
        # Code is found and loaded now, so that no later call waits for it.
        k.warm(self.sites)

        self.weights = Weights(seed)
        cache = (LAYERS, PAGES, PAGE, KV_HEADS, HEAD)
        self.k, self.v = numpy.zeros(cache, "f4"), numpy.zeros(cache, "f4")
        pages = numpy.arange(PAGES - 1, -1, -1, dtype=numpy.int32)
        self.pages = numpy.ascontiguousarray(pages.reshape(HELD, BATCH).T)
        self.lens = numpy.zeros(BATCH, numpy.int32)
        self.tokens = numpy.arange(BATCH)
        self.live = 0
        self.last = None  # logits

    def begin(self, i):
        """Room for one token more: a sequence that is full gives its oldest page."""
        if self.lens[i] == HELD * PAGE:
            self.pages[i] = numpy.roll(self.pages[i], -1)
            self.lens[i] -= PAGE
        x = self.weights.embedding[self.tokens[i]] + self.weights.position[self.lens[i]]
        self.lens[i] += 1
        return x

    def attend(self, layer, qkv):
        """Queries are read where they lie, in rows of qkv."""
        live = self.live
        at = self.lens[:live] - 1
        page = self.pages[numpy.arange(live), at // PAGE]
        q, k, v = numpy.split(qkv, [DIM, DIM + KV], axis=1)
        self.k[layer, page, at % PAGE] = k.reshape(live, KV_HEADS, HEAD)
        self.v[layer, page, at % PAGE] = v.reshape(live, KV_HEADS, HEAD)
        mixed = self.attention(
            q.reshape(live, HEADS, HEAD),
            self.k[layer],
            self.v[layer],
            self.pages[:live],
            self.lens[:live],
        )
        return mixed.reshape(live, DIM)

    def run_layer(self, i, x):
        w = self.weights.layers[i]
        qkv = self.qkv(self.norm(x, w["attention_norm"]), w["qkv"])
        x = x + self.output(self.attend(i, qkv), w["output"])
        normed = self.norm(x, w["ffn_norm"])
        gate = self.up(normed, w["gate"])
        self.silu_mul(gate, self.up(normed, w["up"]), out=gate)
        return x + self.down(gate, w["down"])

    def generate(self):
        """One token more of each sequence."""
        self.live = min(self.live + 1, BATCH)
        x = numpy.stack([self.begin(i) for i in range(self.live)])
        for i in range(LAYERS):
            x = self.run_layer(i, x)
        self.last = self.logits(self.norm(x, self.weights.norm), self.weights.head)
        self.tokens[: self.live] = self.softmax(self.last).argmax(axis=1)
        return self.tokens[: self.live]


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--tokens", type=int, default=16)
    parser.add_argument("--forever", action="store_true")
    parser.add_argument("--why", action="store_true", help="label, kernel, reasons as JSON")
    parser.add_argument("--logits", action="store_true")
    parser.add_argument("--no-daemon", action="store_true", help="start no plugind")
    return parser.parse_args()


def main():
    args = arguments()
    with kplug.open(adopt="step", daemon=not args.no_daemon) as k:
        decoder = Decoder(k, args.seed)
        for site in decoder.sites if args.why else ():
            print(site.label, site.kernel() or "none", json.dumps(site.why().json))
        for _ in itertools.count() if args.forever else range(args.tokens):
            # What was decided meanwhile holds from here: for a whole step.
            changed = k.step()
            if changed:
                print(f"decoder: {changed} sites changed", file=sys.stderr)
            print(*decoder.generate(), flush=True)
            for row in decoder.last if args.logits else ():
                print(*(f"{value:.9g}" for value in row))


if __name__ == "__main__":
    main()
