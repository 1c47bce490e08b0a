//! Regularisation of a run: dropout, noise on the inputs, and weight averaging.
//!
//! Weight decay is part of the optimiser. All randomness is keyed by the update, so that a resumed
//! run makes the same updates.

use crate::engine::{Dropout, Real};
use crate::key::Key;
use serde::{Deserialize, Serialize};

/// Regularisation of a run. Default: none. Evaluations see neither dropout nor noise.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Regularisation {
    /// Probability that a number which the classifier reads is set to zero.
    pub readout_dropout: f64,
    /// Probability that a number of an embedding is set to zero, for a whole update.
    pub embedding_dropout: f64,
    /// Noise on the inputs.
    pub noise: InputNoise,
    /// Averaging of the weights.
    pub averaging: Averaging,
}

/// Noise on the training inputs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct InputNoise {
    /// Probability that a token is replaced by `<unk>`.
    pub word_dropout: f64,
    /// Images are moved by up to this many pixels, up or down and left or right.
    pub shift: usize,
}

/// Whether the result is an average over updates instead of the parameters of one update. Then
/// evaluations are of the average, too.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum Averaging {
    /// No average.
    #[default]
    Never,
    /// The exponential moving average of the parameters after every `every`-th update.
    Exponential {
        /// Updates between two samples.
        every: u64,
        /// The weight of the average so far when a sample is added.
        decay: f64,
    },
}

impl Regularisation {
    /// Whether there is none. Then it is not written to configuration files.
    pub(super) fn is_none(&self) -> bool {
        *self == Regularisation::default()
    }

    /// The dropout of an update.
    pub(super) fn dropout(&self, update: u64, key: &Key) -> Dropout {
        let Regularisation { readout_dropout: readout, embedding_dropout: embedding, .. } = *self;
        match readout == 0.0 && embedding == 0.0 {
            true => Dropout::NONE,
            false => {
                Dropout { readout, embedding, seed: key.child("dropout", update).rng().bits() }
            }
        }
    }
}

impl Averaging {
    /// Adds the parameters after `updates` updates to the average, if a sample is due.
    pub(super) fn add_sample<F: Real, E>(
        &self,
        average: &mut Option<Vec<F>>,
        updates: u64,
        params: impl FnOnce() -> Result<Vec<F>, E>,
    ) -> Result<(), E> {
        let Averaging::Exponential { every, decay } = *self else { return Ok(()) };
        if !updates.is_multiple_of(every) {
            return Ok(());
        }
        let params = params()?;
        match average {
            None => *average = Some(params),
            Some(average) => {
                let (keep, take) = (F::of(decay), F::of(1.0 - decay));
                average.iter_mut().zip(params).for_each(|(a, p)| *a = keep * *a + take * p);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masks_differ_from_update_to_update_and_from_key_to_key() {
        let some = Regularisation { readout_dropout: 0.5, ..Regularisation::default() };
        let seed = |update, key| some.dropout(update, &Key::new(key)).seed;
        assert_eq!(seed(3, 1), seed(3, 1));
        assert_ne!(seed(3, 1), seed(4, 1));
        assert_ne!(seed(3, 1), seed(3, 2));
        assert_eq!(Regularisation::default().dropout(3, &Key::new(1)), Dropout::NONE);
    }

    #[test]
    fn the_average_moves_towards_every_sample_that_is_due() {
        let averaging = Averaging::Exponential { every: 10, decay: 0.75 };
        let mut average: Option<Vec<f64>> = None;
        for (updates, value) in [(5, 100.0), (10, 4.0), (15, 100.0), (20, 8.0)] {
            let sample = || Ok::<_, ()>(vec![value]);
            averaging.add_sample(&mut average, updates, sample).unwrap();
        }
        assert_eq!(average, Some(vec![5.0]));
        let unread = || -> Result<Vec<f64>, ()> { panic!("no sample is due") };
        Averaging::Never.add_sample(&mut average, 10, unread).unwrap();
    }
}
