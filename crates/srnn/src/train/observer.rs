//! Observers of a run: the events they receive, and what they may request.

use super::checkpoint::CheckpointError;
use super::progress::Record;
use super::schedule::Phase;
use crate::engine::{Regime, Step};

/// An event of a run.
#[derive(Debug)]
pub enum Event<'a> {
    /// The run starts, or resumes after `update` updates.
    Started {
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
        /// The phase of this update.
        phase: Phase,
        /// λ, loss weights and learning rate of this update.
        regime: Regime,
        /// Loss and gradient norm of this update.
        step: Step,
        /// The number of tokens in its batch.
        tokens: usize,
    },
    /// An update was skipped because its gradient was not finite.
    UpdateSkipped {
        /// Updates made or skipped, this one included.
        update: u64,
    },
    /// The centroids were moved to hidden states by k-means++.
    Reseeded {
        /// Updates made.
        update: u64,
    },
    /// The network was evaluated.
    Evaluated(&'a Record),
    /// A checkpoint was given to the store.
    CheckpointSaved {
        /// Updates made.
        update: u64,
    },
    /// An unusable checkpoint was skipped in the search for the newest valid one.
    CheckpointSkipped(&'a CheckpointError),
}

/// What an observer requests after an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Control {
    /// Continue.
    Continue,
    /// Write a checkpoint and stop, without a result.
    Interrupt,
    /// The time limit is reached: write a checkpoint, evaluate and stop.
    TimeUp,
}

/// Receives the events of a run: for progress bars, metrics files, Ctrl-C, time limits.
pub trait Observer {
    /// Called for every event. The first request other than [`Control::Continue`] is final.
    fn event(&mut self, event: &Event<'_>) -> Control;
}

/// Every suitable closure is an observer.
impl<T: FnMut(&Event<'_>) -> Control> Observer for T {
    fn event(&mut self, event: &Event<'_>) -> Control {
        self(event)
    }
}

/// Ignores all events and never stops a run.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoObserver;

impl Observer for NoObserver {
    fn event(&mut self, _: &Event<'_>) -> Control {
        Control::Continue
    }
}
