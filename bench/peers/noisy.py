"""RPNI and EDSM of AALpy on noisy labels, started by `bench/peers/noisy`: a folder of data, and a
CSV file that it goes on with: rows that are there are not made again.

Both look for an automaton that fits every label, so a word with both labels would leave nothing to
find: repeated words get the label that most of their copies have (ties: accept), which only helps.
A transition that was not found leads to a rejecting sink. `equal` says whether the language is the
true one, judged exactly on the product of the two automata.
Accuracy is by the true labels on all words of at most 12 symbols.
"""

import csv
import itertools
import pathlib
import sys
import time
import warnings
from collections import Counter

from aalpy.learning_algs import run_EDSM, run_RPNI
from aalpy.utils import load_automaton_from_file

# AALpy reads the digits of a DOT file as numbers.
ALPHABET = (0, 1)
LONGEST = 12
# Prefixes without a label, which reject.
warnings.filterwarnings("ignore", message="Automaton has unknown outputs")


def labelled(path):
    votes = {}
    with open(path, newline="") as file:
        for row in csv.DictReader(file):
            votes.setdefault(tuple(map(int, row["sequence"])), Counter())[row["label"] == "accept"] += 1
    return [(word, count[True] >= count[False]) for word, count in votes.items()]


def step(state, symbol):
    """None is the rejecting sink."""
    return state and state.transitions.get(symbol)


def accepts(state):
    return bool(state and state.is_accepting)


def difference(a, b):
    """The shortest word on which two automata differ, or None."""
    start = (a.initial_state, b.initial_state)
    seen, queue = {start}, [(start, "")]
    for (p, q), word in queue:
        if accepts(p) != accepts(q):
            return word or "ε"
        for symbol in ALPHABET:
            pair = (step(p, symbol), step(q, symbol))
            if pair not in seen:
                seen.add(pair)
                queue.append((pair, f"{word}{symbol}"))
    return None


def accuracy(model, truth):
    right = total = 0
    for length in range(LONGEST + 1):
        for word in itertools.product(ALPHABET, repeat=length):
            p, q = model.initial_state, truth.initial_state
            for symbol in word:
                p, q = step(p, symbol), step(q, symbol)
            right += accepts(p) == accepts(q)
            total += 1
    return right / total


HEADER = "grammar noise data_seed algorithm states equal shortest_difference accuracy seconds"
ALGORITHMS = {
    "rpni": lambda data: run_RPNI(data, "dfa", print_info=False),
    "edsm": lambda data: run_EDSM(data, "dfa", print_info=False),
}


def row(path, truth, run):
    data = labelled(path)
    begin = time.perf_counter()
    model = run(data)
    seconds = time.perf_counter() - begin
    word = difference(model, truth)
    equal = "no" if word else "yes"
    return [model.size, equal, word or "", f"{accuracy(model, truth):.4f}", f"{seconds:.2f}"]


def main(folder, record):
    folder, record = pathlib.Path(folder), pathlib.Path(record)
    done = record.read_text().splitlines() if record.exists() else []
    # RPNI takes a second or two, EDSM a minute: so all of the first come first.
    sets = sorted((path.stem.split("-")[::-1], path) for path in folder.glob("*.csv"))
    with open(record, "a", newline="") as file:
        out = csv.writer(file, lineterminator="\n")
        if not done:
            out.writerow(HEADER.split())
        for name, run in ALGORITHMS.items():
            for (seed, noise, grammar), path in sets:
                case = [grammar, noise, seed, name]
                if any(line.startswith(",".join(case) + ",") for line in done):
                    continue
                truth = load_automaton_from_file(str(folder / f"truth-{grammar}.dot"), "dfa")
                out.writerow(case + row(path, truth, run))
                file.flush()


main(*sys.argv[1:])
