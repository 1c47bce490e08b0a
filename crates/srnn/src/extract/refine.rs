//! A search for the coarsest tolerance of a cover that passes the tests.
//!
//! A cover that is too coarse merges states that the network distinguishes. Its automaton then
//! disagrees with the network on some word. So the tolerance is halved until two conditions hold: the
//! automaton agrees with the network on every test word, and the next finer cover has the same
//! minimal automaton.

use super::{Agreement, ClassifiedWords, ClosedCover, Cover, TransitionSystem, agreement, cover};
use srnn_automata::Moore;

/// Settings of the search for a tolerance.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RefineConfig {
    /// The first tolerance. Default 0.1.
    pub tolerance: f64,
    /// If the first cover does not close, its tolerance is doubled up to this. Default 0.8: α at L1
    /// distance 1 have less than half of their weight in common.
    pub coarsest: f64,
    /// How often the tolerance of a closed cover is halved. Default 6.
    pub halvings: usize,
    /// Cap on the cells of a cover. Default 4,096.
    pub cap: usize,
}

impl Default for RefineConfig {
    fn default() -> Self {
        RefineConfig { tolerance: 0.1, coarsest: 0.8, halvings: 6, cap: 4096 }
    }
}

/// The covers tried, and the best one.
#[derive(Clone, Debug, PartialEq)]
pub struct RefinedCover {
    /// Every cover tried, in order.
    pub attempts: Vec<CoverAttempt>,
    /// The best cover; `None` if none closed.
    pub kept: Option<KeptCover>,
}

/// One tolerance tried.
#[derive(Clone, Debug, PartialEq)]
pub struct CoverAttempt {
    /// The tolerance.
    pub tolerance: f64,
    /// Cells found.
    pub cells: usize,
    /// The result; `None` if the cover ran into the cap on cells.
    pub closed: Option<ClosedAttempt>,
}

/// The result of a tolerance at which the cover closed.
#[derive(Clone, Debug, PartialEq)]
pub struct ClosedAttempt {
    /// States of the minimal automaton.
    pub minimal_states: usize,
    /// Its agreement with the network on the test words.
    pub agreement: Agreement,
}

/// The best cover of a search.
#[derive(Clone, Debug, PartialEq)]
pub struct KeptCover {
    /// The cover.
    pub cover: ClosedCover,
    /// Its minimal automaton.
    pub minimal: Moore<u32>,
    /// Its agreement with the network on the test words.
    pub agreement: Agreement,
    /// The evidence for it.
    pub status: CoverStatus,
}

/// The evidence for a cover; none of these is a proof.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum CoverStatus {
    /// It agrees with the network on every test word, and a cover with this finer tolerance gives
    /// the same minimal automaton.
    Confirmed {
        /// The finer tolerance.
        finer: f64,
    },
    /// It agrees with the network on every test word, but no finer cover confirms it: they give
    /// other automata, or do not close.
    Unconfirmed,
    /// It disagrees with the network on some test word, and so did all other covers tried.
    Disagrees,
}

/// Covers the network with the coarsest tolerance that passes the tests.
///
/// # Panics
/// If the tolerance is not a number above 0.
pub fn refine(
    system: &TransitionSystem,
    tests: &[ClassifiedWords],
    config: &RefineConfig,
) -> RefinedCover {
    assert!(config.tolerance > 0.0, "tolerance {}: must be above 0", config.tolerance);
    let mut search = ToleranceSearch { system, tests, config, attempts: vec![] };
    let Some(mut best) = search.first_closed() else {
        return RefinedCover { attempts: search.attempts, kept: None };
    };
    let mut last = best.clone();
    for _ in 0..config.halvings {
        let finer = last.cover.tolerance / 2.0;
        let Some(next) = search.attempt(finer) else { break };
        if last.agreement.is_total() && next.minimal == last.minimal {
            last.status = CoverStatus::Confirmed { finer };
            best = last;
            break;
        }
        if next.agreement.equal > best.agreement.equal || next.agreement.is_total() {
            best = next.clone();
        }
        last = next;
    }
    RefinedCover { attempts: search.attempts, kept: Some(best) }
}

struct ToleranceSearch<'a> {
    system: &'a TransitionSystem<'a>,
    tests: &'a [ClassifiedWords],
    config: &'a RefineConfig,
    attempts: Vec<CoverAttempt>,
}

impl ToleranceSearch<'_> {
    /// Doubles the tolerance until a cover closes. A coarse cover may be right; the test words
    /// decide.
    fn first_closed(&mut self) -> Option<KeptCover> {
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

    /// Tries a tolerance, unless an earlier attempt with it did not close.
    fn attempt(&mut self, tolerance: f64) -> Option<KeptCover> {
        if self.attempts.iter().any(|a| a.tolerance == tolerance && a.closed.is_none()) {
            return None;
        }
        let cover = cover(self.system, tolerance, self.config.cap);
        let cells = cover.len();
        let kept = match cover {
            Cover::Closed(closed) => Some(self.evaluate(closed)),
            Cover::Open(_) => None,
        };
        let closed = kept.as_ref().map(|kept| ClosedAttempt {
            minimal_states: kept.minimal.state_count(),
            agreement: kept.agreement.clone(),
        });
        self.attempts.push(CoverAttempt { tolerance, cells, closed });
        kept
    }

    fn evaluate(&self, cover: ClosedCover) -> KeptCover {
        let minimal = cover.extracted.minimal.clone().expect("a closed cover is complete");
        let automaton = &cover.extracted.automaton;
        let agreements = self.tests.iter().map(|test| agreement(test, automaton));
        let agreement = agreements.fold(Agreement::default(), |sum, next| sum.and(&next));
        let status = match agreement.is_total() {
            true => CoverStatus::Unconfirmed,
            false => CoverStatus::Disagrees,
        };
        KeptCover { cover, minimal, agreement, status }
    }
}
