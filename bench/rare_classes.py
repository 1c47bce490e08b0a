"""Class weights on made-up sets with 5 % of a rare class: `python3 bench/rare_classes.py SRNN OUT`.

SRNN is the program, OUT the folder of sets and runs. In `pattern` the rare class has `ab` and after it
`cd`, and 1 % of the labels are wrong. In `overlap` the letters of the rare class have other frequencies,
so that no model is always right. 3,000 sequences each, two draws. Prints a JSON line per run: F1 of the
rare class on the test set, for every candidate, and which one is kept.
"""

import json
import random
import subprocess
import sys
from pathlib import Path

COUNT, RARE = 3_000, 150
WEIGHTS = ["none", "softened", "balanced"]


def contains(sequence):
    text = "".join(sequence)
    at = text.find("ab")
    return at >= 0 and "cd" in text[at + 2 :]


def pattern(draw):
    rows = []
    for index in range(COUNT):
        wanted = index < RARE
        while True:
            letters = [draw.choice("abcdef") for _ in range(draw.randrange(10, 25))]
            if wanted and draw.random() < 0.9:
                at = draw.randrange(0, 4)
                letters[at : at + 2] = "ab"
                at = draw.randrange(5, len(letters) - 1)
                letters[at : at + 2] = "cd"
            if contains(letters) == wanted:
                break
        label = wanted if draw.random() > 0.01 else not wanted
        rows.append(("rare" if label else "common", letters))
    return rows


def overlap(draw):
    rows = []
    for index in range(COUNT):
        rare = index < RARE
        weights = [3, 3, 1, 1, 1, 1] if rare else [1, 1, 1.5, 1.5, 1.5, 1.5]
        letters = draw.choices("abcdef", weights=weights, k=draw.randrange(8, 16))
        rows.append(("rare" if rare else "common", letters))
    return rows


def main():
    program, out = sys.argv[1], Path(sys.argv[2])
    out.mkdir(parents=True, exist_ok=True)
    for seed in (1, 2):
        for name, make in [("pattern", pattern), ("overlap", overlap)]:
            draw = random.Random(seed)
            rows = make(draw)
            draw.shuffle(rows)
            file = out / f"{name}-{seed}.csv"
            lines = ["label,sequence"] + [f"{label},{' '.join(s)}" for label, s in rows]
            file.write_text("\n".join(lines) + "\n")
            for weights in WEIGHTS:
                run = str(out / f"{name}-{seed}-{weights}")
                options = ["--split", "0.6/0.2/0.2", "--budget", "40s", "--seeds", "2"]
                options += [f"--class-weights={weights}", "--out", run, "--force"]
                command = [program, "learn", str(file), *options, "--json", "--quiet"]
                result = json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout)
                scores = {c["kind"]: c["test"] for c in result["candidates"]}
                kept = result["comparison"]["kept"]
                print(json.dumps({"set": f"{name}-{seed}", "weights": weights, "kept": kept, "test_f1": scores}), flush=True)


main()
