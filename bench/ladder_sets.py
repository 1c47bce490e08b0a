"""Writes the sets of `records/ladder` as CSV files: `python3 bench/ladder_sets.py DATA OUT`.

DATA holds dna/, sepsis/, hdfs/, json-test-suite/ and imdb/ (docs/src/researchers.md names the
sources). Sets whose files are missing are skipped with a message. Two sets are made up: `counter`
(equal numbers of two letters) and `copy` (is the last letter the first one, 30 letters apart), and
`traces` imitates system calls: 300 to 2,000 calls of 40 kinds, an attack repeats a rare pattern.
"""

import csv
import gzip
import random
import sys
import tarfile
from pathlib import Path


def dna(data, name):
    rows = [line.split("\t") for line in (data / f"dna/{name}.tsv").read_text().splitlines()]
    return [(row[0], " ".join(row[2].strip())) for row in rows]


def sepsis(data):
    """Does the patient return? The sequence is what happened before."""
    with gzip.open(data / "sepsis/sepsis.csv.gz", "rt") as file:
        cases = {}
        for row in csv.DictReader(file, delimiter=";"):
            cases.setdefault(row["Case ID"], []).append(row["Activity"].replace(" ", "_"))
    rows = []
    for events in cases.values():
        returns = "Return_ER" in events
        before = events[: events.index("Return_ER")] if returns else events
        rows.append(("returns" if returns else "stays_away", " ".join(before)))
    return rows


def hdfs(data):
    rows = []
    for name, label in [("loghub_normal_sample", "normal"), ("loghub_abnormal", "abnormal")]:
        with gzip.open(data / f"hdfs/{name}.tsv.gz", "rt") as file:
            events = [line.rstrip("\n").split("\t")[1].split() for line in file]
        rows += [(label, " ".join("E" + event for event in line)) for line in events]
    return rows


def json_texts(data):
    rows = []
    with tarfile.open(data / "json-test-suite/json_test_parsing.tar.gz") as archive:
        for member in archive.getmembers():
            name = member.name.rsplit("/", 1)[-1]
            if member.isfile() and name[:2] in ("y_", "n_"):
                text = archive.extractfile(member).read().decode("latin-1")
                label = "valid" if name[0] == "y" else "invalid"
                rows.append((label, " ".join(f"x{ord(c):02x}" for c in text[:2_000])))
    return rows


def imdb(data):
    rows = []
    with gzip.open(data / "imdb/train.tsv.gz", "rt") as file:
        for line in file:
            label, _, _, text = line.rstrip("\n").split("\t", 3)
            words = "".join(c if c.isalnum() else " " for c in text.lower()).split()
            rows.append(("good" if label == "1" else "bad", " ".join(words[:50])))
    random.Random(1).shuffle(rows)
    return rows[:6_000]


def counter():
    draw, rows = random.Random(2), []
    for _ in range(3_000):
        half = draw.randrange(1, 15)
        letters = list("a" * half + "b" * half)
        draw.shuffle(letters)
        if draw.random() < 0.5:
            # Any number of letters: with one, the difference modulo 3 would decide.
            for _ in range(draw.randrange(1, half + 1)):
                letters[draw.randrange(len(letters))] = draw.choice("ab")
        equal = letters.count("a") == letters.count("b")
        rows.append(("equal" if equal else "unequal", " ".join(letters)))
    return rows


def copy():
    draw, rows = random.Random(3), []
    for _ in range(3_000):
        letters = [draw.choice("abcd") for _ in range(30)]
        letters.append(letters[0] if draw.random() < 0.5 else draw.choice("abcd"))
        same = letters[-1] == letters[0]
        rows.append(("same" if same else "other", " ".join(letters)))
    return rows


def traces():
    draw, rows = random.Random(4), []
    for _ in range(1_200):
        calls, call = [], 0
        for _ in range(draw.randrange(300, 2_000)):
            call = (call * 7 + draw.choice([1, 1, 1, 2, 3, 5])) % 40
            calls.append(call)
        attack = draw.random() < 0.25
        for _ in range(draw.randrange(2, 6) if attack else 0):
            at = draw.randrange(len(calls) - 4)
            calls[at : at + 4] = [39, 3, 39, 11]
        rows.append(("attack" if attack else "normal", " ".join(f"c{call}" for call in calls)))
    return rows


def main():
    data, out = Path(sys.argv[1]), Path(sys.argv[2])
    out.mkdir(parents=True, exist_ok=True)
    sets = {
        "splice": lambda: dna(data, "splice"),
        "promoters": lambda: dna(data, "promoters"),
        "sepsis": lambda: sepsis(data),
        "hdfs": lambda: hdfs(data),
        "traces": traces,
        "json": lambda: json_texts(data),
        "imdb50": lambda: imdb(data),
        "counter": counter,
        "copy": copy,
    }
    for name, make in sets.items():
        try:
            rows = make()
        except FileNotFoundError as error:
            print(f"{name}: skipped: {error}", file=sys.stderr)
            continue
        with open(out / f"{name}.csv", "w", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(["label", "sequence"])
            writer.writerows(rows)
        lengths = [len(sequence.split()) for _, sequence in rows]
        print(f"{name}: {len(rows)} rows, lengths {min(lengths)} to {max(lengths)}")


main()
