//! The state of a training.

/// The state of a training run: parameters and the optimiser's state.
#[derive(Clone, Debug, PartialEq)]
pub struct Snapshot<F> {
    /// The parameters.
    pub params: Vec<F>,
    /// The optimiser's moments ([`Rule::moments`](crate::Rule::moments)), each as long as the
    /// parameters.
    pub moments: Vec<Vec<F>>,
    /// Updates made so far.
    pub updates: u64,
}
