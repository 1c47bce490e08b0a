//! Softmax and argmax in double precision.

/// The index of the largest value; the first of equals.
pub fn argmax(values: &[f64]) -> usize {
    (0..values.len()).fold(0, |best, i| if values[i] > values[best] { i } else { best })
}

/// `ln softmax`, shifted by the largest logit so that nothing overflows.
pub fn log_softmax(logits: &[f64]) -> Vec<f64> {
    let largest = logits[argmax(logits)];
    let sum: f64 = logits.iter().map(|l| (l - largest).exp()).sum();
    logits.iter().map(|l| l - largest - sum.ln()).collect()
}
