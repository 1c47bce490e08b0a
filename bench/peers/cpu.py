"""Forward and backward of an SR-LSTM-P: our engine, torch.nn.LSTM and PyTorch loops.

Started by `bench/peers/cpu`. What is timed, on every side: from a batch in memory to the loss
and the gradients of all parameters, embedding and classifier included; no update.

  ours      SR-LSTM-P, the `Cpu` engine, in a process of its own that waits for commands
  nn.LSTM   embedding lookup, torch.nn.LSTM (oneDNN) of as many units, Linear of the last h: a
            plain LSTM, without peepholes and centroids, so with less to do
  loops     SR-LSTM-P in PyTorch. The input's product is taken out of the loop (for tokens: one
            row per symbol, then a lookup), steps are unbound once, gates are packed.
              eager     as it is
              script    the same under torch.jit.script
              low rank  eager with our algebra, α(S·R) instead of (αS)R; shown, not compared with:
                        it is not what a user of PyTorch would have

Before anything is timed, loss and every gradient of ours and of each loop are compared with the
loop in float64 on the same weights and data.
"""

import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time
import warnings

import numpy as np
import torch
import torch.nn.functional as F
from safetensors.numpy import load_file, save_file

THREADS = 2
WARM_UPS = 3
RUNS = 21
# A side whose run takes longer than this many seconds is run only this often.
SLOW = 1.5
FEW_RUNS = 5
BATCHES = 4
# Of the largest number of a tensor, against float64.
TOLERANCE = 1e-4
# Between two sides, so that one side's threads have stopped spinning when the other begins.
PAUSE = 0.02
# Then a side runs unmeasured for so many seconds before its measured run: training makes one step
# after the other, so caches hold its own data and not the other side's.
LEAD = 0.05
warnings.filterwarnings("ignore", category=DeprecationWarning)
warnings.filterwarnings("ignore", category=FutureWarning)

SETTINGS = {
    "bp": dict(B=64, T=100, E=100, D=100, K=5, C=2, symbols=28, floor=0.14),
    "mnist": dict(B=128, T=784, E=1, D=256, K=10, C=10, symbols=0, floor=0.46),
}


# ------------------------------------------------------------------ weights and data


def arch(s):
    tokens = {"kind": "tokens", "symbols": s["symbols"], "embedding": s["E"], "start": True, "end": True}
    layer = {
        "cell": {"kind": "lstm", "peephole": True},
        "units": s["D"],
        "gate": "sigmoid",
        "bias": True,
        "centroids": {"k": s["K"], "score": "dot", "tau": 1.0},
    }
    return {
        "input": tokens if s["symbols"] else {"kind": "real", "width": s["E"]},
        "layers": [layer],
        "readout": {"from": "h", "when": "last"},
        "classes": s["C"],
    }


def weights(s, rng):
    E, D = s["E"], s["D"]
    shapes = {
        "rnn.weight_ih_l0": (4 * D, E),
        "rnn.weight_hh_l0": (4 * D, D),
        "rnn.bias_ih_l0": (4 * D,),
        "rnn.bias_hh_l0": (4 * D,),
        "peephole_l0": (3, D),
        "centroids_l0": (s["K"], D),
        "head.weight": (s["C"], D),
        "head.bias": (s["C"],),
    }
    if s["symbols"]:
        shapes["embedding.weight"] = (s["symbols"] + 2, E)
    bound = lambda name: 0.5 if name[0] in "pce" else D**-0.5
    return {n: rng.uniform(-bound(n), bound(n), shape).astype(np.float32) for n, shape in shapes.items()}


def batches(s, rng):
    """Fresh random rows, all of T steps; tokens with start and end."""
    for _ in range(BATCHES):
        if s["symbols"]:
            x = rng.integers(0, s["symbols"], (s["B"], s["T"]))
            x[:, 0], x[:, -1] = s["symbols"], s["symbols"] + 1
        else:
            x = rng.random((s["B"], s["T"], s["E"]), dtype=np.float32)
        yield x, rng.integers(0, s["C"], s["B"])


# ------------------------------------------------------------------ the loops


def step(a, c, p_if, p_o):
    """One cell application. a is [B, 4, D]: i, f, g, o."""
    i, f = torch.sigmoid(torch.addcmul(a[:, :2], p_if, c.unsqueeze(1))).unbind(1)
    c = torch.addcmul(f * c, i, torch.tanh(a[:, 2]))
    o = torch.sigmoid(torch.addcmul(a[:, 3], p_o, c))
    return o * torch.tanh(c), c


def scan(xs: list[torch.Tensor], r, s, p_if, p_o, end: bool):
    """The direct form: h = αS, then R h. Returns the last h (u after an end token)."""
    B, D = xs[0].size(0), s.size(1)
    h, c, rt, st = xs[0].new_zeros(B, D), xs[0].new_zeros(B, D), r.t(), s.t()
    for t in range(len(xs)):
        u, c = step(torch.addmm(xs[t], h, rt).view(B, 4, D), c, p_if, p_o)
        if end and t + 1 == len(xs):
            h = u
        else:
            h = torch.softmax(u @ st, 1) @ s
    return h


def scan_low_rank(xs: list[torch.Tensor], r, s, p_if, p_o, end: bool):
    """Our algebra: α(S·R), h is formed once."""
    B, D = xs[0].size(0), s.size(1)
    alpha, c, g, st = xs[0].new_zeros(B, s.size(0)), xs[0].new_zeros(B, D), s @ r.t(), s.t()
    u = c
    for t in range(len(xs)):
        u, c = step(torch.addmm(xs[t], alpha, g).view(B, 4, D), c, p_if, p_o)
        if not (end and t + 1 == len(xs)):
            alpha = torch.softmax(u @ st, 1)
    return u if end else alpha @ s


# `scan` again, in the words of torch.jit.script.
SCRIPT = """
def scan(xs: List[Tensor], r: Tensor, s: Tensor, p_if: Tensor, p_o: Tensor, end: bool) -> Tensor:
    B = xs[0].size(0)
    D = s.size(1)
    h = torch.zeros([B, D], dtype=s.dtype)
    c = torch.zeros([B, D], dtype=s.dtype)
    rt = r.t()
    st = s.t()
    for t in range(len(xs)):
        a = torch.addmm(xs[t], h, rt).view(B, 4, D)
        gates = torch.sigmoid(torch.addcmul(a[:, :2], p_if, c.unsqueeze(1))).unbind(1)
        c = torch.addcmul(gates[1] * c, gates[0], torch.tanh(a[:, 2]))
        u = torch.sigmoid(torch.addcmul(a[:, 3], p_o, c)) * torch.tanh(c)
        if end and t + 1 == len(xs):
            h = u
        else:
            h = torch.softmax(torch.matmul(u, st), 1) @ s
    return h
"""


class Loop:
    """SR-LSTM-P in PyTorch around one of the scans."""

    def __init__(self, scan, given, dtype=torch.float32):
        self.scan = scan
        self.p = {n: torch.tensor(w, dtype=dtype, requires_grad=True) for n, w in given.items()}

    def loss(self, x, y):
        p = self.p
        bias = p["rnn.bias_ih_l0"] + p["rnn.bias_hh_l0"]
        tokens = x.dtype == torch.int64
        given = p["embedding.weight"] if tokens else x.transpose(0, 1).to(bias.dtype)
        a = F.linear(given, p["rnn.weight_ih_l0"], bias)
        steps = (F.embedding(x.t(), a) if tokens else a).unbind(0)
        p_i, p_f, p_o = p["peephole_l0"].unbind(0)
        p_if = torch.stack([p_i, p_f])
        h = self.scan(list(steps), p["rnn.weight_hh_l0"], p["centroids_l0"], p_if, p_o, tokens)
        return F.cross_entropy(F.linear(h, p["head.weight"], p["head.bias"]), y)

    def gradients(self, x, y):
        for w in self.p.values():
            w.grad = None
        loss = self.loss(x, y)
        loss.backward()
        return loss.item()


class Plain(Loop):
    """nn.LSTM with the same embedding, units and classifier."""

    def __init__(self, s, given):
        super().__init__(None, given)
        self.lstm = torch.nn.LSTM(s["E"], s["D"])
        own = {n: torch.tensor(given[f"rnn.{n}"]) for n in self.lstm.state_dict()}
        self.lstm.load_state_dict(own)

    def loss(self, x, y):
        self.lstm.zero_grad(set_to_none=True)
        p, tokens = self.p, x.dtype == torch.int64
        steps = F.embedding(x.t(), p["embedding.weight"]) if tokens else x.transpose(0, 1).contiguous()
        h = self.lstm(steps)[0][-1]
        return F.cross_entropy(F.linear(h, p["head.weight"], p["head.bias"]), y)


# ------------------------------------------------------------------ our side


class Ours:
    def __init__(self, program):
        pipe = subprocess.PIPE
        self.process = subprocess.Popen([program], stdin=pipe, stdout=pipe, text=True)

    def ask(self, *words):
        print(*words, file=self.process.stdin, flush=True)
        answer = self.process.stdout.readline()
        if not answer:
            sys.exit(f"our side stopped at {words}: see its message above")
        return json.loads(answer)

    def close(self):
        self.process.stdin.close()
        self.process.wait()


# ------------------------------------------------------------------ check, then time


def worst(got, want):
    """The largest error of any tensor, relative to its largest number; NaN counts as infinite."""
    error = lambda n: np.abs(got[n] - want[n]).max() / max(np.abs(want[n]).max(), 1e-12)
    errors = {n: float(np.nan_to_num(error(n), nan=np.inf)) for n in want}
    name = max(errors, key=errors.get)
    return errors[name], name


def check(ours, loops, truth, data, folder):
    loss = truth.gradients(*data[0])
    want = {n: w.grad.numpy() for n, w in truth.p.items()}
    said = ours.ask("gradients", folder / "gradients.safetensors")
    results = {"ours": (said["loss"], load_file(folder / "gradients.safetensors"))}
    for name, loop in loops.items():
        value = loop.gradients(*data[0])
        results[name] = (value, {n: w.grad.numpy() for n, w in loop.p.items()})
    for name, (value, got) in results.items():
        assert set(got) == set(want), f"{name}: other tensors"
        error, tensor = worst(got, want)
        off = abs(value - loss) / abs(loss)
        print(f"  {name:9} loss {off:.1e} off, gradients at most {error:.1e} ({tensor})")
        assert off <= TOLERANCE and error <= TOLERANCE, f"{name} does not compute the same"


def timed(work):
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


def measure(sides):
    """Medians and spreads in seconds. Every round runs all sides, every second one backwards."""
    warm = {name: min(side(i) for i in range(WARM_UPS)) for name, side in sides.items()}
    in_full = lambda name: warm[name] <= SLOW
    runs = {name: RUNS if in_full(name) else FEW_RUNS for name in sides}
    times = {name: [] for name in sides}
    for i in range(RUNS):
        order = list(sides) if i % 2 == 0 else list(reversed(sides))
        for name in order:
            if i < runs[name]:
                time.sleep(PAUSE)
                lead = time.perf_counter()
                while warm[name] < LEAD and time.perf_counter() - lead < LEAD:
                    sides[name](i + 1)
                times[name].append(sides[name](i))
    return times


def report(name, s, times):
    tokens = s["B"] * s["T"]
    median = {side: statistics.median(t) for side, t in times.items()}
    for side, t in times.items():
        low, _, high = statistics.quantiles(t, n=4, method="inclusive")
        per = median[side] / tokens * 1e6
        print(
            f"  {side:9} {median[side] * 1e3:9.2f} ms   quartiles {low * 1e3:.2f}–{high * 1e3:.2f}"
            f"   {per:8.3f} µs/token   {per / s['floor']:7.1f}× the floor   {len(t)} runs"
        )
    best = min(("eager", "script"), key=median.get)
    ours, low_rank = median["ours"], median["low rank"]
    print(f"  the better loop is {best}; the floor is {s['floor']} µs/token on 2 cores")
    print(f"  our algebra in PyTorch (low rank) takes {low_rank / ours:.1f} times as long as ours")
    return median[best] / median["ours"], median["nn.LSTM"] / median["ours"]


def setting(name, program):
    s = SETTINGS[name]
    shape = ", ".join(f"{axis}={s[axis]}" for axis in "BTEDK")
    print(f"{name}: SR-LSTM-P, {shape}, {THREADS} threads, torch {torch.__version__}")
    rng = np.random.default_rng(7)
    given, rows = weights(s, rng), list(batches(s, rng))
    data = [(torch.from_numpy(x), torch.from_numpy(y)) for x, y in rows]
    loops = {"eager": Loop(scan, given), "script": Loop(torch.jit.CompilationUnit(SCRIPT).scan, given), "low rank": Loop(scan_low_rank, given)}
    plain, ours = Plain(s, given), Ours(program)
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        named = {f"batch.{i}.input": x for i, (x, _) in enumerate(rows)}
        named |= {f"batch.{i}.targets": y for i, (_, y) in enumerate(rows)}
        about = {"arch": json.dumps(arch(s)), "batches": str(BATCHES)}
        save_file(given | named, folder / "setting.safetensors", metadata=about)
        ours.ask("load", folder / "setting.safetensors", THREADS)
        check(ours, loops, Loop(scan, given, torch.float64), data, folder)
    sides = {"ours": lambda i: ours.ask("time", i)["seconds"]}
    for side, peer in {"nn.LSTM": plain, **loops}.items():
        sides[side] = lambda i, peer=peer: timed(lambda: peer.gradients(*data[i % BATCHES]))
    ratios = report(name, s, measure(sides))
    ours.close()
    return ratios


if __name__ == "__main__":
    program, *names = sys.argv[1:]
    torch.set_num_threads(THREADS)
    if os.getloadavg()[0] > 1.0:
        print(f"warning: the machine is busy (load {os.getloadavg()[0]:.1f}): run this on an idle one")
    unknown = [name for name in names if name not in SETTINGS]
    if unknown:
        sys.exit(f"no setting {unknown[0]}: choose from {', '.join(SETTINGS)}")
    ratios = {name: setting(name, program) for name in names or SETTINGS}
    for name, (loop, plain) in ratios.items():
        print(f"setting={name} sr_loop={loop:.1f} nn_lstm={plain:.1f}")
