"""SR-LSTM-P in JAX: lax.scan under jit, value_and_grad; the direct form and ours.

JAX has no events: times are the clock's, from the call until its results are there.
"""

import functools
import os
import pathlib
import sys
import time

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
sys.path.insert(0, str(pathlib.Path(__file__).parent.parent))

import jax
import jax.numpy as jnp
import numpy as np

from exported import Exported
from measure import Part, checked


def loss(low_rank, p, x, y):
    bias = p["rnn.bias_ih_l0"] + p["rnn.bias_hh_l0"]
    tokens = jnp.issubdtype(x.dtype, jnp.integer)
    given = p["embedding.weight"] if tokens else jnp.swapaxes(x, 0, 1)
    a = given @ p["rnn.weight_ih_l0"].T + bias
    steps = a[x.T] if tokens else a
    s, r, (p_i, p_f, p_o) = p["centroids_l0"], p["rnn.weight_hh_l0"].T, p["peephole_l0"]
    into = s @ r if low_rank else r

    def cell(carried, c, x):
        i, f, g, o = jnp.split(x + carried @ into, 4, axis=1)
        c = jax.nn.sigmoid(f + p_f * c) * c + jax.nn.sigmoid(i + p_i * c) * jnp.tanh(g)
        return jax.nn.sigmoid(o + p_o * c) * jnp.tanh(c), c

    def move(state, x):
        u, c = cell(*state, x)
        alpha = jax.nn.softmax(u @ s.T, axis=1)
        return (alpha if low_rank else alpha @ s, c), None

    rows = steps.shape[1]
    state = (jnp.zeros((rows, into.shape[0])), jnp.zeros((rows, s.shape[1])))
    state, _ = jax.lax.scan(move, state, steps[:-1] if tokens else steps)
    h = cell(*state, steps[-1])[0] if tokens else (state[0] @ s if low_rank else state[0])
    logits = h @ p["head.weight"].T + p["head.bias"]
    said = jax.nn.log_softmax(logits, axis=1)
    return -jnp.take_along_axis(said, y[:, None], axis=1).mean()


def seconds(work):
    begin = time.perf_counter()
    jax.block_until_ready(work())
    return time.perf_counter() - begin


def arrays(batch):
    x, y = batch
    integer = np.issubdtype(x.dtype, np.integer)
    return jnp.asarray(x.astype(np.int32) if integer else x), jnp.asarray(y.astype(np.int32))


def measure(part, setting, low_rank):
    what = f"jax scan, {'low rank' if low_rank else 'direct'}"
    weights = {name: jnp.asarray(w) for name, w in setting.weights.items()}
    step = jax.jit(jax.value_and_grad(functools.partial(loss, low_rank)))

    def check():
        with jax.default_matmul_precision("highest"):
            value, gradients = step(weights, *arrays(setting.check))
        found = {name: np.asarray(g) for name, g in gradients.items()}
        return checked(setting.demand(what, float(value), found))

    def ready():
        data = [arrays(batch) for batch in setting.batches]
        seconds(lambda: step(weights, *data[0]))
        return lambda i: step(weights, *data[i % len(data)])

    part.measure(setting, what, check, ready, seconds)


part = Part()
for setting in map(Exported, part.folders):
    measure(part, setting, True)
    measure(part, setting, False)
