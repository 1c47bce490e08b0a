// The cells, one unit at a time: the mathematics of reference/cell.rs. All scan kernels use these.

// Minimum and maximum that propagate NaN: fminf(NaN, 1) is 1, which would hide that a network diverged.
__device__ __forceinline__ float min_nan(float x, float y) {
    float z;
    asm("min.NaN.f32 %0, %1, %2;" : "=f"(z) : "f"(x), "f"(y));
    return z;
}
__device__ __forceinline__ float max_nan(float x, float y) {
    float z;
    asm("max.NaN.f32 %0, %1, %2;" : "=f"(z) : "f"(x), "f"(y));
    return z;
}

// Clamps a gradient that grows with every backward step to a range in which sums stay finite. Gradient
// clipping shortens it later; without clipping such an update moves far.
__device__ __forceinline__ float clamp_gradient(float x) { return max_nan(min_nan(x, 1e25f), -1e25f); }

// Kernels that are limited by the nonlinearities compute both from the exponential of the special
// function unit: an absolute error of 3e-7, where its own tanh has 5e-4. Beyond ±28 a sigmoid is 0 or 1
// to within 1e-12, and the product of three denominators is still finite.
#ifdef FAST_MATH
__device__ __forceinline__ float exp2_approx(float x) {
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}
// For x whose reciprocal is no denormal, such as products of denominators.
__device__ __forceinline__ float reciprocal_approx(float x) {
    float y;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}
// 1/σ(x), and 1/σ(2x), from which tanh follows.
__device__ __forceinline__ float sigmoid_denominator(float x) {
    return 1.0f + exp2_approx(min_nan(x * -1.44269504f, 40.0f));
}
__device__ __forceinline__ float tanh_denominator(float x) {
    return 1.0f + exp2_approx(min_nan(x * -2.88539008f, 40.0f));
}
__device__ __forceinline__ float sigmoid_of(float x) {
    return reciprocal_approx(sigmoid_denominator(x));
}
__device__ __forceinline__ float tanh_of(float x) {
    return fmaf(2.0f, reciprocal_approx(tanh_denominator(x)), -1.0f);
}
#else
__device__ __forceinline__ float sigmoid_of(float x) { return 1.0f / (1.0f + expf(-x)); }
__device__ __forceinline__ float tanh_of(float x) { return tanhf(x); }
#endif

// A gate: a sigmoid, or clamp(0.2 x + 0.5, 0, 1) if `hard`.
__device__ __forceinline__ float gate(int hard, float x) {
    return hard ? min_nan(max_nan(fmaf(0.2f, x, 0.5f), 0.0f), 1.0f) : sigmoid_of(x);
}

// dy + w x; just dy in kernels that are compiled without gate penalties.
__device__ __forceinline__ float add_penalty(float w, float x, float dy) {
#if defined(GATE_PENALTY) && !GATE_PENALTY
    return dy;
#else
    return fmaf(w, x, dy);
#endif
}

// The gradient of a gate's pre-activation from that of the gate y. `w` is the weight of the penalty
// that draws y to 0 and 1.
__device__ __forceinline__ float gate_backward(int hard, float w, float y, float dy) {
    float slope = hard ? (y > 0.0f && y < 1.0f ? 0.2f : 0.0f) : y * (1.0f - y);
    return add_penalty(w, fmaf(-2.0f, y, 1.0f), dy) * slope;
}

// The gradient of a candidate's pre-activation from that of y = tanh. `w` is the weight of the penalty
// that draws y to ±1.
__device__ __forceinline__ float candidate_backward(float w, float y, float dy) {
    return add_penalty(-0.5f * w, y, dy) * fmaf(-y, y, 1.0f);
}

// The results of a step of an LSTM unit.
struct Lstm {
    float i, f, g, o, c, u;
};

// `a`: pre-activations of i, f, g, o without the peephole terms; `p`: peephole weights.
__device__ __forceinline__ Lstm lstm(int hard, const float a[4], const float p[3], float c_prev) {
    Lstm s;
    float a_i = fmaf(p[0], c_prev, a[0]), a_f = fmaf(p[1], c_prev, a[1]);
#ifdef FAST_MATH
    if (!hard) {
        // One reciprocal for i, f and g, and one for o and tanh(c).
        float i = sigmoid_denominator(a_i), f = sigmoid_denominator(a_f), g = tanh_denominator(a[2]);
        float i_f = i * f, inverse = reciprocal_approx(i_f * g), inverse_i_f = inverse * g;
        s.i = inverse_i_f * f, s.f = inverse_i_f * i, s.g = fmaf(2.0f, inverse * i_f, -1.0f);
        s.c = fmaf(s.f, c_prev, s.i * s.g);
        float o = sigmoid_denominator(fmaf(p[2], s.c, a[3])), t = tanh_denominator(s.c);
        inverse = reciprocal_approx(o * t);
        s.o = inverse * t;
        s.u = s.o * fmaf(2.0f, inverse * o, -1.0f);
        return s;
    }
#endif
    s.i = gate(hard, a_i), s.f = gate(hard, a_f), s.g = tanh_of(a[2]);
    s.c = fmaf(s.f, c_prev, s.i * s.g);
    s.o = gate(hard, fmaf(p[2], s.c, a[3]));
    s.u = s.o * tanh_of(s.c);
    return s;
}

// The results of a step of a GRU unit whose reset gate acts after the matrix.
struct Gru {
    float r, z, n, q, u;
};

// `x`: the input's part of r, z, n; `a`: the recurrent part: r, z, q, h.
__device__ __forceinline__ Gru gru(int hard, const float x[3], const float a[4], float q_bias) {
    Gru s;
    s.r = gate(hard, x[0] + a[0]);
    s.z = gate(hard, x[1] + a[1]);
    s.q = a[2] + q_bias;
    s.n = tanh_of(fmaf(s.r, s.q, x[2]));
    s.u = fmaf(s.z, a[3], (1.0f - s.z) * s.n);
    return s;
}

// The backward pass of `gru`: from du to dx (r, z, n) and da (r, z, q, h).
__device__ __forceinline__ void gru_backward(int hard, const Gru &s, float h, float saturation,
                                             float writing, float du, float dx[3], float da[4]) {
    du = clamp_gradient(du);
    dx[2] = candidate_backward(saturation, s.n, du * (1.0f - s.z));
    dx[0] = gate_backward(hard, saturation, s.r, dx[2] * s.q);
    dx[1] = gate_backward(hard, saturation, s.z, fmaf(du, h - s.n, -writing));
    da[0] = dx[0], da[1] = dx[1], da[2] = dx[2] * s.r, da[3] = du * s.z;
}

// The backward pass of `lstm`: from du and dc to da (i, f, g, o); returns ∂/∂c_prev.
__device__ __forceinline__ float lstm_backward_from(int hard, const Lstm &s, float tanh_c,
                                                    const float p[3], float c_prev, float saturation,
                                                    float writing, float du, float dc, float da[4]) {
    du = clamp_gradient(du);
    da[3] = gate_backward(hard, saturation, s.o, du * tanh_c);
    dc += du * s.o * fmaf(-tanh_c, tanh_c, 1.0f);
    dc = fmaf(da[3], p[2], dc);
    da[0] = gate_backward(hard, saturation, s.i, fmaf(dc, s.g, writing));
    da[1] = gate_backward(hard, saturation, s.f, dc * c_prev);
    da[2] = candidate_backward(saturation, s.g, dc * s.i);
    return clamp_gradient(fmaf(da[0], p[0], fmaf(da[1], p[1], dc * s.f)));
}
// The same, computing tanh(c).
__device__ __forceinline__ float lstm_backward(int hard, const Lstm &s, const float p[3], float c_prev,
                                               float saturation, float writing, float du, float dc,
                                               float da[4]) {
    return lstm_backward_from(hard, s, tanh_of(s.c), p, c_prev, saturation, writing, du, dc, da);
}

// `lstm_backward` as factors of du and dc. They are computed before du and dc are known, which leaves
// little work afterwards. Members ending in 0 are the constant terms of gate penalties.
struct LstmSlopes {
    float o, c, i, f, g, prev, o0, c0, i0, f0, g0, prev0;
    // da (i, f, g, o); returns ∂/∂c_prev. `gate_penalty`: whether the constant terms exist.
    __device__ __forceinline__ float back(int gate_penalty, float du, float dc, float da[4]) const {
        du = clamp_gradient(du);
        dc = fmaf(du, c, dc);
        da[3] = du * o;
        if (gate_penalty) da[3] += o0, dc += c0;
        da[0] = dc * i, da[1] = dc * f, da[2] = dc * g;
        float to_prev = dc * prev;
        if (gate_penalty) da[0] += i0, da[1] += f0, da[2] += g0, to_prev += prev0;
        return clamp_gradient(to_prev);
    }
};

__device__ __forceinline__ LstmSlopes lstm_slopes(int hard, const Lstm &s, const float p[3],
                                                  float c_prev, float saturation, float writing) {
    LstmSlopes to;
    float tanh_c = tanh_of(s.c);
    to.o = gate_backward(hard, 0.0f, s.o, tanh_c), to.o0 = gate_backward(hard, saturation, s.o, 0.0f);
    to.c = fmaf(to.o, p[2], s.o * fmaf(-tanh_c, tanh_c, 1.0f)), to.c0 = to.o0 * p[2];
    to.i = gate_backward(hard, 0.0f, s.i, s.g), to.i0 = gate_backward(hard, saturation, s.i, writing);
    to.f = gate_backward(hard, 0.0f, s.f, c_prev), to.f0 = gate_backward(hard, saturation, s.f, 0.0f);
    to.g = candidate_backward(0.0f, s.g, s.i), to.g0 = candidate_backward(saturation, s.g, 0.0f);
    to.prev = fmaf(to.i, p[0], fmaf(to.f, p[1], s.f)), to.prev0 = fmaf(to.i0, p[0], to.f0 * p[1]);
    return to;
}

// How far a gate is from 0 and 1, and a candidate from ±1.
__device__ __forceinline__ float unsaturated(float y) { return y * (1.0f - y); }
__device__ __forceinline__ float unsaturated_candidate(float y) { return 0.25f * fmaf(-y, y, 1.0f); }
