"""SR-LSTM-P loops in PyTorch: the direct form and ours, eager and as CUDA graphs."""

from device import CUDA, DEVICE, measure_loop
from exported import Exported
from loops import Loop, Scan
from measure import Part

part = Part()
settings = [Exported(folder) for folder in part.folders]
# What users would have comes first: it should not be what runs out of time.
for form, low_rank in (("direct", False), ("low rank", True)):
    for setting in settings:
        make = lambda: Loop(Scan(low_rank), setting.weights, DEVICE)
        measure_loop(part, setting, f"torch eager, {form}", make, False)
        if CUDA:
            measure_loop(part, setting, f"torch graph, {form}", make, True)
