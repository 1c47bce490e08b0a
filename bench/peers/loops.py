"""SR-LSTM-P and plain cells in PyTorch, from exported weights: what peers are.

The input's product is taken out of the loop (for tokens: one row per symbol, then a lookup), steps
are unbound once, gates are packed: the loop is written as fast as eager PyTorch allows.
"""

import torch
import torch.nn.functional as F


def cell(a, c, p_if, p_o):
    """One cell application. a is [B, 4, D]: i, f, g, o."""
    i, f = torch.sigmoid(torch.addcmul(a[:, :2], p_if, c.unsqueeze(1))).unbind(1)
    c = torch.addcmul(f * c, i, torch.tanh(a[:, 2]))
    o = torch.sigmoid(torch.addcmul(a[:, 3], p_o, c))
    return o * torch.tanh(c), c


def move(x, carried, c, into, st, out, p_if, p_o):
    """A step: the cell, then α of its u. Direct: h is carried, `into` is R and `out` is S; low rank:
    α is carried, `into` is S·R and there is no `out`."""
    u, c = cell(torch.addmm(x, carried, into).view(x.size(0), 4, c.size(1)), c, p_if, p_o)
    alpha = torch.softmax(u @ st, 1)
    return (alpha if out is None else alpha @ out), c


class Scan:
    """The recurrence over unbound steps: the direct form, h = αS and R h, or ours, α(S·R). Returns
    the last h; u where an end token closes the row."""

    def __init__(self, low_rank=False, move=move):
        self.low_rank, self.move = low_rank, move

    def start(self, x, width):
        return x.new_zeros(x.size(0), width)

    def __call__(self, xs, r, s, p_if, p_o, end):
        c, st = self.start(xs[0], s.size(1)), s.t()
        into, out = (s @ r.t(), None) if self.low_rank else (r.t(), s)
        carried = self.start(xs[0], into.size(0))
        for x in xs[: len(xs) - end]:
            carried, c = self.move(x, carried, c, into, st, out, p_if, p_o)
        if end:
            a = torch.addmm(xs[-1], carried, into).view(-1, 4, s.size(1))
            return cell(a, c, p_if, p_o)[0]
        return carried @ s if self.low_rank else carried


def lookup(table, ids):
    # On a GPU the gradient of F.embedding sorts the ids, which a CUDA graph may not capture.
    if table.is_cuda:
        return table.index_select(0, ids.flatten()).view(*ids.shape, -1)
    return F.embedding(ids, table)


class Loop:
    """SR-LSTM-P around a scan."""

    def __init__(self, scan, weights, device="cpu", dtype=torch.float32):
        self.scan = scan
        as_parameter = lambda w: torch.tensor(w, dtype=dtype, device=device, requires_grad=True)
        self.p = {name: as_parameter(w) for name, w in weights.items()}

    def loss(self, x, y):
        p = self.p
        bias = p["rnn.bias_ih_l0"] + p["rnn.bias_hh_l0"]
        tokens = x.dtype == torch.int64
        given = p["embedding.weight"] if tokens else x.transpose(0, 1).to(bias.dtype)
        a = F.linear(given, p["rnn.weight_ih_l0"], bias)
        steps = (lookup(a, x.t()) if tokens else a).unbind(0)
        p_i, p_f, p_o = p["peephole_l0"].unbind(0)
        p_if = torch.stack([p_i, p_f])
        h = self.scan(list(steps), p["rnn.weight_hh_l0"], p["centroids_l0"], p_if, p_o, tokens)
        return F.cross_entropy(F.linear(h, p["head.weight"], p["head.bias"]), y)

    def parameters(self):
        return self.p.values()

    def backward(self, x, y):
        """Loss and gradients; the loss stays on the device."""
        for w in self.parameters():
            w.grad = None
        loss = self.loss(x, y)
        loss.backward()
        return loss.detach()

    def gradients(self):
        return {name: w.grad.float().cpu().numpy() for name, w in self.p.items()}


class Plain(Loop):
    """nn.LSTM or nn.GRU with the same embedding, units and classifier: no peepholes, no centroids.

    `multiple`: input and units are padded to multiples of it, as cuDNN's persistent kernel wants.
    """

    def __init__(self, kind, e, device="cpu", dtype=torch.float32, multiple=1):
        kept = ("embedding.weight", "head.weight", "head.bias")
        super().__init__(None, {n: w for n, w in e.weights.items() if n in kept}, device, dtype)
        up = lambda n: -(-n // multiple) * multiple
        self.width, self.units = up(e["E"]), e["D"]
        torch.manual_seed(1)
        self.rnn = getattr(torch.nn, kind)(self.width, up(e["D"])).to(device, dtype)

    def loss(self, x, y):
        p, tokens = self.p, x.dtype == torch.int64
        dtype = p["head.bias"].dtype
        steps = lookup(p["embedding.weight"], x.t()) if tokens else x.transpose(0, 1).to(dtype)
        steps = F.pad(steps, (0, self.width - steps.size(2))).contiguous()
        h = self.rnn(steps)[0][-1, :, : self.units]
        return F.cross_entropy(F.linear(h, p["head.weight"], p["head.bias"]).float(), y)

    def parameters(self):
        return [*self.p.values(), *self.rnn.parameters()]

    def gradients(self):
        own = {name: w.grad.float().cpu().numpy() for name, w in self.rnn.named_parameters()}
        return super().gradients() | own
