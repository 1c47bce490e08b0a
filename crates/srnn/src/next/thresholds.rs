//! When a sequence is anomalous: thresholds on its surprises, from held-out normal sequences.

use super::surprise::{SequenceSurprise, StepSurprise};
use serde::{Deserialize, Serialize};

/// Thresholds above which a sequence is anomalous, by three criteria.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AnomalyThresholds {
    /// The fraction of the validation sequences that may be above each threshold.
    pub flagged: f64,
    /// The number of validation sequences.
    pub sequences: usize,
    /// g: a sequence is anomalous if a token is not among the g most probable ones.
    pub top_g: u32,
    /// A sequence is anomalous if a step has more bits. It is infinite, and no sequence is, if the
    /// model gives probability 0 to tokens of too many validation sequences.
    #[serde(with = "bits")]
    pub max_bits: f64,
    /// A sequence is anomalous if the mean over its steps has more bits.
    #[serde(with = "bits")]
    pub mean_bits: f64,
}

/// Bits in JSON, which has no infinite numbers: they are the text `infinite`.
mod bits {
    use serde::{Deserialize, Deserializer, Serialize as _, Serializer, de::Error as _};

    const INFINITE: &str = "infinite";

    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Bits {
        Finite(f64),
        Text(String),
    }

    pub fn serialize<S: Serializer>(bits: &f64, serializer: S) -> Result<S::Ok, S::Error> {
        match *bits == f64::INFINITY {
            true => INFINITE.serialize(serializer),
            false => bits.serialize(serializer),
        }
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
        match Bits::deserialize(deserializer) {
            Ok(Bits::Finite(bits)) => Ok(bits),
            Ok(Bits::Text(text)) if text == INFINITE => Ok(f64::INFINITY),
            _ => Err(D::Error::custom(
                "a threshold is neither a number nor \"infinite\"; null was \
                                       written by an earlier version: learn again",
            )),
        }
    }
}

/// Which criteria call a sequence anomalous.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct AnomalyFlags {
    /// A token is not among the top g.
    pub top_g: bool,
    /// A step is too surprising. This criterion is the verdict.
    pub max: bool,
    /// The mean of the steps is too surprising.
    pub mean: bool,
}

/// Engines that round differently must not move a sequence over a threshold that it defines.
const MARGIN: f64 = 1e-4;

impl AnomalyThresholds {
    /// The least thresholds that flag at most the fraction `flagged` of the sequences.
    ///
    /// # Panics
    /// If there are no sequences.
    pub fn fit(sequences: &[SequenceSurprise], flagged: f64) -> AnomalyThresholds {
        let allowed = ((flagged * sequences.len() as f64) as usize).min(sequences.len() - 1);
        let quantile = |value: &dyn Fn(&SequenceSurprise) -> f64| {
            let mut values: Vec<f64> = sequences.iter().map(value).collect();
            values.sort_by(|a, b| b.total_cmp(a));
            values[allowed]
        };
        AnomalyThresholds {
            flagged,
            sequences: sequences.len(),
            top_g: quantile(&|s| f64::from(s.worst_rank())) as u32,
            max_bits: quantile(&SequenceSurprise::max_bits),
            mean_bits: quantile(&SequenceSurprise::mean_bits),
        }
    }

    /// The criteria that call a sequence anomalous.
    pub fn flags(&self, sequence: &SequenceSurprise) -> AnomalyFlags {
        AnomalyFlags {
            top_g: sequence.worst_rank() > self.top_g,
            max: sequence.max_bits() > self.max_bits + MARGIN,
            mean: sequence.mean_bits() > self.mean_bits + MARGIN,
        }
    }

    /// Whether a step alone makes a sequence anomalous.
    pub fn is_surprising(&self, step: &StepSurprise) -> bool {
        step.bits > self.max_bits + MARGIN
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sequence(bits: f64, rank: u32) -> SequenceSurprise {
        let quiet = StepSurprise { token: 0, bits: 0.0, rank: 1 };
        SequenceSurprise { steps: vec![quiet, StepSurprise { token: 1, bits, rank }] }
    }

    #[test]
    fn infinite_thresholds_are_written_so_that_they_read_back() {
        let set: Vec<_> = (0..10).map(|_| sequence(f64::INFINITY, 1)).collect();
        let thresholds = AnomalyThresholds::fit(&set, 0.1);
        assert_eq!((thresholds.max_bits, thresholds.mean_bits), (f64::INFINITY, f64::INFINITY));
        let text = serde_json::to_string(&thresholds).unwrap();
        assert!(text.contains("\"max_bits\":\"infinite\""), "{text}");
        assert_eq!(serde_json::from_str::<AnomalyThresholds>(&text).unwrap(), thresholds);
        let null = text.replace("\"infinite\"", "null");
        let refused = serde_json::from_str::<AnomalyThresholds>(&null).unwrap_err();
        assert!(refused.to_string().contains("null"), "{refused}");
    }

    #[test]
    fn at_most_the_given_fraction_of_the_held_out_sequences_is_flagged() {
        let set: Vec<_> = (1..=200).map(|i| sequence(f64::from(i) / 10.0, i / 40 + 1)).collect();
        for fraction in [0.0, 0.01, 0.05, 1.0] {
            let thresholds = AnomalyThresholds::fit(&set, fraction);
            let allowed = (fraction * 200.0) as usize;
            let count = |by: fn(AnomalyFlags) -> bool| {
                set.iter().filter(|s| by(thresholds.flags(s))).count()
            };
            assert_eq!(count(|f| f.max), allowed.min(199), "{fraction}");
            assert_eq!(count(|f| f.mean), allowed.min(199), "{fraction}");
            assert!(count(|f| f.top_g) <= allowed, "{fraction}");
        }
        let thresholds = AnomalyThresholds::fit(&set, 0.01);
        let strange = thresholds.flags(&sequence(50.0, 99));
        assert_eq!(strange, AnomalyFlags { top_g: true, max: true, mean: true });
        assert!(thresholds.flags(&sequence(f64::INFINITY, 1)).max);
        assert_eq!(thresholds.flags(&sequence(0.1, 1)), AnomalyFlags::default());
    }
}
