// The cells, one unit at a time: the mathematics of reference/cell.rs. Every scan kernel uses these.

// A gate: a sigmoid, or clamp(0.2 x + 0.5, 0, 1) where it is hard.
__device__ __forceinline__ float gate(int hard, float x) {
    return hard ? fminf(fmaxf(fmaf(0.2f, x, 0.5f), 0.0f), 1.0f) : 1.0f / (1.0f + expf(-x));
}

// From the gradient of a gate y to that of its pre-activation; `w` draws y to 0 and 1.
__device__ __forceinline__ float gate_back(int hard, float w, float y, float dy) {
    float slope = hard ? (y > 0.0f && y < 1.0f ? 0.2f : 0.0f) : y * (1.0f - y);
    return fmaf(w, fmaf(-2.0f, y, 1.0f), dy) * slope;
}

// From the gradient of a candidate y = tanh to that of its pre-activation; `w` draws y to ±1.
__device__ __forceinline__ float candidate_back(float w, float y, float dy) {
    return fmaf(-0.5f * w, y, dy) * fmaf(-y, y, 1.0f);
}

// What is left of a step of an LSTM unit.
struct Lstm {
    float i, f, g, o, c, u;
};

// `a` holds the pre-activations of i, f, g, o without the peepholes' part.
__device__ __forceinline__ Lstm lstm(int hard, const float a[4], const float p[3], float c_prev) {
    Lstm s;
    s.i = gate(hard, fmaf(p[0], c_prev, a[0]));
    s.f = gate(hard, fmaf(p[1], c_prev, a[1]));
    s.g = tanhf(a[2]);
    s.c = fmaf(s.f, c_prev, s.i * s.g);
    s.o = gate(hard, fmaf(p[2], s.c, a[3]));
    s.u = s.o * tanhf(s.c);
    return s;
}

// The adjoint of `lstm`: from du and dc to da (i, f, g, o); returns ∂/∂c_prev.
__device__ __forceinline__ float lstm_back(int hard, const Lstm &s, const float p[3], float c_prev,
                                           float saturation, float writing, float du, float dc,
                                           float da[4]) {
    float tanh_c = tanhf(s.c);
    da[3] = gate_back(hard, saturation, s.o, du * tanh_c);
    dc += du * s.o * fmaf(-tanh_c, tanh_c, 1.0f);
    dc = fmaf(da[3], p[2], dc);
    da[0] = gate_back(hard, saturation, s.i, fmaf(dc, s.g, writing));
    da[1] = gate_back(hard, saturation, s.f, dc * c_prev);
    da[2] = candidate_back(saturation, s.g, dc * s.i);
    return fmaf(da[0], p[0], fmaf(da[1], p[1], dc * s.f));
}

// How far a unit's gates are from 0 and 1, and its candidate from ±1.
__device__ __forceinline__ float unsaturated(float y) { return y * (1.0f - y); }
__device__ __forceinline__ float unsaturated_candidate(float y) {
    return 0.25f * fmaf(-y, y, 1.0f);
}
