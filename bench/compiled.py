"""Random automata through `srnn compile` and `srnn check`: proofs, times, and random words.

`python3 bench/compiled.py run SRNN FOLDER SECONDS SEED` draws random automata with 2-200 states
(log-uniform), 1-10 symbols and 2-5 classes until SECONDS have passed. It compiles and checks each
one and gives the network WORDS random words, whose classes must be those of the automaton. One row
per automaton goes to FOLDER/automata.csv. Times are processor time and wall time in seconds.
`python3 bench/compiled.py one SRNN FOLDER STATES SYMBOLS CLASSES SEED` adds one automaton.
`python3 bench/compiled.py table FOLDER/automata.csv` prints the table of the record.
"""

import csv
import json
import os
import pathlib
import random
import statistics
import subprocess
import sys
import time

HEADER = (
    "seed,states,symbols,classes,units,compile_cpu,compile_wall,check_cpu,check_wall,"
    "arithmetic,margin,certificate_bytes,words,steps,contradictions"
).split(",")
WORDS = 200
LONGEST = 200
BUCKETS = ((1, 50), (51, 100), (101, 200), (201, 500), (501, 1000), (1001, 2002))


def random_automaton(states, symbols, classes, generator):
    """A random automaton whose states are all reachable: a random tree, the rest uniform."""
    table = [[generator.randrange(states) for _ in range(symbols)] for _ in range(states)]
    free = [(0, symbol) for symbol in range(symbols)]
    for state in range(1, states):
        source, symbol = free.pop(generator.randrange(len(free)))
        table[source][symbol] = state
        free += [(state, symbol) for symbol in range(symbols)]
    outputs = [state if state < classes else generator.randrange(classes) for state in range(states)]
    return outputs, table


def to_json(outputs, table, classes):
    rows = [{"output": f"c{o}", "next": row} for o, row in zip(outputs, table)]
    return json.dumps({
        "format": "srnn-automaton", "version": 1,
        "alphabet": [f"s{i}" for i in range(len(table[0]))],
        "classes": [f"c{i}" for i in range(classes)], "start": 0, "states": rows,
    })


def timed(command, text=None):
    """The output, and processor and wall time."""
    before, begin = os.times(), time.monotonic()
    done = subprocess.run(command, input=text, capture_output=True, text=True)
    after, end = os.times(), time.monotonic()
    if done.returncode not in (0, 1):
        raise SystemExit(f"{command}: exit {done.returncode}\n{done.stderr}")
    cpu = after.children_user + after.children_system - before.children_user - before.children_system
    return done, cpu, end - begin


def measure(srnn, folder, states, symbols, classes, seed):
    generator = random.Random(seed)
    classes = min(classes, states)
    outputs, table = random_automaton(states, symbols, classes, generator)
    file, model = folder / "automaton.json", folder / "model"
    file.write_text(to_json(outputs, table, classes))
    compiled, compile_cpu, compile_wall = timed(
        [srnn, "compile", file, "--out", model, "--force", "--json"])
    report = json.loads(compiled.stdout)
    checked, check_cpu, check_wall = timed([srnn, "check", model, "--json"])
    verdict = json.loads(checked.stdout)
    words, truth = [], []
    for _ in range(WORDS):
        word = [generator.randrange(symbols) for _ in range(generator.randrange(LONGEST) + 1)]
        state = 0
        for symbol in word:
            state = table[state][symbol]
        words.append(word)
        truth.append(f"c{outputs[state]}")
    lines = "".join(" ".join(f"s{symbol}" for symbol in word) + "\n" for word in words)
    predicted, _, _ = timed([srnn, "predict", model, "--json"], lines)
    labels = [p["label"] for p in json.loads(predicted.stdout)["predictions"]]
    assert len(labels) == WORDS
    return {
        "seed": seed, "states": report["states"], "symbols": symbols, "classes": classes,
        "units": report["units"],
        "compile_cpu": round(compile_cpu, 3), "compile_wall": round(compile_wall, 3),
        "check_cpu": round(check_cpu, 3), "check_wall": round(check_wall, 3),
        "arithmetic": verdict.get("arithmetic", "none"),
        "margin": verdict.get("smallest_margin", verdict.get("margin")),
        "certificate_bytes": (model / "certificate.json").stat().st_size,
        "words": WORDS, "steps": sum(map(len, words)),
        "contradictions": sum(a != b for a, b in zip(labels, truth)),
    }


def append(folder, row):
    path = folder / "automata.csv"
    is_new = not path.exists()
    with path.open("a", newline="") as file:
        writer = csv.DictWriter(file, HEADER)
        if is_new:
            writer.writeheader()
        writer.writerow(row)


def run(srnn, folder, seconds, seed):
    generator, begin = random.Random(seed), time.monotonic()
    while time.monotonic() - begin < seconds:
        states = round(2 * 100 ** generator.random())
        symbols, classes = generator.randint(1, 10), generator.randint(2, 5)
        append(folder, measure(srnn, folder, states, symbols, classes, generator.randrange(1 << 30)))


def print_table(path):
    with open(path, newline="") as file:
        rows = list(csv.DictReader(file))
    print("| units | automata | certified f32 | compile: median, largest (s) | check: median, largest (s) "
          "| largest certificate (kB) | words | contradictions |")
    print("|" + "---|" * 8)
    for low, high in BUCKETS:
        part = [row for row in rows if low <= int(row["units"]) <= high]
        if not part:
            continue
        column = lambda name: [float(row[name]) for row in part]
        times = [f"{statistics.median(column(f'{verb}_cpu')):.2f}, {max(column(f'{verb}_cpu')):.2f}"
                 for verb in ("compile", "check")]
        certified = sum(row["arithmetic"] == "f32" for row in part)
        print(f"| {low}–{high} | {len(part)} | {certified} | {times[0]} | {times[1]} "
              f"| {max(column('certificate_bytes')) / 1000:.0f} | {sum(column('words')):,.0f} "
              f"| {sum(column('contradictions')):.0f} |")


def main():
    verb, *rest = sys.argv[1:]
    if verb == "table":
        return print_table(rest[0])
    srnn, folder = rest[0], pathlib.Path(rest[1])
    folder.mkdir(parents=True, exist_ok=True)
    numbers = [int(x) for x in rest[2:]]
    if verb == "one":
        return append(folder, measure(srnn, folder, *numbers))
    return run(srnn, folder, *numbers)


main()
