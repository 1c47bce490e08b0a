"""Images of intervals, from standard input, against MPFR at 200 bits.

Started by `bench/certificate/mpfr`; the example `enclosures` writes the input: for every function
a million records of four doubles, x, y and the image's ends. Prints how many images do not hold
the function's value at x (and y).
"""

import struct
import sys

import gmpy2
from gmpy2 import mpfr

POINTS = 1_000_000
BITS = 200


def small(x):
    """e^-|x| of a double."""
    return gmpy2.exp(-abs(mpfr(x)))


def sigmoid(x):
    e = small(x)
    return e / (1 + e) if x < 0 else 1 / (1 + e)


def sigmoid_slope(x):
    # 1/(4 cosh²(x/2)): rounded, it is still at most 1/4.
    return gmpy2.sech(mpfr(x) / 2) ** 2 / 4


def hard_sigmoid(x):
    return min(max(mpfr(x) / 5 + mpfr(0.5), mpfr(0)), mpfr(1))


# In the order of the example.
FUNCTIONS = {
    "exp": lambda x, y: gmpy2.exp(mpfr(x)),
    "sigmoid": lambda x, y: sigmoid(x),
    "tanh": lambda x, y: gmpy2.tanh(mpfr(x)),
    "sigmoid slope": lambda x, y: sigmoid_slope(x),
    "tanh slope": lambda x, y: gmpy2.sech(mpfr(x)) ** 2,
    "sqrt": lambda x, y: gmpy2.sqrt(mpfr(max(x, 0.0))),
    "square": lambda x, y: mpfr(x) * mpfr(x),
    "hard sigmoid": lambda x, y: hard_sigmoid(x),
    "sum": lambda x, y: mpfr(x) + mpfr(y),
    "difference": lambda x, y: mpfr(x) - mpfr(y),
    "product": lambda x, y: mpfr(x) * mpfr(y),
    "quotient": lambda x, y: mpfr(x) / mpfr(y),
}


def check(function):
    """Images that miss, and one of them."""
    record = struct.Struct("<4d")
    outside, witness = 0, None
    for _ in range(POINTS):
        x, y, low, high = record.unpack(sys.stdin.buffer.read(record.size))
        if not low <= function(x, y) <= high:
            outside, witness = outside + 1, (x, y, low, high)
    return outside, witness


def main():
    # A sum of 1e150 and 1e-320 does not fit, but what is cut off is far inside any image.
    gmpy2.get_context().precision = BITS
    print(f"{POINTS:,} points per function, {gmpy2.mpfr_version()} at {BITS} bits")
    total = 0
    for name, function in FUNCTIONS.items():
        outside, witness = check(function)
        print(f"{name:14} {outside} outside", *([witness] if witness else []), flush=True)
        total += outside
    sys.exit(f"{total} images miss a value" if total else 0)


main()
