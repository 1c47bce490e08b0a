"""Forward and backward of an SR-LSTM-P: our engine, torch.nn.LSTM and PyTorch loops.

Started by `bench/peers/cpu`. What is timed, on every side: from a batch in memory to the loss
and the gradients of all parameters, embedding and classifier included; no update.

  ours      SR-LSTM-P, the `Cpu` engine, in a process of its own that waits for commands
  nn.LSTM   embedding lookup, torch.nn.LSTM (oneDNN) of as many units, Linear of the last h: a
            plain LSTM, without peepholes and centroids, so with less to do
  loops     SR-LSTM-P in PyTorch (loops.py)
              eager     as it is
              script    the same under torch.jit.script
              low rank  eager with our algebra, α(S·R) instead of (αS)R; shown, not compared with:
                        it is not what a user of PyTorch would have

With `--processor-time` every side has one thread, and what counts is the processor time of its
process: for machines that others use, too. It says nothing of how sides share work among threads.

Weights and data are those of `srnn bench --export`. Before anything is timed, loss and every
gradient of ours and of each loop are compared with our reference in float64.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
import warnings

import torch

from exported import Exported
from loops import Loop, Plain, Scan

PROCESSOR_TIME = "--processor-time" in sys.argv
THREADS = 1 if PROCESSOR_TIME else 2
clock = time.process_time if PROCESSOR_TIME else time.perf_counter
WARM_UPS = 3
RUNS = 21
# A side whose run takes longer than this many seconds is run only this often.
SLOW = 1.5
FEW_RUNS = 5
# Between two sides, so that one side's threads have stopped spinning when the other begins.
PAUSE = 0.02
# Then a side runs unmeasured for so many seconds before its measured run: training makes one step
# after the other, so caches hold its own data and not the other side's.
LEAD = 0.05
warnings.filterwarnings("ignore", category=DeprecationWarning)
warnings.filterwarnings("ignore", category=FutureWarning)

SETTINGS = ("bp", "mnist")
# Our side, so that both compute with as many threads.
OURS = ("bench", "--quiet", "--device", "cpu", "--threads", str(THREADS))


# The direct form of `loops.Scan`, in the words of torch.jit.script.
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


# ------------------------------------------------------------------ our side


class Ours:
    """`srnn bench --on-request`: it has checked itself before it is ready."""

    def __init__(self, program, name):
        pipe = subprocess.PIPE
        command = [program, *OURS, "--setting", name, "--on-request"]
        self.process = subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True)
        self.answer()

    def answer(self):
        answer = self.process.stdout.readline()
        if not answer:
            sys.exit("our side stopped: see its message above")
        return json.loads(answer)

    def processor_seconds(self):
        # The clock that Linux gives to every process, by its number.
        return time.clock_gettime((~self.process.pid << 3) | 2)

    def seconds(self):
        begin = self.processor_seconds()
        print("gradients", file=self.process.stdin, flush=True)
        seconds = self.answer()["seconds"]
        return self.processor_seconds() - begin if PROCESSOR_TIME else seconds

    def close(self):
        self.process.stdin.close()
        self.process.wait()


# ------------------------------------------------------------------ check, then time


def check(e, loops):
    batch = tuple(map(torch.from_numpy, e.check))
    for name, loop in loops.items():
        loss = loop.backward(*batch).item()
        off, error, tensor = e.demand(name, loss, loop.gradients())
        print(f"  {name:9} loss {off:.1e} off, gradients at most {error:.1e} ({tensor})")


def timed(work):
    begin = clock()
    work()
    return clock() - begin


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


def report(e, times):
    tokens, floor = e["B"] * e["T"], e["floor_us_a_token_two_cores"] * 2 / THREADS
    median = {side: statistics.median(t) for side, t in times.items()}
    for side, t in times.items():
        low, _, high = statistics.quantiles(t, n=4, method="inclusive")
        per = median[side] / tokens * 1e6
        print(
            f"  {side:9} {median[side] * 1e3:9.2f} ms   quartiles {low * 1e3:.2f}–{high * 1e3:.2f}"
            f"   {per:8.3f} µs/token   {per / floor:7.1f}× the floor   {len(t)} runs"
        )
    best = min(("eager", "script"), key=median.get)
    ours, low_rank = median["ours"], median["low rank"]
    print(f"  the better loop is {best}; the floor is {floor} µs/token on {THREADS} core{'s' * (THREADS > 1)}")
    print(f"  our algebra in PyTorch (low rank) takes {low_rank / ours:.1f} times as long as ours")
    return median[best] / median["ours"], median["nn.LSTM"] / median["ours"]


def setting(name, program):
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([program, *OURS, "--setting", name, "--export", folder], check=True, stdout=subprocess.DEVNULL)
        e = Exported(f"{folder}/{name}")
    print(f"{name}: SR-LSTM-P, B,T,IN,D,K = {e.shape()}, {THREADS} thread{'s' * (THREADS > 1)}, torch {torch.__version__}")
    script = torch.jit.CompilationUnit(SCRIPT).scan
    scans = {"eager": Scan(), "script": script, "low rank": Scan(low_rank=True)}
    loops = {side: Loop(scan, e.weights) for side, scan in scans.items()}
    check(e, loops)
    ours = Ours(program, name)
    data = [tuple(map(torch.from_numpy, batch)) for batch in e.batches]
    sides = {"ours": lambda i: ours.seconds()}
    for side, peer in {"nn.LSTM": Plain("LSTM", e), **loops}.items():
        sides[side] = lambda i, peer=peer: timed(lambda: peer.backward(*data[i % len(data)]))
    ratios = report(e, measure(sides))
    ours.close()
    return ratios


if __name__ == "__main__":
    program, *names = [word for word in sys.argv[1:] if word != "--processor-time"]
    torch.set_num_threads(THREADS)
    if os.getloadavg()[0] > 1.0 and not PROCESSOR_TIME:
        print(f"warning: the machine is busy (load {os.getloadavg()[0]:.1f}): run this on an idle one")
    unknown = [name for name in names if name not in SETTINGS]
    if unknown:
        sys.exit(f"no setting {unknown[0]}: choose from {', '.join(SETTINGS)}")
    ratios = {name: setting(name, program) for name in names or SETTINGS}
    for name, (loop, plain) in ratios.items():
        print(f"setting={name} sr_loop={loop:.1f} nn_lstm={plain:.1f}")
