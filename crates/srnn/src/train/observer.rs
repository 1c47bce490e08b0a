//! Whoever watches a run: what it is told, and what it may ask for.

use super::checkpoint::CheckpointError;
use super::progress::Record;
use super::schedule::Phase;
use crate::engine::{Regime, Step};

/// What happens in a run.
#[derive(Debug)]
pub enum Event<'a> {
    /// The run begins, or goes on, after `update` updates.
    Begun {
        /// Updates made.
        update: u64,
        /// Updates of the schedule.
        updates: u64,
    },
    /// An update was made.
    Updated {
        /// Updates made, this one included.
        update: u64,
        /// Updates of the schedule.
        updates: u64,
        /// The phase of this one.
        phase: Phase,
        /// λ, weights, step size of this one.
        regime: Regime,
        /// Its loss and gradient.
        step: Step,
        /// Tokens it read.
        tokens: usize,
    },
    /// An update was not made, because its gradient was not a number.
    Lost {
        /// Updates made or lost, this one included.
        update: u64,
    },
    /// The centroids were moved to hidden states.
    Reseeded {
        /// Updates made.
        update: u64,
    },
    /// The network was evaluated.
    Evaluated(&'a Record),
    /// A checkpoint was handed to the keeper.
    Saved {
        /// Updates made.
        update: u64,
    },
    /// A checkpoint that cannot be used was passed over in looking for the newest good one.
    Skipped(&'a CheckpointError),
}

/// What an observer wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Control {
    /// Go on.
    Continue,
    /// Write a checkpoint and end.
    Interrupt,
    /// Write a checkpoint, evaluate, and end: the clock is the observer's.
    TimeUp,
}

/// Whoever watches a run: progress bars, metrics files, Ctrl-C, a clock. Closures are observers.
pub trait Observer {
    /// Is told of an event, and says whether to go on.
    fn event(&mut self, event: &Event<'_>) -> Control;
}

/// A closure is one.
impl<T: FnMut(&Event<'_>) -> Control> Observer for T {
    fn event(&mut self, event: &Event<'_>) -> Control {
        self(event)
    }
}

/// Watches nothing and never asks to stop.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

impl Observer for Silent {
    fn event(&mut self, _: &Event<'_>) -> Control {
        Control::Continue
    }
}
