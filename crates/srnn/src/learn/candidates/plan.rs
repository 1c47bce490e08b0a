//! Which networks are compared, with recipes that follow from the data and from a time budget.

use super::{CandidateKind, Preference};
use crate::engine::{Optimiser, Rule};
use crate::extract::ExtractConfig;
use crate::learn::LearnRequest;
use crate::model::Init;
use crate::task::{Dataset, Split};
use crate::train::{
    ArchName, Averaging, EarlyStopping, KeepModel, LearningRate, Recipe, Regularisation, Schedule,
    Sizes, TrainConfig, estimate, recipe_default,
};

/// The candidates to compare with the SR-GRU of a request.
#[derive(Clone, Debug, PartialEq)]
pub struct CandidatePlan {
    /// How the kept candidate is chosen.
    pub preference: Preference,
    /// The networks to train, each with its own recipe.
    pub networks: Vec<(CandidateKind, Recipe)>,
    /// The seeds of each.
    pub seeds: Vec<u64>,
}

/// The number of cores that a budget assumes. The plan must not depend on the machine: the same
/// command gives the same result everywhere.
const CORES: f64 = 2.0;

/// The share of the budget that the SR-GRU gets; the other networks share the rest.
const AUTOMATON_SHARE: f64 = 0.5;

/// Seeds of each network besides the SR-GRU.
const SEEDS: usize = 2;

/// Centroids of the SR-LSTM-P.
const CENTROIDS: usize = 10;

/// Passes over the training set, and bounds on the updates that they take.
const PASSES: usize = 60;
const UPDATES: std::ops::RangeInclusive<u64> = 1_000..=6_000;
const BATCH: usize = 32;

/// Fewer updates teach a network nothing, so a small budget is exceeded instead.
const MIN_UPDATES: u64 = 150;

/// Automata with more states are not searched for. A network that memorises wrong labels has some
/// hundred states, and its automaton is simplified.
const MAX_STATES: usize = 512;

/// Evaluations of a run, and how many of them without an improvement end it.
const EVALUATIONS: u64 = 20;
const PATIENCE: usize = 8;

impl CandidatePlan {
    /// The plan for a data set and a budget in seconds on two cores.
    pub fn new(split: &Split, seeds: &[u64], preference: Preference, budget: f64) -> CandidatePlan {
        let seeds: Vec<u64> = seeds.iter().copied().take(SEEDS).collect();
        let share = CORES * budget * (1.0 - AUTOMATON_SHARE) / CandidateKind::NETWORKS.len() as f64;
        let network = |(kind, arch)| (kind, network_recipe(arch, split, seeds.len(), share));
        let networks = CandidateKind::NETWORKS.into_iter().map(network).collect();
        CandidatePlan { preference, networks, seeds }
    }

    /// The request with lower limits on the states of automata: an automaton that is too large to be
    /// kept need not be searched for at length.
    pub(in crate::learn) fn limit_states<'a>(
        &self,
        request: &LearnRequest<'a>,
    ) -> LearnRequest<'a> {
        let mut limited = request.clone();
        let ExtractConfig { hard_cap, refine, .. } = &mut limited.extraction;
        *hard_cap = (*hard_cap).min(MAX_STATES);
        refine.cap = refine.cap.min(MAX_STATES);
        limited.proof.cells = limited.proof.cells.min(MAX_STATES);
        limited
    }

    /// The recipe of the SR-GRU, shortened if it would take more than its share of a budget in
    /// seconds on two cores, and the number of seeds that the budget allows.
    pub fn fit_automaton(
        recipe: &Recipe,
        split: &Split,
        seeds: usize,
        budget: f64,
    ) -> (Recipe, usize) {
        let share = CORES * budget * AUTOMATON_SHARE;
        let one = cost(recipe, &split.train, 1);
        let allowed = ((share / one) as usize).clamp(1, seeds.max(1));
        let mut recipe = recipe.clone();
        shorten(&mut recipe, one, share);
        (recipe, allowed)
    }
}

/// A network without homotopy and hardening: regularised, with a falling learning rate, and the
/// evaluation with the lowest validation loss kept.
fn network_recipe(arch: ArchName, split: &Split, seeds: usize, share: f64) -> Recipe {
    let Dataset { alphabet, classes, sequences } = &split.train;
    let units = if sequences.len() < 2_000 { 64 } else { 100 };
    let sizes = Sizes { arch, units, k: CENTROIDS, ..Sizes::of(alphabet.len(), classes.len()) };
    let passes = (PASSES * sequences.len() / BATCH) as u64;
    let updates = passes.clamp(*UPDATES.start(), *UPDATES.end());
    let train = TrainConfig {
        optimiser: Optimiser { weight_decay: 0.01, ..Optimiser::new(Rule::ADAM, 1.0) },
        learning_rate: LearningRate::Cosine { rate: 2e-3, last: 0.0 },
        batch_size: BATCH,
        schedule: Schedule::plain(updates),
        regularisation: Regularisation {
            readout_dropout: 0.3,
            embedding_dropout: 0.1,
            averaging: Averaging::Exponential { every: 10, decay: 0.9 },
            ..Regularisation::default()
        },
        validate_every: (updates / EVALUATIONS).max(1),
        keep: KeepModel::LowestLoss,
        stopping: EarlyStopping::Patience { evaluations: PATIENCE },
        ..TrainConfig::default()
    };
    let steps = typical_length(&split.train);
    // Half-open forget gates forget the first of 30 tokens before the last; the GRU has no such bias.
    let chrono = (arch.has_cell_state() && steps >= 3).then_some(steps);
    let init = Init { chrono, ..Init::default() };
    let mut recipe = Recipe { init, train, ..recipe_default(&sizes) };
    let needed = cost(&recipe, &split.train, seeds);
    shorten(&mut recipe, needed, share);
    recipe
}

/// Scales the updates so that `needed` core-seconds become `allowed`.
fn shorten(recipe: &mut Recipe, needed: f64, allowed: f64) {
    if needed <= allowed {
        return;
    }
    let train = &mut recipe.train;
    let updates = train.schedule.updates();
    let fewer = ((updates as f64 * allowed / needed) as u64).max(MIN_UPDATES.min(updates));
    train.schedule = train.schedule.scaled_to(fewer);
    train.validate_every = train.validate_every.min((fewer / EVALUATIONS).max(1));
}

/// Estimated core-seconds.
fn cost(recipe: &Recipe, train: &Dataset, seeds: usize) -> f64 {
    estimate(&recipe.arch, &recipe.train, train, seeds).core_seconds.max(1e-3)
}

/// The length that nine of ten training sequences do not exceed.
fn typical_length(train: &Dataset) -> usize {
    let mut lengths: Vec<usize> = train.sequences.iter().map(|s| s.tokens.len()).collect();
    lengths.sort_unstable();
    lengths.get(lengths.len() * 9 / 10).copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::Key;
    use crate::task::tomita::{Grammar, sets};

    #[test]
    fn a_small_budget_shortens_every_network_and_a_large_one_none() {
        let split = sets(Grammar::T3, &Key::new(1));
        let plan = |budget| CandidatePlan::new(&split, &[1, 2, 3], Preference::default(), budget);
        let (large, small) = (plan(1e6), plan(1.0));
        assert_eq!(large.seeds, [1, 2]);
        let updates = |plan: &CandidatePlan| -> Vec<u64> {
            plan.networks.iter().map(|(_, recipe)| recipe.train.schedule.updates()).collect()
        };
        let (long, short) = (updates(&large), updates(&small));
        assert!(long.iter().zip(&short).all(|(long, short)| long > short), "{long:?} {short:?}");
        assert!(short.iter().all(|&updates| updates >= MIN_UPDATES));
        for (kind, recipe) in &small.networks {
            recipe.train.validate().unwrap();
            assert_eq!(recipe.init.chrono.is_some(), *kind != CandidateKind::Gru);
        }
    }

    #[test]
    fn the_automaton_gets_fewer_seeds_before_its_schedule_is_shortened() {
        let split = sets(Grammar::T3, &Key::new(1));
        let recipe = recipe_default(&Sizes::of(2, 2));
        let one = cost(&recipe, &split.train, 1);
        let fit = |budget| CandidatePlan::fit_automaton(&recipe, &split, 4, budget);
        assert_eq!(fit(1e6), (recipe.clone(), 4));
        let (whole, seeds) = fit(2.2 * one);
        assert_eq!((whole, seeds), (recipe.clone(), 2));
        let (short, seeds) = fit(0.5 * one);
        assert_eq!(seeds, 1);
        let updates = short.train.schedule.updates();
        assert_eq!(updates, recipe.train.schedule.updates() / 2);
    }
}
