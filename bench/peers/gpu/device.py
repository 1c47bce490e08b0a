"""PyTorch on the GPU; on the processor where there is none, so that the algebra can be tried there."""

import pathlib
import sys
import time

import torch

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent))

from measure import checked  # noqa: E402

CUDA = torch.cuda.is_available()
DEVICE = "cuda" if CUDA else "cpu"


def tensors(batch):
    return tuple(torch.from_numpy(array).to(DEVICE) for array in batch)


def tensor_cores(on):
    """Whether products in single precision may be rounded to TF32: not while results are checked,
    and while times are taken as far as the library likes."""
    torch.backends.cuda.matmul.allow_tf32 = on
    torch.backends.cudnn.allow_tf32 = on


def seconds(work):
    """By the GPU's own events."""
    if not CUDA:
        begin = time.perf_counter()
        work()
        return time.perf_counter() - begin
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    begin.record()
    work()
    end.record()
    end.synchronize()
    return 1e-3 * begin.elapsed_time(end)


class Graph:
    """Loss and gradients of a loop, captured once in a CUDA graph and replayed."""

    def __init__(self, loop, x, y):
        self.loop, self.x, self.y = loop, x.clone(), y.clone()
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            loop.backward(self.x, self.y)
        torch.cuda.current_stream().wait_stream(side)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.loss = loop.backward(self.x, self.y)

    def backward(self, x, y):
        self.x.copy_(x)
        self.y.copy_(y)
        self.graph.replay()
        return self.loss

    def gradients(self):
        return self.loop.gradients()


def measure_loop(part, setting, what, make, as_graph):
    """Checks and times `make()`, a loop, as it is or as a graph."""
    data = [tensors(batch) for batch in setting.batches]
    # Captured with other rows than it is checked with: a graph must read what it is given.
    wrapped = lambda batch: Graph(make(), *(t.roll(1, 0) for t in batch)) if as_graph else make()

    def check():
        tensor_cores(False)
        batch = tensors(setting.check)
        loop = wrapped(batch)
        loss = loop.backward(*batch).item()
        if not as_graph:
            whole = loop.loss(*data[1]).item()
            off = setting.error(whole, setting["batch_losses"][1])
            assert off <= setting["tolerance"], f"{what}: loss of a whole batch {off:.1e} off"
        return checked(setting.demand(what, loss, loop.gradients()))

    def ready():
        tensor_cores(True)
        loop = wrapped(data[0])
        return lambda i: loop.backward(*data[i % len(data)])

    part.measure(setting, what, check, ready, seconds)
    if CUDA:
        torch.cuda.empty_cache()
