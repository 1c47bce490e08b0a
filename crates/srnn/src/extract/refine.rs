//! The tolerance of a cover, found by trying: as coarse as possible, and as fine as it takes.
//!
//! A cover that is too coarse mixes states that the network tells apart, and its automaton then
//! disagrees with the network on some word. So the tolerance is halved until the automaton agrees
//! with the network on every test word and the next finer cover gives the same minimal automaton.

use super::{Agreement, Answers, Closed, Cover, Memoryless, agreement, cover};
use srnn_automata::{Moore, Partial};

/// How the tolerance is looked for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Refine {
    /// The first tolerance. Default 0.1.
    pub tolerance: f64,
    /// Where the first does not close, it is doubled up to this. Default 0.8: α at L1 distance 1
    /// have less than half of their weight in common.
    pub coarsest: f64,
    /// How often a closed cover's tolerance is halved. Default 6.
    pub halvings: usize,
    /// Cap on the cells of a cover. Default 4,096.
    pub cap: usize,
}

impl Default for Refine {
    fn default() -> Self {
        Refine { tolerance: 0.1, coarsest: 0.8, halvings: 6, cap: 4096 }
    }
}

/// The covers tried, and the one kept.
#[derive(Clone, Debug, PartialEq)]
pub struct Refined {
    /// Every cover tried, in order.
    pub attempts: Vec<Attempt>,
    /// The cover kept; `None` if none closed.
    pub kept: Option<Kept>,
}

/// One tolerance tried.
#[derive(Clone, Debug, PartialEq)]
pub struct Attempt {
    /// The tolerance.
    pub tolerance: f64,
    /// Cells opened.
    pub cells: usize,
    /// What came of it; `None` where the cover ran into the cap on cells.
    pub closed: Option<ClosedAttempt>,
}

/// What came of a tolerance at which the cover closed.
#[derive(Clone, Debug, PartialEq)]
pub struct ClosedAttempt {
    /// States of the minimal automaton.
    pub minimal_states: usize,
    /// Its agreement with the network on the test words.
    pub agreement: Agreement,
}

/// The cover kept.
#[derive(Clone, Debug, PartialEq)]
pub struct Kept {
    /// The cover.
    pub cover: Closed,
    /// Its minimal automaton.
    pub minimal: Moore<u32>,
    /// Its agreement with the network on the test words.
    pub agreement: Agreement,
    /// How far it can be trusted.
    pub standing: Standing,
}

/// How far a cover can be trusted; none of these is a proof.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Standing {
    /// It agrees with the network on every test word, and a cover with this finer tolerance gives
    /// the same minimal automaton.
    Confirmed {
        /// The finer tolerance.
        finer: f64,
    },
    /// It agrees with the network on every test word, but no finer cover confirms it: they give
    /// other automata, or do not close.
    Unconfirmed,
    /// It disagrees with the network on some test word; no cover tried did better.
    Disagrees,
}

/// Covers the network with the coarsest tolerance that stands the tests.
///
/// # Panics
/// If the tolerance is not a number above 0.
pub fn refine(machine: &Memoryless, tests: &[Answers], config: &Refine) -> Refined {
    assert!(config.tolerance > 0.0, "tolerance {}: must be above 0", config.tolerance);
    let mut search = Search { machine, tests, config, attempts: vec![] };
    let Some(mut best) = search.first_closed() else {
        return Refined { attempts: search.attempts, kept: None };
    };
    let mut last = best.clone();
    for _ in 0..config.halvings {
        let finer = last.cover.tolerance / 2.0;
        let Some(next) = search.attempt(finer) else { break };
        if last.agreement.is_total() && next.minimal == last.minimal {
            last.standing = Standing::Confirmed { finer };
            best = last;
            break;
        }
        if next.agreement.equal > best.agreement.equal || next.agreement.is_total() {
            best = next.clone();
        }
        last = next;
    }
    Refined { attempts: search.attempts, kept: Some(best) }
}

struct Search<'a> {
    machine: &'a Memoryless<'a>,
    tests: &'a [Answers],
    config: &'a Refine,
    attempts: Vec<Attempt>,
}

impl Search<'_> {
    /// Doubles the tolerance until a cover closes. A coarse cover may well be right: the test
    /// words have the last word.
    fn first_closed(&mut self) -> Option<Kept> {
        let mut tolerance = self.config.tolerance;
        loop {
            if let Some(kept) = self.attempt(tolerance) {
                return Some(kept);
            }
            tolerance *= 2.0;
            if tolerance > self.config.coarsest {
                return None;
            }
        }
    }

    /// Tries one tolerance, unless it is known not to close.
    fn attempt(&mut self, tolerance: f64) -> Option<Kept> {
        if self.attempts.iter().any(|a| a.tolerance == tolerance && a.closed.is_none()) {
            return None;
        }
        let cover = cover(self.machine, tolerance, self.config.cap);
        let count = cover.len();
        let kept = match cover {
            Cover::Closed(closed) => Some(self.judge(closed)),
            Cover::Open(_) => None,
        };
        let closed = kept.as_ref().map(|kept| ClosedAttempt {
            minimal_states: kept.minimal.state_count(),
            agreement: kept.agreement.clone(),
        });
        self.attempts.push(Attempt { tolerance, cells: count, closed });
        kept
    }

    fn judge(&self, cover: Closed) -> Kept {
        let minimal = cover.extracted.minimal.clone().expect("a closed cover is complete");
        let automaton = Partial::from(&minimal);
        let agreements = self.tests.iter().map(|answers| agreement(answers, &automaton));
        let agreement = agreements.fold(Agreement::default(), |sum, next| sum.and(&next));
        let standing = match agreement.is_total() {
            true => Standing::Unconfirmed,
            false => Standing::Disagrees,
        };
        Kept { cover, minimal, agreement, standing }
    }
}
