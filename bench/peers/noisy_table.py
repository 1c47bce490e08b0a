"""The table of the noisy record: python3 bench/peers/noisy_table.py noisy.csv peers.csv"""

import csv
import sys
from collections import defaultdict


def rows(path):
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


def cell(answers):
    # Rows without an answer were not tried: the control only where srnn corrected labels.
    answers = [answer for answer in answers if answer]
    return f"{sum(answer == 'yes' for answer in answers)}/{len(answers)}"


def main(ours, peers):
    columns = {
        "srnn: automaton believed": (rows(ours), "believed_equal", {}),
        "srnn: automaton of the network kept": (rows(ours), "network_equal", {}),
        "AALpy RPNI": (rows(peers), "equal", {"algorithm": "rpni"}),
        "AALpy EDSM": (rows(peers), "equal", {"algorithm": "edsm"}),
        "control: the same search from random automata": (rows(ours), "control_equal", {}),
    }
    for noise in ["0.05", "0.1"]:
        print(f"\n| {float(noise):.0%} flipped | T1 | T2 | T3 | T4 | T5 | T6 | T7 | all |")
        print("|---" * 9 + "|")
        for name, (table, column, only) in columns.items():
            found = defaultdict(list)
            for row in table:
                if row["noise"] == noise and all(row[k] == v for k, v in only.items()):
                    found[row["grammar"]].append(row[column])
            cells = [cell(found[str(g)]) for g in range(1, 8)]
            print(f"| {name} | {' | '.join(cells)} | {cell(sum(found.values(), []))} |")


main(*sys.argv[1:])
