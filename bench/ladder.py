"""Runs `learn` with its defaults on the sets of `bench/ladder_sets.py` and prints a table:
`python3 bench/ladder.py SRNN SETS OUT [NAME …]`.

SRNN is the program, SETS the folder of CSV files, OUT the folder of the runs. The table has, for the
kept candidate and for the one with the highest score, this score (of the validation set, or of folds
if there are few rows) and that on the test set, and the difference on the test set in standard errors.
"""

import json
import subprocess
import sys
import time
from pathlib import Path


def learn(program, file, run):
    command = [program, "learn", file, "--split", "0.6/0.2/0.2", "--out", run, "--force"]
    started = time.monotonic()
    with open(f"{run}.txt", "w") as text, open(f"{run}.err", "w") as progress:
        code = subprocess.run(command, stdout=text, stderr=progress, check=False).returncode
    return code, time.monotonic() - started


def percent(value):
    return "–" if value is None else f"{100 * value:.1f}"


def row(name, run, seconds):
    result = json.loads((run / "result.json").read_text())
    candidates = [c for c in result["candidates"] if c["score"] is not None]
    kept = next(c for c in candidates if c["kept"])
    best = max(candidates, key=lambda c: (c["score"], c["kept"]))
    lead = (best["test"] - kept["test"]) / max(best["test_error"], 1e-9)
    states = kept["states"] or "–"
    proved = "yes" if kept["proved"] else "–"
    return (
        f"| {name} | {kept['name']} | {percent(kept['score'])} | {percent(kept['test'])} | "
        f"{states} | {proved} | {best['name']} | {percent(best['score'])} | "
        f"{percent(best['test'])} | {lead:+.1f} | {seconds:.0f} |"
    )


def main():
    program, sets, out, *names = sys.argv[1:]
    out = Path(out)
    out.mkdir(parents=True, exist_ok=True)
    files = [Path(sets) / f"{name}.csv" for name in names] or sorted(Path(sets).glob("*.csv"))
    print(
        "| set | kept | held out % | test % | states | proved | best | held out % | "
        "test % | test: best − kept, in standard errors | seconds |"
    )
    print("|---|---|---|---|---|---|---|---|---|---|---|")
    for file in files:
        code, seconds = learn(program, str(file), str(out / file.stem))
        if code == 0:
            print(row(file.stem, out / file.stem, seconds), flush=True)
        else:
            print(f"| {file.stem} | exit code {code} | | | | | | | | | {seconds:.0f} |", flush=True)


main()
