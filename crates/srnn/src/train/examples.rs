//! What a network can be trained on: the loop knows sequences by number and length, and asks for
//! batches of them.

use super::batch::batch;
use super::job::JobError;
use crate::engine::Batch;
use crate::model::{Arch, Input, When};
use crate::task::{Dataset, Sequence};

/// Sequences with what a network should say about them.
///
/// One implementation a kind of data: it alone knows what its inputs and targets are, and which
/// architectures can read them.
pub trait Examples {
    /// How many sequences there are.
    fn count(&self) -> usize;

    /// The steps of a sequence, without start and end tokens: what the curriculum goes by.
    fn length(&self, index: usize) -> usize;

    /// The sequences at `indices` as the architecture reads them, with their targets.
    ///
    /// # Panics
    /// If an index is out of range.
    fn batch(&self, indices: &[usize], arch: &Arch) -> Batch;

    /// Refuses an architecture that cannot be trained on this set, and sequences that are not
    /// what the set says; `set` names it in errors.
    fn check(&self, set: &'static str, arch: &Arch) -> Result<(), JobError>;

    /// Equal exactly for equal sets: a checkpoint goes on with no others.
    fn digest(&self) -> String;

    /// The memory they take, about.
    fn bytes(&self) -> u64;
}

impl Examples for Dataset {
    fn count(&self) -> usize {
        self.sequences.len()
    }

    fn length(&self, index: usize) -> usize {
        self.sequences[index].tokens.len()
    }

    fn batch(&self, indices: &[usize], arch: &Arch) -> Batch {
        batch(self, indices, arch)
    }

    fn check(&self, set: &'static str, arch: &Arch) -> Result<(), JobError> {
        let data = "labelled sequences";
        if arch.readout.when == When::EveryStep {
            let remedy = "read out after the last step";
            return Err(JobError::Unsupported { data, what: "a read-out at every step", remedy });
        }
        let symbols = symbols(data, arch)?;
        check_sizes(set, [self.count(), self.alphabet.len(), self.classes.len()], arch)?;
        check_ranges(set, &self.sequences, symbols, arch.classes)
    }

    fn digest(&self) -> String {
        self.digest()
    }

    fn bytes(&self) -> u64 {
        let tokens: u64 = self.sequences.iter().map(|s| s.tokens.len() as u64).sum();
        let sequences = self.sequences.len() as u64 * size_of::<Sequence>() as u64;
        tokens * size_of::<u32>() as u64 + sequences
    }
}

/// The symbols that the network knows; `data` cannot be read by one that reads no tokens.
fn symbols(data: &'static str, arch: &Arch) -> Result<usize, JobError> {
    match arch.input {
        Input::Tokens { symbols, .. } => Ok(symbols),
        Input::Real { .. } => {
            let remedy = "give it tokens";
            Err(JobError::Unsupported { data, what: "real-valued inputs", remedy })
        }
    }
}

/// The numbers of sequences, symbols and classes of a set against those of the network.
fn check_sizes(set: &'static str, sizes: [usize; 3], arch: &Arch) -> Result<(), JobError> {
    let [sequences, symbols, classes] = sizes;
    if sequences == 0 {
        return Err(JobError::Empty { set });
    }
    let known =
        arch.input.vocabulary() - arch.input.start().iter().len() - arch.input.end().iter().len();
    for (what, found, expected) in [("symbols", symbols, known), ("classes", classes, arch.classes)]
    {
        if found != expected {
            return Err(JobError::Sizes { set, what, found, expected });
        }
    }
    Ok(())
}

fn check_ranges(
    set: &'static str,
    sequences: &[Sequence],
    symbols: usize,
    classes: usize,
) -> Result<(), JobError> {
    for (index, sequence) in sequences.iter().enumerate() {
        let wrong = sequence.tokens.iter().find(|&&token| token as usize >= symbols);
        if let Some(&found) = wrong {
            return Err(JobError::OutOfRange { set, index, what: "token", found, limit: symbols });
        }
        let found = sequence.label;
        if found as usize >= classes {
            return Err(JobError::OutOfRange { set, index, what: "label", found, limit: classes });
        }
    }
    Ok(())
}
