"""Loads a model folder of srnn (docs/src/model-format.md): python load_model.py FOLDER TOKEN ..."""
import json, pathlib, sys, torch
from safetensors.torch import load_file


class Model:
    def __init__(self, folder):
        self.config = json.loads(pathlib.Path(folder, "config.json").read_text("utf-8"))
        self.arch, self.p = self.config["arch"], load_file(pathlib.Path(folder, "model.safetensors"))

    def ids(self, tokens):
        """The ids of tokens; that of the unknown token, if there is one, for all others."""
        ids = {name: id for id, name in enumerate(self.config["alphabet"])}
        return [ids.get(token, self.config["unknown"]) for token in tokens]

    def logits(self, row):
        """[C], or [T, C] for a read-out at every step. `row`: ids without start and end, or [T, E]."""
        given, p = self.arch["input"], self.p
        if given["kind"] == "tokens":
            start = [given["symbols"]] * given["start"]
            end = [given["symbols"] + given["start"]] * given["end"]
            row = p["embedding.weight"][torch.tensor(start + list(row) + end, dtype=torch.long)]
        row, end = torch.as_tensor(row), given.get("end", False)
        for l, layer in enumerate(self.arch["layers"]):
            d, steps = layer["units"], []
            h = c = torch.zeros(d)
            for t, x in enumerate(row):
                u, c = self.cell(layer, l, x, h, c)
                h = u
                if layer["centroids"] and not (end and t + 1 == len(row)):
                    s, about = p[f"centroids_l{l}"], layer["centroids"]
                    score = s @ u if about["score"] == "dot" else -(u - s).norm(dim=1)
                    h = torch.softmax(score / about["tau"], 0) @ s
                steps.append({"h": h, "u": u, "c": c})
            row = torch.stack([step["h"] for step in steps]) if steps else torch.zeros(0, d)
        names, nothing = self.arch["readout"]["from"], {name: torch.zeros(d) for name in "huc"}
        read = [torch.cat([step[name] for name in names]) for step in steps or [nothing]]
        read = read[-1] if self.arch["readout"]["when"] == "last" else torch.stack(read)[: len(steps)]
        return read @ p.get("head.weight", p.get("embedding.weight")).T + p["head.bias"]

    def cell(self, layer, l, x, h, c):
        gate = torch.sigmoid if layer["gate"] == "sigmoid" else lambda a: (0.2 * a + 0.5).clamp(0, 1)
        get = lambda name: self.p.get(f"{name}_l{l}", torch.zeros(1))
        w, r, d = get("rnn.weight_ih"), get("rnn.weight_hh"), layer["units"]
        a, b = (w @ x + get("rnn.bias_ih")).split(d), get("rnn.bias_hh").expand(len(w)).split(d)
        q = [m @ h + b for m, b in zip(r.split(d), b)]
        if layer["cell"]["kind"] == "lstm":
            p = self.p.get(f"peephole_l{l}", torch.zeros(3, d))
            i, f = gate(a[0] + q[0] + p[0] * c), gate(a[1] + q[1] + p[1] * c)
            c = f * c + i * torch.tanh(a[2] + q[2])
            return gate(a[3] + q[3] + p[2] * c) * torch.tanh(c), c
        reset, z = gate(a[0] + q[0]), gate(a[1] + q[1])
        after = layer["cell"]["reset"] == "after-matrix"
        n = reset * q[2] if after else r[2 * d :] @ (reset * h) + b[2]
        return (1 - z) * torch.tanh(a[2] + n) + z * h, c


if __name__ == "__main__":
    model = Model(sys.argv[1])
    print(dict(zip(model.config["classes"], model.logits(model.ids(sys.argv[2:])).tolist())))
