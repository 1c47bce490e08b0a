"""The table of a run: `python table.py FOLDER`, where `run` has written measured.jsonl and ours-*.json."""

import json
import pathlib
import sys

folder = pathlib.Path(sys.argv[1])
lines = [json.loads(line) for line in (folder / "measured.jsonl").read_text().splitlines()]
shapes, found = {}, {}
for line in lines:
    shapes[line["setting"]] = line["shape"]
    text = f"{line['ms']:.3f}" if "ms" in line else line["error"].split(":")[0]
    few = f" ({line['runs']} runs)" if line.get("runs", 20) < 20 else ""
    found.setdefault(line["what"], {})[line["setting"]] = text + few

ours = {}
for file in sorted(folder.glob("ours-*.json")):
    for line in json.loads(file.read_text()).get("measured", []):
        ours.setdefault(line["setting"], []).append(line["milliseconds"])
best = {name: sorted(times)[len(times) // 2] for name, times in ours.items()}

rows = [["ms, forward and backward", *(f"{name} {shape}" for name, shape in shapes.items())]]
rows.append(["ours, with update", *(" ".join(f"{t:.3f}" for t in ours.get(n, [])) or "–" for n in shapes)])
for what, times in found.items():
    cells = []
    for name in shapes:
        text = times.get(name, "out of time")
        number = text.split()[0].replace(".", "", 1).isdigit()
        ratio = f" {float(text.split()[0]) / best[name]:.1f}×" if number and name in best else ""
        cells.append(text + ratio)
    rows.append([what, *cells])

print("| " + " | ".join(rows[0]) + " |")
print("|" + "---|" * len(rows[0]))
for row in rows[1:]:
    print("| " + " | ".join(row) + " |")
print("× is the peer's time over ours. Peers' fp32 may use TF32; the update is ours alone.")
wrong = [line for line in lines if "error" in line and line["error"] != "out of time"]
for line in wrong:
    print(f"{line['setting']}, {line['what']}: {line['error']}")
