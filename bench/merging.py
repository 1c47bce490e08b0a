"""RPNI and EDSM of AALpy on the sets of `merging sets`, started by `bench/merging`.

`python3 bench/merging.py run FOLDER peers.csv LIMIT` adds one CSV row per set and algorithm that the
file lacks. A run that takes more than LIMIT seconds counts as a timeout: neither exact nor accurate.
A transition that AALpy leaves out may lead to a rejecting sink or back to its state; the better
choice counts. Words with wrong labels are distinct, so AALpy can fit all of them.
`python3 bench/merging.py table ours.csv peers.csv` prints the table of the record.
"""

import csv
import json
import multiprocessing
import pathlib
import statistics
import sys
import time
import warnings

HEADER = "row,set,method,true_states,states,exact,accuracy,seconds,detail".split(",")
METHODS = ("rpni", "edsm")


def learn(method, words):
    from aalpy.learning_algs import run_EDSM, run_RPNI

    warnings.filterwarnings("ignore")
    algorithm = {"rpni": run_RPNI, "edsm": run_EDSM}[method]
    return algorithm(words, "dfa", print_info=False)


def table_of(model, symbols, missing):
    """Outputs and transitions; `missing` is "sink" or "loop"."""
    number = {state: i for i, state in enumerate(model.states)}
    sink = len(model.states)
    rows = []
    for state in model.states:
        default = sink if missing == "sink" else number[state]
        next_of = state.transitions.get
        rows.append([number.get(next_of(a), default) for a in range(symbols)])
    rows.append([sink] * symbols)
    outputs = [int(bool(state.is_accepting)) for state in model.states] + [0]
    return number[model.initial_state], outputs, rows


def is_exact(start, outputs, rows, truth):
    symbols = truth["symbols"]
    seen, queue = {(start, 0)}, [(start, 0)]
    for state, true in queue:
        if outputs[state] != truth["outputs"][true]:
            return 0
        for symbol in range(symbols):
            pair = (rows[state][symbol], truth["table"][true * symbols + symbol])
            if pair not in seen:
                seen.add(pair)
                queue.append(pair)
    return 1


def accuracy(start, outputs, rows, words):
    right = 0
    for label, word in words:
        state = start
        for symbol in word:
            state = rows[state][symbol]
        right += outputs[state] == label
    return right / len(words)


def measure(method, path, pipe):
    truth = json.loads(pathlib.Path(path).read_text())
    words = [(tuple(word), bool(label)) for label, word in truth["train"]]
    start = time.perf_counter()
    model = learn(method, words)
    seconds = time.perf_counter() - start
    best = (0, 0.0)
    for missing in ("sink", "loop"):
        automaton = table_of(model, truth["symbols"], missing)
        found = (is_exact(*automaton, truth), accuracy(*automaton, truth["test"]))
        best = max(best, found)
    pipe.send((len(model.states), *best, seconds))


def run(folder, table, limit):
    done = set()
    path = pathlib.Path(table)
    if path.exists():
        done = {(row["set"], row["method"]) for row in csv.DictReader(path.open())}
    with path.open("a", newline="") as file:
        out = csv.writer(file, lineterminator="\n")
        if not done:
            out.writerow(HEADER)
        for source in sorted(pathlib.Path(folder).glob("*.json")):
            truth = json.loads(source.read_text())
            for method in METHODS:
                if (truth["name"], method) not in done:
                    found = limited(method, source, limit)
                    states, exact, share, seconds, detail = found
                    out.writerow([truth["row"], truth["name"], method, len(truth["outputs"]),
                                  states, exact, f"{share:.4f}", f"{seconds:.4f}", detail])
                    file.flush()


def limited(method, source, limit):
    receiver, sender = multiprocessing.Pipe(duplex=False)
    process = multiprocessing.Process(target=measure, args=(method, str(source), sender))
    process.start()
    sender.close()
    try:
        if receiver.poll(limit):
            return (*receiver.recv(), "")
        return ("", 0, 0.0, limit, "timeout")
    except EOFError:
        return ("", 0, 0.0, 0.0, "no automaton")
    finally:
        process.kill()
        process.join()


def table(*files):
    rows = [row for name in files for row in csv.DictReader(open(name, newline=""))]
    names = list(dict.fromkeys(row["row"] for row in rows))
    methods = list(dict.fromkeys(row["method"] for row in rows))
    print("| sets | n | " + " | ".join(f"exact {m}" for m in methods) + " | "
          + " | ".join(f"accuracy {m}" for m in methods) + " | "
          + " | ".join(f"s {m}" for m in methods) + " | timeouts | EDSM / srnn |")
    print("|---" * (4 + 3 * len(methods)) + "|")
    for name in names:
        found = {m: {r["set"]: r for r in rows if r["row"] == name and r["method"] == m}
                 for m in methods}
        sets = set.intersection(*(set(of) for of in found.values()))
        if not sets:
            continue
        column = lambda m, key: [float(found[m][s][key]) for s in sorted(sets)]
        exact = [str(int(sum(column(m, "exact")))) for m in methods]
        shares = [f"{share(found[m], sets):.3f}" for m in methods]
        seconds = [f"{statistics.median(column(m, 'seconds')):.3f}" for m in methods]
        late = " / ".join(str(sum(found[m][s]["detail"] == "timeout" for s in sets))
                          for m in methods if m != "srnn")
        ratios = [float(found["edsm"][s]["seconds"]) / float(found["srnn"][s]["seconds"])
                  for s in sets]
        print(f"| {name} | {len(sets)} | " + " | ".join(exact + shares + seconds)
              + f" | {late} | {statistics.median(ratios):.0f} |")


def share(found, sets):
    """Mean accuracy of the runs that ended."""
    ended = [float(found[s]["accuracy"]) for s in sets if found[s]["states"]]
    return statistics.mean(ended) if ended else float("nan")


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["run", folder, out, limit]:
            run(folder, out, float(limit))
        case ["table", *files]:
            table(*files)
        case _:
            sys.exit(__doc__)
