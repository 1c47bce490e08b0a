"""Reads what `srnn bench --export` writes: weights, data, and what to expect of them."""

import json
import pathlib

import numpy as np
from safetensors.numpy import load_file


class Exported:
    """One setting: sizes by their letters, weights by PyTorch's names, batches of (input, targets)."""

    def __init__(self, folder):
        folder = pathlib.Path(folder)
        self.about = json.loads((folder / "setting.json").read_text())
        if self.about["cell"] != "sr-lstm-p":
            raise SystemExit(f"{folder}: peers know the cell sr-lstm-p, not {self.about['cell']}")
        self.name = self.about["name"]
        self.weights = load_file(folder / "model" / "model.safetensors")
        self.want = load_file(folder / "gradients.safetensors")
        check = load_file(folder / "check.safetensors")
        self.check = (check["input"], check["targets"])
        rows = load_file(folder / "batches.safetensors")
        count = len(self.about["batch_losses"])
        self.batches = [(rows[f"{i}.input"], rows[f"{i}.targets"]) for i in range(count)]

    def __getitem__(self, letter):
        return self.about[letter]

    def shape(self):
        width = "tokens" if self["symbols"] else self["E"]
        return ",".join(str(n) for n in (self["B"], self["T"], width, self["D"], self["K"]))

    def errors(self, loss, gradients):
        """Loss and gradients of the check batch against the f64 reference: (loss, worst, tensor)."""
        assert set(gradients) == set(self.want), "other tensors than the model has"
        off = {n: self.error(gradients[n], self.want[n]) for n in self.want}
        tensor = max(off, key=off.get)
        return self.error(loss, self["check_loss"]), off[tensor], tensor

    def demand(self, what, loss, gradients):
        """The same, where it is near enough; else an error."""
        found = self.errors(loss, gradients)
        if max(found[:2]) > self["tolerance"]:
            raise Wrong(f"{what} does not compute the same: loss {found[0]:.1e} off, {found[2]} {found[1]:.1e}")
        return found

    def error(self, got, want):
        """The largest error relative to the largest number; what is no number is infinitely wrong."""
        scale = max(float(np.abs(want).max()), self["smallest_scale"])
        error = float(np.abs(np.asarray(got, np.float64) - want).max()) / scale
        return error if error == error else float("inf")


class Wrong(Exception):
    """A peer that computes something else."""
