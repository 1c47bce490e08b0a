//! Matrix times vector, as the equations write it; matrices are row-major.

/// `y += W x`, W `[m,n]`.
pub fn add_product(y: &mut [f64], w: &[f64], x: &[f64]) {
    for (y, row) in y.iter_mut().zip(w.chunks_exact(x.len())) {
        *y += dot(row, x);
    }
}

/// The adjoint of [`add_product`] in x: `dx += Wᵀ dy`.
pub fn add_product_dx(dx: &mut [f64], w: &[f64], dy: &[f64]) {
    for (dy, row) in dy.iter().zip(w.chunks_exact(dx.len())) {
        dx.iter_mut().zip(row).for_each(|(dx, w)| *dx += w * dy);
    }
}

/// The adjoint of [`add_product`] in W: `dW += dy xᵀ`.
pub fn add_product_dw(dw: &mut [f64], dy: &[f64], x: &[f64]) {
    for (dy, row) in dy.iter().zip(dw.chunks_exact_mut(x.len())) {
        row.iter_mut().zip(x).for_each(|(dw, x)| *dw += dy * x);
    }
}

/// `y += a x`.
pub fn add_scaled(y: &mut [f64], a: f64, x: &[f64]) {
    y.iter_mut().zip(x).for_each(|(y, x)| *y += a * x);
}

/// `y += x`.
pub fn add(y: &mut [f64], x: &[f64]) {
    add_scaled(y, 1.0, x);
}

/// `⟨a, b⟩`.
pub fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}
