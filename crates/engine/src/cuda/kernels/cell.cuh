// The cells, one unit at a time: the mathematics of reference/cell.rs. Every scan kernel uses these.

// The smaller and the larger of two numbers, NaN if one is not: of fminf(NaN, 1) only the 1 would be
// left, and a network that diverged would look sound.
__device__ __forceinline__ float smaller(float x, float y) {
    float z;
    asm("min.NaN.f32 %0, %1, %2;" : "=f"(z) : "f"(x), "f"(y));
    return z;
}
__device__ __forceinline__ float larger(float x, float y) {
    float z;
    asm("max.NaN.f32 %0, %1, %2;" : "=f"(z) : "f"(x), "f"(y));
    return z;
}

// Gradients that grow with every step back are held, number by number, where sums of them are still
// numbers. Clipping makes them short; without it such an update moves far.
__device__ __forceinline__ float bounded(float x) { return larger(smaller(x, 1e25f), -1e25f); }

// Kernels that are bound by them take both nonlinearities from the exponential of the special
// function unit: an absolute error of 3e-7, where the tanh of the same unit has 5e-4. Beyond ±28 a
// sigmoid is 0 or 1 to within 1e-12, and products of three denominators are numbers.
#ifdef QUICK
__device__ __forceinline__ float exp2f_quick(float x) {
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}
// Of numbers whose quotient is no denormal, as those of products of denominators.
__device__ __forceinline__ float quotient_of_one(float x) {
    float y;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}
// One over σ(x), and one over σ(2x), of which tanh is made.
__device__ __forceinline__ float denominator(float x) {
    return 1.0f + exp2f_quick(smaller(x * -1.44269504f, 40.0f));
}
__device__ __forceinline__ float denominator_of_twice(float x) {
    return 1.0f + exp2f_quick(smaller(x * -2.88539008f, 40.0f));
}
__device__ __forceinline__ float sigmoid_of(float x) { return quotient_of_one(denominator(x)); }
__device__ __forceinline__ float tanh_of(float x) {
    return fmaf(2.0f, quotient_of_one(denominator_of_twice(x)), -1.0f);
}
#else
__device__ __forceinline__ float sigmoid_of(float x) { return 1.0f / (1.0f + expf(-x)); }
__device__ __forceinline__ float tanh_of(float x) { return tanhf(x); }
#endif

// A gate: a sigmoid, or clamp(0.2 x + 0.5, 0, 1) where it is hard.
__device__ __forceinline__ float gate(int hard, float x) {
    return hard ? smaller(larger(fmaf(0.2f, x, 0.5f), 0.0f), 1.0f) : sigmoid_of(x);
}

// dy + wx, where kernels are not made for layers that nothing presses.
__device__ __forceinline__ float pressed(float w, float x, float dy) {
#if defined(PRESSES) && !PRESSES
    return dy;
#else
    return fmaf(w, x, dy);
#endif
}

// From the gradient of a gate y to that of its pre-activation; `w` draws y to 0 and 1.
__device__ __forceinline__ float gate_back(int hard, float w, float y, float dy) {
    float slope = hard ? (y > 0.0f && y < 1.0f ? 0.2f : 0.0f) : y * (1.0f - y);
    return pressed(w, fmaf(-2.0f, y, 1.0f), dy) * slope;
}

// From the gradient of a candidate y = tanh to that of its pre-activation; `w` draws y to ±1.
__device__ __forceinline__ float candidate_back(float w, float y, float dy) {
    return pressed(-0.5f * w, y, dy) * fmaf(-y, y, 1.0f);
}

// What is left of a step of an LSTM unit.
struct Lstm {
    float i, f, g, o, c, u;
};

// `a` holds the pre-activations of i, f, g, o without the peepholes' part.
__device__ __forceinline__ Lstm lstm(int hard, const float a[4], const float p[3], float c_prev) {
    Lstm s;
    float a_i = fmaf(p[0], c_prev, a[0]), a_f = fmaf(p[1], c_prev, a[1]);
#ifdef QUICK
    if (!hard) {
        // One division for all that can be divided together.
        float i = denominator(a_i), f = denominator(a_f), g = denominator_of_twice(a[2]);
        float both = i * f, all = quotient_of_one(both * g), rest = all * g;
        s.i = rest * f, s.f = rest * i, s.g = fmaf(2.0f, all * both, -1.0f);
        s.c = fmaf(s.f, c_prev, s.i * s.g);
        float o = denominator(fmaf(p[2], s.c, a[3])), t = denominator_of_twice(s.c);
        all = quotient_of_one(o * t);
        s.o = all * t;
        s.u = s.o * fmaf(2.0f, all * o, -1.0f);
        return s;
    }
#endif
    s.i = gate(hard, a_i), s.f = gate(hard, a_f), s.g = tanh_of(a[2]);
    s.c = fmaf(s.f, c_prev, s.i * s.g);
    s.o = gate(hard, fmaf(p[2], s.c, a[3]));
    s.u = s.o * tanh_of(s.c);
    return s;
}

// What is left of a step of a GRU unit whose reset gate acts after the matrix.
struct Gru {
    float r, z, n, q, u;
};

// `x` holds the input's part of r, z, n; `a` what the carried vector feeds: r, z, q, h.
__device__ __forceinline__ Gru gru(int hard, const float x[3], const float a[4], float q_bias) {
    Gru s;
    s.r = gate(hard, x[0] + a[0]);
    s.z = gate(hard, x[1] + a[1]);
    s.q = a[2] + q_bias;
    s.n = tanh_of(fmaf(s.r, s.q, x[2]));
    s.u = fmaf(s.z, a[3], (1.0f - s.z) * s.n);
    return s;
}

// The adjoint of `gru`: from du to dx (r, z, n) and da (r, z, q, h).
__device__ __forceinline__ void gru_back(int hard, const Gru &s, float h, float saturation,
                                         float writing, float du, float dx[3], float da[4]) {
    du = bounded(du);
    dx[2] = candidate_back(saturation, s.n, du * (1.0f - s.z));
    dx[0] = gate_back(hard, saturation, s.r, dx[2] * s.q);
    dx[1] = gate_back(hard, saturation, s.z, fmaf(du, h - s.n, -writing));
    da[0] = dx[0], da[1] = dx[1], da[2] = dx[2] * s.r, da[3] = du * s.z;
}

// The adjoint of `lstm`: from du and dc to da (i, f, g, o); returns ∂/∂c_prev.
__device__ __forceinline__ float lstm_back_from(int hard, const Lstm &s, float tanh_c, const float p[3],
                                                float c_prev, float saturation, float writing,
                                                float du, float dc, float da[4]) {
    du = bounded(du);
    da[3] = gate_back(hard, saturation, s.o, du * tanh_c);
    dc += du * s.o * fmaf(-tanh_c, tanh_c, 1.0f);
    dc = fmaf(da[3], p[2], dc);
    da[0] = gate_back(hard, saturation, s.i, fmaf(dc, s.g, writing));
    da[1] = gate_back(hard, saturation, s.f, dc * c_prev);
    da[2] = candidate_back(saturation, s.g, dc * s.i);
    return bounded(fmaf(da[0], p[0], fmaf(da[1], p[1], dc * s.f)));
}
// The same where tanh(c) is not at hand.
__device__ __forceinline__ float lstm_back(int hard, const Lstm &s, const float p[3], float c_prev,
                                           float saturation, float writing, float du, float dc,
                                           float da[4]) {
    return lstm_back_from(hard, s, tanh_of(s.c), p, c_prev, saturation, writing, du, dc, da);
}

// What `lstm_back` makes of du and dc, as multiples of them: made before these are known, they
// leave little to do when they are. Those ending in 0 are there where terms of the loss draw.
struct LstmSlopes {
    float o, c, i, f, g, prev, o0, c0, i0, f0, g0, prev0;
    // da (i, f, g, o); returns ∂/∂c_prev. `presses` says whether there are such terms.
    __device__ __forceinline__ float back(int presses, float du, float dc, float da[4]) const {
        du = bounded(du);
        dc = fmaf(du, c, dc);
        da[3] = du * o;
        if (presses) da[3] += o0, dc += c0;
        da[0] = dc * i, da[1] = dc * f, da[2] = dc * g;
        float to_prev = dc * prev;
        if (presses) da[0] += i0, da[1] += f0, da[2] += g0, to_prev += prev0;
        return bounded(to_prev);
    }
};

__device__ __forceinline__ LstmSlopes lstm_slopes(int hard, const Lstm &s, const float p[3], float c_prev,
                                                  float saturation, float writing) {
    LstmSlopes to;
    float tanh_c = tanh_of(s.c);
    to.o = gate_back(hard, 0.0f, s.o, tanh_c), to.o0 = gate_back(hard, saturation, s.o, 0.0f);
    to.c = fmaf(to.o, p[2], s.o * fmaf(-tanh_c, tanh_c, 1.0f)), to.c0 = to.o0 * p[2];
    to.i = gate_back(hard, 0.0f, s.i, s.g), to.i0 = gate_back(hard, saturation, s.i, writing);
    to.f = gate_back(hard, 0.0f, s.f, c_prev), to.f0 = gate_back(hard, saturation, s.f, 0.0f);
    to.g = candidate_back(0.0f, s.g, s.i), to.g0 = candidate_back(saturation, s.g, 0.0f);
    to.prev = fmaf(to.i, p[0], fmaf(to.f, p[1], s.f)), to.prev0 = fmaf(to.i0, p[0], to.f0 * p[1]);
    return to;
}

// How far a unit's gates are from 0 and 1, and its candidate from ±1.
__device__ __forceinline__ float unsaturated(float y) { return y * (1.0f - y); }
__device__ __forceinline__ float unsaturated_candidate(float y) {
    return 0.25f * fmaf(-y, y, 1.0f);
}
