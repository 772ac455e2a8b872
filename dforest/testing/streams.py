"""The naive twin's random streams: `random.h` again, slow and plain.

A *stream* of 32-bit words is named by the seed of a tree, a key and a purpose.
"""

WEYL = 0x9E3779B97F4A7C15
ROOT_KEY = 0x243F6A8885A308D3
CHILD = (0xA0761D6478BD642F, 0xE7037ED1A0B428DB)  # left, right
FEATURES, BOOTSTRAP_SPLIT, BOOTSTRAP_DRAW, THRESHOLD = 1, 2, 3, 4  # purposes
SUBSAMPLE_SHARE, SUBSAMPLE_DRAW, LABEL_ORDER, HONEST_HALF, SKETCH, CHANCE = 6, 7, 8, 9, 11, 12
MASK32 = 2**32 - 1
MASK64 = 2**64 - 1


def philox(counter, key):
    """Philox4x32-10: four words from a counter of four words and a key of two."""
    a, b, c, d = counter
    k0, k1 = key
    for _ in range(10):
        p = 0xD2511F53 * a
        q = 0xCD9E8D57 * c
        a, b, c, d = (q >> 32) ^ b ^ k0, q & MASK32, (p >> 32) ^ d ^ k1, p & MASK32
        k0 = (k0 + 0x9E3779B9) & MASK32
        k1 = (k1 + 0xBB67AE85) & MASK32
    return a, b, c, d


class Stream:
    """The random words named by (seed, stream key, purpose), with the seed of a tree."""

    def __init__(self, seed, stream_key, purpose):
        self.key = int(seed), purpose
        self.name = 0, stream_key & MASK32, stream_key >> 32
        self.block = 0
        self.words = []

    def next(self):
        """The next 32-bit word."""
        if not self.words:
            self.words = list(philox((self.block, *self.name), self.key))
            self.block += 1
        return self.words.pop(0)

    def below(self, n):
        """A uniform integer in [0, n): words whose low product would favour some results are passed over.

        From 2**32 on, two words are a number, of which the lowest are passed over, so that n equal parts are left: it is which of
        these the number is in.
        """
        if n >> 32:
            while (number := self.next() << 32 | self.next()) < 2**64 % n:
                pass
            return (number - 2**64 % n) // (2**64 // n)
        product = self.next() * n
        while product & MASK32 < 2**32 % n:
            product = self.next() * n
        return product >> 32

    def uniform(self):
        """A uniform number in [0, 1), a multiple of 2**-53."""
        high, low = self.next() >> 5, self.next() >> 6
        return float(high << 26 | low) * (1.0 / 2**53)


def mix(z):
    """The finaliser of splitmix64, a bijection of 64-bit words."""
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 & MASK64
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB & MASK64
    return z ^ (z >> 31)


def tree_seed(seed, tree):
    """The seed of a tree, given the forest's and the tree's number: by a Feistel network of halves of 16 bits."""
    left, right = tree >> 16, tree & 0xFFFF
    for i in range(6):
        left, right = right, left ^ mix((seed + (i * 2**16 + right) * WEYL) & MASK64) >> 48
    return left << 16 | right


def child_key(node_key, side):
    """The node key of the left (side 0) or right (1) child."""
    return mix(node_key ^ CHILD[side])


def feature_key(node_key, feature):
    """The stream key of a feature in a node."""
    return mix((node_key + (feature + 1) * WEYL) & MASK64)
