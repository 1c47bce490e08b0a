"""Writes the fixtures beside it: what plain PyTorch computes for the cases of this file.

    python3 -m venv /tmp/fixtures && /tmp/fixtures/bin/pip install torch numpy safetensors
    /tmp/fixtures/bin/python testdata/engines/make.py

Everything is float64 and autograd; the cells are written from the equations in the
documentation of the Rust types, one row at a time, and know nothing of the Rust code. Vanilla
layers are checked against torch.nn.LSTM and torch.nn.GRU before anything is written.
Tests read the files; they are only made again when a case is added here.
"""

import json
import pathlib

import numpy as np
import torch
from safetensors.numpy import save_file

HERE = pathlib.Path(__file__).parent
IGNORE = 2**32 - 1
torch.set_default_dtype(torch.float64)
torch.set_num_threads(1)


# ------------------------------------------------------------------ the network, row by row


def gate(kind, a):
    return torch.sigmoid(a) if kind == "sigmoid" else torch.clamp(0.2 * a + 0.5, 0.0, 1.0)


def cell(layer, p, l, x, h, c):
    """One application of f: returns u and c."""
    d = layer["units"]
    zero = torch.zeros(1)
    w, r = p[f"rnn.weight_ih_l{l}"], p[f"rnn.weight_hh_l{l}"]
    b_ih, b_hh = p.get(f"rnn.bias_ih_l{l}", zero), p.get(f"rnn.bias_hh_l{l}", zero)
    sigma = lambda a: gate(layer["gate"], a)
    a = w @ x + b_ih
    if layer["cell"]["kind"] == "lstm":
        a_i, a_f, a_g, a_o = (a + r @ h + b_hh).split(d)
        p_i, p_f, p_o = p.get(f"peephole_l{l}", torch.zeros(3, d))
        i, f, g = sigma(a_i + p_i * c), sigma(a_f + p_f * c), torch.tanh(a_g)
        c = f * c + i * g
        o = sigma(a_o + p_o * c)
        return o * torch.tanh(c), c
    b_hh = b_hh.expand(3 * d)
    gates = sigma(a[: 2 * d] + r[: 2 * d] @ h + b_hh[: 2 * d])
    reset, z = gates.split(d)
    if layer["cell"]["reset"] == "after-matrix":
        n = torch.tanh(a[2 * d :] + reset * (r[2 * d :] @ h + b_hh[2 * d :]))
    else:
        n = torch.tanh(a[2 * d :] + r[2 * d :] @ (reset * h) + b_hh[2 * d :])
    return (1 - z) * n + z * h, c


def probabilities(centroids, s, u, tau):
    """α and ln α (Eqs. 3, 4)."""
    if centroids["score"] == "dot":
        scores = s @ u
    else:
        scores = -torch.sqrt(((u - s) ** 2).sum(1))
    log_alpha = torch.log_softmax(scores / (centroids["tau"] * tau), 0)
    return log_alpha.exp(), log_alpha


def run_layer(layer, p, l, xs, regime, end, terms):
    """One layer over one row: a dict of lists, one entry a step."""
    d = layer["units"]
    h, c = torch.zeros(d), torch.zeros(d)
    out = {"alpha": [], "u": [], "h": [], "c": []}
    for t, x in enumerate(xs):
        u, c = cell(layer, p, l, x, h, c)
        h, alpha = u, None
        if layer["centroids"]:
            alpha = torch.zeros(layer["centroids"]["k"])
            if not (end and t + 1 == len(xs)):
                s = p[f"centroids_l{l}"]
                alpha, log_alpha = probabilities(layer["centroids"], s, u, regime["tau"])
                mixture = alpha @ s
                h = (1 - regime["lambda"]) * u + regime["lambda"] * mixture
                terms["commitment"].append(((u - mixture) ** 2).mean())
                terms["entropy"].append(-(alpha * log_alpha).sum())
        for name, value in zip(out, (alpha, u, h, c)):
            out[name].append(value)
    return out


def run(case, p):
    """Traces of all rows, logits, and the parts of the loss."""
    arch, regime, batch = case["arch"], case["regime"], case["batch"]
    end = arch["input"].get("end", False)
    terms = {"commitment": [], "entropy": []}
    traces, logits, stochastic = [], [], 0
    for low, high in zip(batch["offsets"], batch["offsets"][1:]):
        if "tokens" in batch:
            xs = [p["embedding.weight"][i] for i in batch["tokens"][low:high]]
        else:
            xs = [torch.tensor(x, dtype=torch.float64) for x in batch["x"][low:high]]
        stochastic += len(xs) - (1 if end and xs else 0)
        rows = []
        for l, layer in enumerate(arch["layers"]):
            rows.append(run_layer(layer, p, l, xs, regime, end, terms))
            xs = rows[-1]["h"]
        traces.append(rows)
        logits += read_out(arch, p, rows[-1])
    loss = losses(case, logits, terms, stochastic)
    return traces, torch.stack(logits) if logits else torch.zeros(0, arch["classes"]), loss


def read_out(arch, p, top):
    parts = {"h": "h", "u": "u", "c": "c", "uc": "uc", "hc": "hc"}[arch["readout"]["from"]]
    d = arch["layers"][-1]["units"]
    read = lambda t: torch.cat([top[name][t] for name in parts])
    steps = range(len(top["u"]))
    if arch["readout"]["when"] == "last":
        features = [read(-1) if len(steps) else torch.zeros(d * len(parts))]
    else:
        features = [read(t) for t in steps]
    return [p["head.weight"] @ f + p["head.bias"] for f in features]


def losses(case, logits, terms, stochastic):
    batch, regime = case["batch"], case["regime"]
    weights = batch.get("class_weights", np.ones(case["arch"]["classes"]))
    total, task = 0.0, torch.zeros(())
    for row, target in zip(logits, batch["targets"]):
        if target != IGNORE:
            total += float(weights[target])
            task = task - float(weights[target]) * torch.log_softmax(row, 0)[target]
    task = task / total

    def part(name):
        """A mean over the stochastic steps; 0 where its weight is 0."""
        values = terms[name] if regime[name] else []
        return sum(values, torch.zeros(())) / max(stochastic, 1)

    commitment, entropy = part("commitment"), part("entropy")
    whole = task + regime["commitment"] * commitment + regime["entropy"] * entropy
    return torch.stack([whole, task, commitment, entropy])


# ------------------------------------------------------------------ the cases


def layer(kind, units, centroids=None, gate="sigmoid", bias=True):
    cells = {
        "gru": {"kind": "gru", "reset": "after-matrix"},
        "gru-before": {"kind": "gru", "reset": "before-matrix"},
        "lstm": {"kind": "lstm", "peephole": False},
        "lstm-p": {"kind": "lstm", "peephole": True},
    }
    cell = cells[kind]
    return {"cell": cell, "units": units, "gate": gate, "bias": bias, "centroids": centroids}


def k(k, score="dot", tau=1.0):
    return {"k": k, "score": score, "tau": tau}


def tokens(symbols, embedding, start=False, end=False):
    names = {"symbols": symbols, "embedding": embedding, "start": start, "end": end}
    return {"kind": "tokens", **names}


def regime(lam=1.0, commitment=0.0, entropy=0.0, tau=1.0):
    terms = {"commitment": commitment, "entropy": entropy, "tau": tau}
    return {"lambda": lam, **terms, "learning_rate": 0.01}


ALL_TERMS = regime(0.4, 0.7, 0.3, 0.8)
REAL = lambda width: {"kind": "real", "width": width}

# name: (input, layers, read from, when, classes, lengths, weighted, regime)
CASES = {
    "sr-lstm-p-ragged": (tokens(3, 4, True), [layer("lstm-p", 7, k(5))], "h", "last", 2, [5, 1, 0, 9], False, regime()),
    "sr-lstm-p-33": (tokens(2, 3, True, True), [layer("lstm-p", 33, k(10))], "h", "last", 2, [6, 2, 3], True, regime()),
    "sr-lstm-euclidean": (tokens(3, 5, False, True), [layer("lstm", 7, k(4, "euclidean", 0.5))], "uc", "last", 3, [4, 0, 7], False, ALL_TERMS),
    "sr-gru-33-euclidean": (tokens(3, 4), [layer("gru", 33, k(6, "euclidean"))], "u", "last", 2, [8, 3], False, regime(1.0, 0.5, 0.2)),
    "sr-gru-one-step": (tokens(2, 3), [layer("gru", 7, k(1))], "h", "last", 2, [1], False, ALL_TERMS),
    "sr-gru-before": (tokens(4, 5, True, True), [layer("gru-before", 9, k(5, "dot", 0.3))], "h", "last", 4, [5, 2, 6], True, ALL_TERMS),
    "sr-gru-no-bias-hard": (tokens(3, 4, True), [layer("gru", 7, k(3), "hard-sigmoid", False)], "h", "every-step", 3, [6, 1, 4], True, regime()),
    "sr-lstm-p-hard-real": (REAL(3), [layer("lstm-p", 7, k(5), "hard-sigmoid")], "hc", "last", 5, [7, 1, 4], False, ALL_TERMS),
    "sr-lstm-every-step": (tokens(5, 4, True), [layer("lstm", 7, k(5, "euclidean"))], "c", "every-step", 6, [9, 2, 5], True, regime(0.4)),
    "two-sr-lstm-p": (tokens(3, 4, True, True), [layer("lstm-p", 7, k(5)), layer("lstm-p", 9, k(3, "euclidean"))], "h", "last", 2, [5, 1, 0, 8], False, ALL_TERMS),
    "three-mixed": (tokens(3, 4, False, True), [layer("gru", 5, k(3)), layer("lstm", 6, None, "hard-sigmoid", False), layer("gru-before", 7, k(4))], "u", "every-step", 3, [4, 2, 6], False, regime(1.0, 0.5)),
    "lstm": (tokens(3, 4), [layer("lstm", 7), layer("lstm", 5)], "h", "last", 2, [6, 6], False, regime(0.0)),
    "gru": (REAL(4), [layer("gru", 7), layer("gru", 5)], "h", "every-step", 2, [6, 6], False, regime(0.0)),
    "vanilla-with-centroids": (tokens(3, 4, True), [layer("gru", 7, k(5))], "h", "last", 2, [6, 3], False, regime(0.0, 0.7, 0.3)),
}


def build(name, seed):
    given, layers, read, when, classes, lengths, weighted, reg = CASES[name]
    rng = np.random.default_rng(seed)
    readout = {"from": read, "when": when}
    arch = {"input": given, "layers": layers, "readout": readout, "classes": classes}
    batch, offsets = {}, [0]
    if given["kind"] == "tokens":
        ids = []
        for length in lengths:
            ids += [given["symbols"]] * given["start"]
            ids += rng.integers(0, given["symbols"], length).tolist()
            ids += [given["symbols"] + given["start"]] * given["end"]
            offsets.append(len(ids))
        batch["tokens"] = ids
    else:
        offsets = [0, *np.cumsum(lengths).tolist()]
        # Rust reads real inputs in single precision: draw numbers that it holds exactly.
        batch["x"] = rng.normal(size=(offsets[-1], given["width"])).astype(np.float32)
    batch["offsets"] = offsets
    count = len(lengths) if when == "last" else offsets[-1]
    batch["targets"] = rng.integers(0, classes, count).tolist()
    if when == "every-step":
        batch["targets"][2::4] = [IGNORE] * len(batch["targets"][2::4])
    if weighted:
        batch["class_weights"] = rng.uniform(0.5, 2.0, classes).astype(np.float32)
    case = {"arch": arch, "regime": reg, "batch": batch}
    return case, parameters(arch, rng)


def parameters(arch, rng):
    shapes, given = {}, arch["input"]
    below = given.get("embedding", given.get("width"))
    if given["kind"] == "tokens":
        rows = given["symbols"] + given["start"] + given["end"]
        shapes["embedding.weight"] = (rows, below)
    for l, one in enumerate(arch["layers"]):
        d, blocks = one["units"], 4 if one["cell"]["kind"] == "lstm" else 3
        shapes[f"rnn.weight_ih_l{l}"] = (blocks * d, below)
        shapes[f"rnn.weight_hh_l{l}"] = (blocks * d, d)
        if one["bias"]:
            shapes[f"rnn.bias_ih_l{l}"] = shapes[f"rnn.bias_hh_l{l}"] = (blocks * d,)
        if one["cell"].get("peephole"):
            shapes[f"peephole_l{l}"] = (3, d)
        if one["centroids"]:
            shapes[f"centroids_l{l}"] = (one["centroids"]["k"], d)
        below = d
    width = below * len(arch["readout"]["from"])
    shapes["head.weight"], shapes["head.bias"] = (arch["classes"], width), (arch["classes"],)
    draw = lambda s: rng.uniform(-1, 1, s) * (2.0 / np.sqrt(s[-1]) if len(s) == 2 else 0.8)
    return {n: torch.tensor(draw(s), requires_grad=True) for n, s in shapes.items()}


def write(name, seed):
    case, p = build(name, seed)
    traces, logits, loss = run(case, p)
    loss[0].backward()
    check_against_torch(name, case, p, traces)
    array = lambda t: t.detach().numpy().copy()
    out = {"loss": array(loss), "logits": array(logits)}
    for n, t in p.items():
        out[f"param.{n}"] = array(t)
        out[f"grad.{n}"] = array(t.grad if t.grad is not None else torch.zeros_like(t))
    for l, one in enumerate(case["arch"]["layers"]):
        fields = ["u", "h"] + ["c"] * (one["cell"]["kind"] == "lstm")
        for field in fields + ["alpha"] * bool(one["centroids"]):
            steps = [array(t) for row in traces for t in row[l][field]]
            out[f"trace.{l}.{field}"] = np.stack(steps)
    batch = case["batch"]
    for key in ("offsets", "tokens", "targets"):
        if key in batch:
            out[key] = np.array(batch[key], dtype=np.int64)
    for key in ("x", "class_weights"):
        if key in batch:
            out[key] = np.asarray(batch[key], dtype=np.float32)
    about = {"arch": json.dumps(case["arch"]), "regime": json.dumps(case["regime"])}
    save_file(out, HERE / f"{name}.safetensors", metadata=about)


def check_against_torch(name, case, p, traces):
    """A vanilla stack is torch.nn.LSTM or torch.nn.GRU."""
    kind = {"lstm": torch.nn.LSTM, "gru": torch.nn.GRU}.get(name)
    if kind is None:
        return
    units = [one["units"] for one in case["arch"]["layers"]]
    batch, worst = case["batch"], 0.0
    for b, (low, high) in enumerate(zip(batch["offsets"], batch["offsets"][1:])):
        if "tokens" in batch:
            x = p["embedding.weight"][batch["tokens"][low:high]]
        else:
            x = torch.tensor(batch["x"][low:high], dtype=torch.float64)
        for l, d in enumerate(units):
            theirs = kind(x.shape[1], d)
            weights = {f"{n}_l0": p[f"rnn.{n}_l{l}"] for n in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")}
            theirs.load_state_dict({n: w.detach() for n, w in weights.items()})
            x = theirs(x)[0]
            worst = max(worst, float((x - torch.stack(traces[b][l]["h"])).detach().abs().max()))
    assert worst < 1e-14, f"{name}: {worst} from torch.nn"
    print(f"{name}: {worst:.1e} from torch.nn")


# ------------------------------------------------------------------ the optimisers


def rmsprop_under_the_root(decay, momentum, epsilon, centred):
    """RMSprop with epsilon under the root, which torch.optim does not have."""
    v = m = mean = 0.0

    def step(p, g, rate):
        nonlocal v, m, mean
        v = decay * v + (1 - decay) * g**2
        mean = decay * mean + (1 - decay) * g
        variance = v - mean**2 if centred else v
        m = momentum * m + g / np.sqrt(variance + epsilon)
        return p - rate * m

    return step


def torch_rule(make):
    state = {}

    def step(p, g, rate):
        if not state:
            state["p"] = torch.tensor(p, requires_grad=True)
            state["rule"] = make([state["p"]], rate)
        state["p"].grad = torch.tensor(g)
        state["rule"].step()
        return state["p"].detach().numpy().copy()

    return step


def optimisers():
    """Ten updates of every rule with gradients that are given, one coordinate's all zero."""
    rng = np.random.default_rng(99)
    begin = rng.normal(size=24)
    gradients = rng.normal(size=(10, 24)) * np.logspace(-6, 1, 24)
    gradients[:, 5] = 0.0
    rate = 0.05
    adam = lambda p, lr, **more: torch.optim.Adam(p, lr=lr, betas=(0.9, 0.999), eps=1e-8, **more)
    rules = {
        "rmsprop": rmsprop_under_the_root(0.9, 0.0, 1e-6, False),
        "rmsprop-momentum": rmsprop_under_the_root(0.95, 0.9, 1e-4, False),
        "rmsprop-centred": rmsprop_under_the_root(0.9, 0.5, 1e-6, True),
        "adam": torch_rule(adam),
        "adam-l2": torch_rule(lambda p, lr: adam(p, lr, weight_decay=0.02)),
        "adamw": torch_rule(lambda p, lr: torch.optim.AdamW(p, lr=lr, weight_decay=0.3)),
        "adadelta": torch_rule(lambda p, lr: torch.optim.Adadelta(p, lr=lr, rho=0.9, eps=1e-6)),
    }
    out = {"begin": begin, "gradients": gradients, "rate": np.array([rate])}
    for name, step in rules.items():
        p, ways = begin, []
        for g in gradients:
            p = step(p, g, rate)
            ways.append(p)
        out[name] = np.stack(ways)
    check_rmsprop_against_torch(begin, gradients, rate)
    save_file(out, HERE / "optimisers.safetensors")


def check_rmsprop_against_torch(begin, gradients, rate):
    """With epsilon 0 both places of epsilon are one."""
    make = lambda p, lr: torch.optim.RMSprop(p, lr=lr, alpha=0.9, eps=0.0, momentum=0.5, centered=True)
    gradients = np.where(gradients == 0.0, 1e-3, gradients)
    ours, theirs = rmsprop_under_the_root(0.9, 0.5, 0.0, True), torch_rule(make)
    p, q = begin, begin
    for g in gradients:
        p, q = ours(p, g, rate), theirs(q, g, rate)
    assert np.abs(p - q).max() < 1e-12, np.abs(p - q).max()
    print(f"rmsprop: {np.abs(p - q).max():.1e} from torch.optim at epsilon 0")


if __name__ == "__main__":
    for seed, name in enumerate(CASES):
        write(name, seed)
    optimisers()
    sizes = {f.name: f.stat().st_size for f in HERE.glob("*.safetensors")}
    assert max(sizes.values()) < 300_000 and sum(sizes.values()) < 2_000_000, sizes
    print(f"{len(sizes)} files, {sum(sizes.values()) // 1024} KiB")
