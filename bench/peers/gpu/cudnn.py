"""Plain nn.LSTM and nn.GRU (cuDNN's on a GPU): no centroids, no peepholes, so less to do.

fp32 is checked against the same module in float64 on the processor. fp16 has input and units padded
to multiples of 128, for which cuDNN has its persistent kernel; its loss is checked to a hundredth,
and the error of its gradients is written down.
"""

import numpy as np
import torch

from device import CUDA, DEVICE, seconds, tensor_cores, tensors
from exported import Exported, Wrong
from loops import Plain
from measure import Part, checked

HALF_TOLERANCE = 1e-2


def compare(setting, kind, what, make, limit):
    """`make` against float64 on the processor, on the check batch."""
    tensor_cores(False)
    ours, truth = make(), Plain(kind, setting, "cpu", torch.float64, make.multiple)
    ours.rnn.load_state_dict(truth.rnn.state_dict())
    loss = ours.backward(*tensors(setting.check)).item()
    want = truth.backward(*map(torch.from_numpy, setting.check)).item()
    got, wanted = ours.gradients(), truth.gradients()
    off = {name: setting.error(got[name], wanted[name]) for name in wanted}
    tensor = max(off, key=off.get)
    found = (setting.error(np.float64(loss), np.float64(want)), off[tensor], tensor)
    if found[0] > limit or (make.multiple == 1 and found[1] > limit):
        raise Wrong(f"{what}: loss {found[0]:.1e} off, {tensor} {found[1]:.1e}")
    return checked(found)


def measure(part, setting, kind, dtype, multiple, limit):
    what = f"nn.{kind} {str(dtype).removeprefix('torch.')}" + (", padded" if multiple > 1 else "")
    make = lambda: Plain(kind, setting, DEVICE, dtype, multiple)
    make.multiple = multiple

    def ready():
        tensor_cores(True)
        plain, data = make(), [tensors(batch) for batch in setting.batches]
        return lambda i: plain.backward(*data[i % len(data)])

    part.measure(setting, what, lambda: compare(setting, kind, what, make, limit), ready, seconds)


part = Part()
for setting in map(Exported, part.folders):
    for kind in ("LSTM", "GRU"):
        measure(part, setting, kind, torch.float32, 1, setting["tolerance"])
        if CUDA:
            measure(part, setting, kind, torch.float16, 128, HALF_TOLERANCE)
