"""The record `records/next`: `python3 bench/next_hdfs.py DATA OUT --srnn PROGRAM`.

DATA holds hdfs/ (docs/src/researchers.md names the source). The 5,583 normal blocks of the sample are
shuffled and split 60/20/20. Models are trained on the first part only; thresholds come from the
second; the third and all 16,838 abnormal blocks are the test. Files, run folder and `results.json`
are written to OUT, the table to stdout.

A block is anomalous by rank if some event is not among the top g (DeepLog's protocol). `rank, no end`
does not predict the end of a block, as DeepLog; its g is chosen here, by the same rule: the least g
that flags at most the fraction --flagged of the validation blocks.
"""

import argparse
import gzip
import json
import random
import subprocess
from pathlib import Path

# Normal blocks of the whole log, of which the sample has 1 in 100.
ALL_NORMAL = 558_223


def blocks(path):
    with gzip.open(path, "rt") as file:
        return [" ".join("E" + e for e in line.split("\t")[1].split()) for line in file]


def write_files(data, out, seed):
    normal = blocks(data / "hdfs/loghub_normal_sample.tsv.gz")
    random.Random(seed).shuffle(normal)
    train, valid = round(0.6 * len(normal)), round(0.8 * len(normal))
    sets = {
        "train": normal[:train],
        "valid": normal[train:valid],
        "normal": normal[valid:],
        "abnormal": blocks(data / "hdfs/loghub_abnormal.tsv.gz"),
    }
    for name, lines in sets.items():
        (out / f"{name}.txt").write_text("".join(line + "\n" for line in lines))


def run(*command):
    found = subprocess.run(command, stdout=subprocess.PIPE, check=True)
    return json.loads(found.stdout)


def worst_without_end(prediction):
    return max((step["rank"] for step in prediction["steps"][:-1]), default=0)


def least_g(predictions, flagged):
    worst = sorted(map(worst_without_end, predictions), reverse=True)
    return worst[int(flagged * len(worst))]


def scores(normal, abnormal, found_normal, found_abnormal):
    precision = found_abnormal / max(1, found_abnormal + found_normal)
    recall = found_abnormal / abnormal
    rate = found_normal / normal
    scaled = found_abnormal / max(1, found_abnormal + rate * ALL_NORMAL)

    def f1(p):
        return 2 * p * recall / max(1e-9, p + recall)

    return {
        "normal": normal,
        "false_alarms": found_normal,
        "abnormal": abnormal,
        "found": found_abnormal,
        "precision": precision,
        "recall": recall,
        "f1": f1(precision),
        "false_alarm_rate": rate,
        "precision_whole_log": scaled,
        "f1_whole_log": f1(scaled),
    }


def criteria(srnn, folder, out, flagged):
    sets = {
        name: run(srnn, "predict", folder, "--file", out / f"{name}.txt", "--json", "--quiet")
        for name in ("valid", "normal", "abnormal")
    }
    predictions = {name: found["predictions"] for name, found in sets.items()}
    thresholds = sets["valid"]["thresholds"]
    g = least_g(predictions["valid"], flagged)
    flags = {
        f"rank, top {thresholds['top_g']}": lambda p: p["flags"]["top_g"],
        f"rank, no end, top {g}": lambda p: worst_without_end(p) > g,
        f"largest surprise, {thresholds['max_bits']:.2f} bits": lambda p: p["flags"]["max"],
        f"mean surprise, {thresholds['mean_bits']:.3f} bits": lambda p: p["flags"]["mean"],
    }
    found = {}
    for name, flag in flags.items():
        count = {key: sum(map(flag, predictions[key])) for key in predictions}
        sizes = [len(predictions[key]) for key in ("normal", "abnormal")]
        found[name] = scores(*sizes, count["normal"], count["abnormal"])
        found[name]["flagged_valid"] = count["valid"]
    return found


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("data", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--srnn", default="srnn")
    parser.add_argument("--flagged", type=float, default=0.01)
    parser.add_argument("--seed", type=int, default=1, help="of the split")
    parser.add_argument("--budget", default="5min")
    arguments = parser.parse_args()
    out, srnn = arguments.out, arguments.srnn
    out.mkdir(parents=True, exist_ok=True)
    write_files(arguments.data, out, arguments.seed)
    run_folder = out / "run"
    if not (run_folder / "result.json").exists():
        options = ["--valid", out / "valid.txt", "--test", out / "normal.txt", "--json"]
        options += ["--flagged", str(arguments.flagged), "--budget", arguments.budget]
        run(srnn, "learn", "--next", out / "train.txt", "--out", run_folder, *options)
    result = json.loads((run_folder / "result.json").read_text())
    rows = {}
    for candidate in result["candidates"]:
        kind = candidate["kind"]
        kept = run_folder / "model" if candidate["kept"] else run_folder / "candidates" / kind
        if candidate["valid"]:
            rows[kind] = criteria(srnn, kept, out, arguments.flagged)
    (out / "results.json").write_text(json.dumps(rows, indent=1) + "\n")
    print("model | criterion | false alarms | found | precision | recall | F1 | F1, whole log")
    for kind, found in rows.items():
        for name, s in found.items():
            print(
                f"{kind} | {name} | {s['false_alarms']} of {s['normal']} "
                f"| {s['found']} of {s['abnormal']} | {s['precision']:.4f} | {s['recall']:.4f} "
                f"| {s['f1']:.4f} | {s['f1_whole_log']:.4f}"
            )


if __name__ == "__main__":
    main()
