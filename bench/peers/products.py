"""Times the products of `srnn bench` settings through cuBLAS, in single precision and in TF32.

Needs PyTorch and an NVIDIA GPU: python3 bench/peers/products.py
"""

import torch
torch.manual_seed(1)
def bench(f, n=30):
    for _ in range(5): f()
    ts = []
    for _ in range(n):
        a, b = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        a.record(); f(); b.record(); torch.cuda.synchronize(); ts.append(a.elapsed_time(b)*1000)
    ts.sort(); return ts[n//2]
def graph(f):
    s = torch.cuda.Stream(); s.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(s):
        for _ in range(3): f()
    torch.cuda.current_stream().wait_stream(s)
    g = torch.cuda.CUDAGraph()
    with torch.cuda.graph(g):
        for _ in range(20): f()
    return bench(g.replay, 10) / 20
# (name, m, k, n, transA, transB)
shapes = [('lm logits', 1280, 300, 33278, 0, 1), ('lm d features', 1280, 33278, 300, 0, 0), ('lm d V', 33278, 1280, 300, 1, 0),
 ('lm dR', 1200, 1280, 300, 1, 0), ('lm dS', 1000, 1280, 300, 1, 0),
 ('mnist dR direct', 1024, 100352, 256, 1, 0), ('mnist dM k=10', 10, 100352, 1024, 1, 0), ('mnist dS k=10', 10, 100352, 256, 1, 0),
 ('mnist-100 dM', 100, 100352, 1024, 1, 0), ('mnist-100 dS', 100, 100352, 256, 1, 0),
 ('imdb x', 6161, 256, 1024, 0, 1), ('imdb dE', 6161, 1024, 256, 0, 0), ('imdb dW', 1024, 6161, 256, 1, 0), ('imdb M', 10, 256, 1024, 0, 1),
 ('imdb dM', 10, 9600, 1024, 1, 0), ('bp dM', 5, 6400, 400, 1, 0), ('bp M', 5, 100, 400, 0, 1), ('bp x', 28, 100, 400, 0, 1), ('tomita dM', 50, 1024, 400, 1, 0)]
for mode in ('ieee', 'tf32'):
    torch.backends.cuda.matmul.allow_tf32 = mode == 'tf32'
    for name, m, k, n, ta, tb in shapes:
        a = torch.randn((k, m) if ta else (m, k), device='cuda'); b = torch.randn((n, k) if tb else (k, n), device='cuda')
        c = torch.empty(m, n, device='cuda')
        A = a.t() if ta else a; B = b.t() if tb else b
        f = lambda: torch.mm(A, B, out=c)
        err = ((torch.mm(A, B).double() - A.double() @ B.double()).norm() / (A.double() @ B.double()).norm()).item()
        print(f'{mode} {name:18s} {m}x{k}x{n}: {graph(f):9.2f} us  error {err:.1e}')
