"""SR-LSTM-P in PyTorch, one step compiled and called in a Python loop (unrolled, 784 steps take
longer to compile than a bench has), eager and as a CUDA graph."""

from device import CUDA, DEVICE, measure_loop
from exported import Exported
from loops import Loop, Scan, move
from measure import Part
import torch

part = Part()
for setting in map(Exported, part.folders):
    torch._dynamo.reset()
    # The check has fewer rows than the batches: a compiled step for each.
    scan = Scan(False, torch.compile(move, dynamic=False))
    # The first step is like the others: else it would be compiled apart.
    scan.start = lambda x, width: x.new_zeros(x.size(0), width).requires_grad_()
    make = lambda: Loop(scan, setting.weights, DEVICE)
    measure_loop(part, setting, "torch.compile of a step, direct", make, False)
    if CUDA:
        measure_loop(part, setting, "torch.compile of a step, direct, graph", make, True)
