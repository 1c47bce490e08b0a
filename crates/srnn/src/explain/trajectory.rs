//! The steps of one string.

use super::{Observation, Vector};
use serde::Serialize;

/// The steps of a layer on one string. Vectors are rows; fields that were not observed are empty.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Trajectory {
    /// The token of each step `[T]`.
    pub tokens: Vec<String>,
    /// h of each step `[T][D]`.
    pub h: Vec<Vec<f64>>,
    /// c of each step `[T][D]`.
    pub c: Vec<Vec<f64>>,
    /// α of each step `[T][K]`.
    pub alpha: Vec<Vec<f64>>,
}

/// The steps of row `b`; `name` gives the name of a token.
///
/// # Panics
/// If there is no such row.
pub fn trajectory(observation: &Observation, b: usize, name: impl Fn(u32) -> String) -> Trajectory {
    let vectors = |which: Vector| match observation.vector(which).is_empty() {
        true => vec![],
        false => observation.row(b).map(|n| observation.vector_at(which, n).to_vec()).collect(),
    };
    Trajectory {
        tokens: observation
            .row(b)
            .filter_map(|n| observation.tokens.get(n))
            .map(|&id| name(id))
            .collect(),
        h: vectors(Vector::H),
        c: vectors(Vector::C),
        alpha: match observation.alpha.is_empty() {
            true => vec![],
            false => observation.row(b).map(|n| observation.alpha_at(n).to_vec()).collect(),
        },
    }
}

/// Transposes `[T][D]` to `[D][T]`: one row per unit.
pub fn transposed(steps: &[Vec<f64>]) -> Vec<Vec<f64>> {
    let width = steps.first().map_or(0, Vec::len);
    (0..width).map(|j| steps.iter().map(|step| step[j]).collect()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_of_a_trace_is_a_trajectory_with_its_tokens() {
        let observation = Observation {
            offsets: vec![0, 1, 3],
            tokens: vec![0, 1, 0],
            units: 2,
            centroids: 1,
            alpha: vec![1.0; 3],
            h: vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0],
            ..Observation::default()
        };
        let path = trajectory(&observation, 1, |id| format!("t{id}"));
        assert_eq!(path.tokens, ["t1", "t0"]);
        assert_eq!(path.h, [[3.0, 4.0], [5.0, 6.0]]);
        assert_eq!((path.alpha.len(), path.c.len()), (2, 0));
        assert_eq!(transposed(&path.h), [[3.0, 5.0], [4.0, 6.0]]);
    }
}
