# SPDX-License-Identifier: MIT
"""The decoder of tests/examples again, in plain Python and double precision.

It shares with them the shape of the model and the sequence of random numbers, and
nothing else: no kplug, no batch, no pages. Each sequence is computed alone.
"""

import math

VOCAB, DIM, HIDDEN, LAYERS, BATCH = 256, 64, 96, 2, 3
HEADS, KV_HEADS, HEAD = 4, 2, 16
KV = KV_HEADS * HEAD
PAGE, HELD = 8, 4
MASK = (1 << 64) - 1


def numbers(seed):
    """splitmix64, as multiples of 2^-16 in [-0.5, 0.5)."""
    while True:
        seed = seed + 0x9E3779B97F4A7C15 & MASK
        z = (seed ^ seed >> 30) * 0xBF58476D1CE4E5B9 & MASK
        z = (z ^ z >> 27) * 0x94D049BB133111EB & MASK
        yield ((z >> 48) - 32768) / 65536


def dot(a, b):
    return math.fsum(map(float.__mul__, a, b))


class Matrix:
    """Made row by row; multiplied by columns."""

    def __init__(self, stream, rows, columns):
        self.rows = [[next(stream) for _ in range(columns)] for _ in range(rows)]
        self.columns = list(zip(*self.rows))

    def times(self, x):
        return [dot(x, column) for column in self.columns]


def normed(x, weight):
    scale = 1 / math.sqrt(dot(x, x) / len(x) + 1e-5)
    return [a * scale * w for a, w in zip(x, weight)]


def softmax(x):
    most = max(x)
    powers = [math.exp(a - most) for a in x]
    total = math.fsum(powers)
    return [p / total for p in powers]


def added(a, b):
    return [x + y for x, y in zip(a, b)]


class Layer:
    def __init__(self, stream):
        self.attention_norm = [next(stream) for _ in range(DIM)]
        self.qkv = Matrix(stream, DIM, DIM + 2 * KV)
        self.output = Matrix(stream, DIM, DIM)
        self.ffn_norm = [next(stream) for _ in range(DIM)]
        self.gate = Matrix(stream, DIM, HIDDEN)
        self.up = Matrix(stream, DIM, HIDDEN)
        self.down = Matrix(stream, HIDDEN, DIM)

    def attend(self, x, cache):
        """cache: (key, value) of each token so far; this one's are appended."""
        row = self.qkv.times(normed(x, self.attention_norm))
        cache.append((row[DIM : DIM + KV], row[DIM + KV :]))
        out = []
        for head in range(HEADS):
            query = row[head * HEAD : (head + 1) * HEAD]
            place = slice(*(HEAD * (head // (HEADS // KV_HEADS) + i) for i in (0, 1)))
            weights = softmax([dot(query, k[place]) / math.sqrt(HEAD) for k, _ in cache])
            values = zip(*(v[place] for _, v in cache))
            out += [dot(weights, value) for value in values]
        return self.output.times(out)

    def feed(self, x):
        x = normed(x, self.ffn_norm)
        gate, up = self.gate.times(x), self.up.times(x)
        return self.down.times([g / (1 + math.exp(-g)) * u for g, u in zip(gate, up)])


class Decoder:
    def __init__(self, seed):
        stream = numbers(seed)
        self.embedding = [[next(stream) for _ in range(DIM)] for _ in range(VOCAB)]
        self.position = [[next(stream) for _ in range(DIM)] for _ in range(PAGE * HELD)]
        self.layers = [Layer(stream) for _ in range(LAYERS)]
        self.norm = [next(stream) for _ in range(DIM)]
        self.head = Matrix(stream, DIM, VOCAB)

    def sequence(self, token):
        """Of each step the token and the logits that it is the greatest of."""
        caches = [[] for _ in self.layers]
        while True:
            if len(caches[0]) == PAGE * HELD:
                caches = [cache[PAGE:] for cache in caches]
            x = added(self.embedding[token], self.position[len(caches[0])])
            for layer, cache in zip(self.layers, caches):
                x = added(x, layer.attend(x, cache))
                x = added(x, layer.feed(x))
            logits = self.head.times(normed(x, self.norm))
            token = logits.index(max(logits))
            yield token, logits

    def steps(self, count):
        """[(token, logits) of each live sequence] a step, as the programs print it."""
        sequences = [self.sequence(token) for token in range(BATCH)]
        for step in range(count):
            yield [next(sequence) for sequence in sequences[: step + 1]]


def margin(logits):
    """How far the greatest is above the next."""
    first, second = sorted(logits)[-1:-3:-1]
    return first - second
