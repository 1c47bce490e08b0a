//! Which networks are compared, with recipes that follow from the data and from a time budget.
//!
//! The budget is divided among all stages in advance, by estimates for two cores, because the same
//! command gives the same result on every machine:
//!
//! | stage | share | how it is kept |
//! |---|---|---|
//! | short training of the SR-GRU | 10 % | fewer updates; left out below 300 updates |
//! | other networks | 35 %, or 20 % beside their folds | fewer updates |
//! | folds of a cross-validation | 15 % | fewer updates; left out below 150 updates |
//! | full training of the SR-GRU | 30 % | fewer seeds, then fewer updates |
//! | training with corrected labels | 10 % | fewer seeds, then fewer updates |
//! | merging, selection, extraction, proof | 10 % | fewer steps: [`SearchLimits`] |
//! | n-grams, evaluations, files | 5 % | not limited |

use super::folds::{FOLDS, few_sequences, folds};
use super::{CandidateKind, MAX_READABLE_STATES, NgramModel, Preference};
use crate::engine::{Optimiser, Rule};
use crate::extract::ExtractConfig;
use crate::key::Key;
use crate::learn::{LearnRequest, SEEDS_AT_A_TIME};
use crate::model::Init;
use crate::task::{Dataset, Split};
use crate::train::{
    ArchName, Averaging, BUDGET_CORES, EVALUATIONS, EarlyStopping, KeepModel, KeepPhases,
    LearningRate, Recipe, Regularisation, Schedule, Sizes, TrainConfig, estimate, recipe_default,
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
    /// The cross-validation, if there are few labelled sequences.
    pub folds: Option<FoldPlan>,
    /// Limits of the searches before and after training.
    pub limits: SearchLimits,
    /// Candidates that would pass the memory limit, with the bytes that they would take.
    pub left_out: Vec<(CandidateKind, u64)>,
}

/// A cross-validation: every candidate is fitted once per fold.
#[derive(Clone, Debug, PartialEq)]
pub struct FoldPlan {
    /// One split per fold. Its test set is the fold; the rest is for training and selection.
    pub splits: Vec<Split>,
    /// The networks that the budget allows, with the recipe of a fold.
    pub networks: Vec<(CandidateKind, Recipe)>,
}

/// Limits of searches whose time does not follow from the recipe. They are numbers of steps, so they
/// do not depend on the machine.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SearchLimits {
    /// Updates of the short training.
    pub short_updates: u64,
    /// Seeds that are trained with corrected labels.
    pub retrained_seeds: usize,
    /// Updates of each of these.
    pub retrain_updates: u64,
    /// Steps of state merging.
    pub merge_steps: u64,
    /// Bytes of state merging beside the training words.
    pub merge_memory: usize,
    /// Steps of the search for wrong labels.
    pub label_steps: u64,
    /// Enclosures of the proof search.
    pub proof_steps: usize,
    /// States of an automaton that is searched for.
    pub states: usize,
    /// Words on which automata are compared with the network.
    pub words: usize,
}

/// The share of the budget that the SR-GRU's full training gets.
const AUTOMATON_SHARE: f64 = 0.3;
/// The share of its short training.
const SHORT_SHARE: f64 = 0.1;
/// The share of training with corrected labels.
const RETRAIN_SHARE: f64 = 0.1;
/// The share of the other networks, alone or beside the folds of a cross-validation.
const NETWORK_SHARE: f64 = 0.35;
const NETWORK_SHARE_BESIDE_FOLDS: f64 = 0.2;
/// The share of all searches.
const SEARCH_SHARE: f64 = 0.1;

/// A shorter training hardly ever solves a task.
const MIN_SHORT: u64 = 300;

/// Updates of the SR-GRU in a fold.
const FOLD_UPDATES: u64 = 1_000;

/// Seeds of each network besides the SR-GRU.
const SEEDS: usize = 2;

/// Centroids of the SR-LSTM-P.
const CENTROIDS: usize = 10;

/// Passes over the training set, and bounds on the updates that they take.
const PASSES: usize = 60;
const UPDATES: std::ops::RangeInclusive<u64> = 1_000..=6_000;
const BATCH: usize = 32;

/// Evaluations without an improvement that end a run.
const PATIENCE: usize = 8;

/// Automata with more states are not searched for. A network that memorises wrong labels has some
/// hundred states, and its automaton is simplified.
const MAX_STATES: usize = 512;

impl CandidatePlan {
    /// The plan for a data set and a budget in seconds on two cores. `recipe` is that of the SR-GRU.
    pub fn new(
        split: &Split,
        recipe: &Recipe,
        seeds: &[u64],
        preference: Preference,
        budget: f64,
    ) -> CandidatePlan {
        let seed = seeds.first().copied().unwrap_or_default();
        let few = few_sequences(split).then(|| folds(split, &Key::new(seed))).flatten();
        let share = if few.is_some() { NETWORK_SHARE_BESIDE_FOLDS } else { NETWORK_SHARE };
        let each = BUDGET_CORES * budget * share / CandidateKind::NETWORKS.len() as f64;
        let network = |(kind, arch)| {
            let mut network = network_recipe(arch, &split.train, &recipe.train.class_weights);
            let needed = cost(&network, &split.train, seeds.len().min(SEEDS));
            network.shorten(needed, each);
            (kind, network)
        };
        let fold_budget = budget * (NETWORK_SHARE - NETWORK_SHARE_BESIDE_FOLDS);
        CandidatePlan {
            preference,
            networks: CandidateKind::NETWORKS.into_iter().map(network).collect(),
            seeds: seeds.iter().copied().take(SEEDS).collect(),
            folds: few.map(|splits| FoldPlan::new(splits, recipe, fold_budget)),
            limits: SearchLimits::new(split, recipe, budget),
            left_out: vec![],
        }
    }

    /// Leaves out the candidates that would take more than `limit` bytes. It depends on the data alone:
    /// all seeds of a network are counted, whether or not there are as many threads. The memory of the
    /// request's SR-GRU is not looked at.
    pub fn limit_memory(&mut self, split: &Split, limit: u64) {
        let train = &split.train;
        let bytes =
            |recipe: &Recipe, seeds| estimate(&recipe.arch, &recipe.train, train, seeds).bytes;
        let networks = self.networks.iter().map(|(kind, r)| (*kind, bytes(r, self.seeds.len())));
        let others = [
            (CandidateKind::Ngrams, NgramModel::fit_bytes(train)),
            (CandidateKind::Merged, merging_bytes(train)),
        ];
        self.left_out = networks.chain(others).filter(|(_, needed)| *needed > limit).collect();
        self.limits.merge_memory = self.limits.merge_memory.min(limit as usize);
        if let Some(folds) = &mut self.folds {
            folds.networks.retain(|(_, recipe)| bytes(recipe, FOLDS) <= limit);
        }
    }

    /// Why a candidate is left out, if it is.
    pub(super) fn left_out(&self, kind: CandidateKind) -> Option<String> {
        let (_, needed) = self.left_out.iter().find(|(left_out, _)| *left_out == kind)?;
        Some(format!("left out: takes about {} MiB, more than the memory limit", needed >> 20))
    }

    /// The request with the limits of the plan: what is too large to be kept, or takes longer than the
    /// budget, is not searched for at length.
    pub(in crate::learn) fn limited<'a>(&self, request: &LearnRequest<'a>) -> LearnRequest<'a> {
        let SearchLimits { short_updates, proof_steps, states, words, .. } = self.limits;
        let mut limited = request.clone();
        limited.short_updates = limited.short_updates.min(short_updates);
        let ExtractConfig { hard_cap, refine, .. } = &mut limited.extraction;
        *hard_cap = (*hard_cap).min(states);
        refine.cap = refine.cap.min(states);
        limited.extraction.words = limited.extraction.words.min(words);
        limited.proof.cells = limited.proof.cells.min(states);
        limited.proof.steps = limited.proof.steps.min(proof_steps);
        limited
    }

    /// Whether an automaton may be kept; `None` if no cover is closed.
    pub(in crate::learn) fn may_keep(&self, states: Option<usize>) -> bool {
        let readable = states.is_some_and(|states| states <= MAX_READABLE_STATES);
        readable || matches!(self.preference, Preference::Automaton | Preference::Proof)
    }

    /// The recipe of the SR-GRU, shortened if it would take more than its share of a budget in
    /// seconds on two cores, and the number of seeds that the budget allows.
    pub fn fit_automaton(
        recipe: &Recipe,
        split: &Split,
        seeds: usize,
        budget: f64,
    ) -> (Recipe, usize) {
        let share = BUDGET_CORES * budget * AUTOMATON_SHARE;
        let one = cost(recipe, &split.train, 1);
        let allowed = ((share / one) as usize).clamp(1, seeds.max(1));
        let mut recipe = recipe.clone();
        recipe.shorten(one, share);
        (recipe, allowed)
    }
}

impl FoldPlan {
    /// The networks whose folds fit the budget without fewer updates than [`Recipe::shorten`] allows.
    fn new(splits: Vec<Split>, automaton: &Recipe, budget: f64) -> FoldPlan {
        let train = &splits[0].train;
        let weights = &automaton.train.class_weights;
        let others = CandidateKind::NETWORKS.into_iter();
        let mut all: Vec<(CandidateKind, Recipe)> =
            others.map(|(kind, arch)| (kind, network_recipe(arch, train, weights))).collect();
        let mut soft = automaton.clone();
        soft.train.keep_phases = KeepPhases::LowestLoss;
        soft.train.set_updates(soft.train.schedule.updates().min(FOLD_UPDATES));
        all.insert(0, (CandidateKind::SrGru, soft));
        let each = BUDGET_CORES * budget / all.len() as f64;
        let fitting = |(kind, mut recipe): (CandidateKind, Recipe)| {
            let needed = cost(&recipe, train, FOLDS);
            recipe.shorten(needed, each);
            (cost(&recipe, train, FOLDS) <= 1.1 * each).then_some((kind, recipe))
        };
        let networks = all.into_iter().filter_map(fitting).collect();
        FoldPlan { splits, networks }
    }

    /// The recipe of a fold; `None` if the budget does not allow it.
    pub fn recipe(&self, kind: CandidateKind) -> Option<&Recipe> {
        self.networks.iter().find(|(of, _)| *of == kind).map(|(_, recipe)| recipe)
    }
}

impl SearchLimits {
    /// The limits of a budget in seconds on two cores. They are the defaults of the searches for the
    /// default budget and a small alphabet.
    fn new(split: &Split, recipe: &Recipe, budget: f64) -> SearchLimits {
        // Times of one step on one core of an AMD EPYC, with 100 units and 50 centroids.
        const MERGE_STEP: f64 = 2.5e-8;
        const LABEL_STEP: f64 = 3e-9;
        const PROOF_STEP: f64 = 5e-4;
        const TRANSITION: f64 = 5e-5;
        const WORD: f64 = 3e-6;
        /// Covers of a network that are tried one after the other.
        const COVERS: f64 = 8.0;
        let cores = |share: f64| BUDGET_CORES * budget * share;
        let one = cost(recipe, &split.train, 1);
        let updates = recipe.train.schedule.updates();
        let short = cores(SHORT_SHARE) / (SEEDS_AT_A_TIME as f64 * one) * updates as f64;
        let mut retrained = recipe.clone();
        retrained.shorten(one, cores(RETRAIN_SHARE));
        let seconds = budget * SEARCH_SHARE;
        let steps = |fraction: f64, each: f64| (seconds * fraction / each) as usize;
        let transitions = COVERS * TRANSITION * split.train.alphabet.len().max(1) as f64;
        SearchLimits {
            short_updates: if short < MIN_SHORT as f64 { 0 } else { short as u64 },
            retrained_seeds: ((cores(RETRAIN_SHARE) / one) as usize).max(1),
            retrain_updates: retrained.train.schedule.updates(),
            merge_memory: 1 << 30,
            // Half a second is enough for small automata, so a small budget is exceeded instead.
            merge_steps: (steps(0.3, MERGE_STEP) as u64).clamp(20_000_000, 200_000_000),
            label_steps: (steps(0.1, LABEL_STEP) as u64).min(500_000_000),
            // Several networks are searched before one is selected.
            proof_steps: steps(0.1, PROOF_STEP).clamp(100, 40_000),
            states: steps(0.2, transitions).clamp(MAX_READABLE_STATES + 1, MAX_STATES),
            words: steps(0.1, WORD).clamp(4_096, 200_000),
        }
    }
}

/// A network without homotopy and hardening: regularised, with a falling learning rate, and the
/// evaluation with the lowest validation loss kept.
fn network_recipe(arch: ArchName, train: &Dataset, class_weights: &[f32]) -> Recipe {
    let Dataset { alphabet, classes, sequences } = train;
    let units = if sequences.len() < 2_000 { 64 } else { 100 };
    let sizes = Sizes { arch, units, k: CENTROIDS, ..Sizes::of(alphabet.len(), classes.len()) };
    let passes = (PASSES * sequences.len() / BATCH) as u64;
    let updates = passes.clamp(*UPDATES.start(), *UPDATES.end());
    let config = TrainConfig {
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
        class_weights: class_weights.to_vec(),
        ..TrainConfig::default()
    };
    let steps = typical_length(train);
    // Half-open forget gates forget the first of 30 tokens before the last; the GRU has no such bias.
    let chrono = (arch.has_cell_state() && steps >= 3).then_some(steps);
    let init = Init { chrono, ..Init::default() };
    Recipe { init, train: config, ..recipe_default(&sizes) }
}

/// Bytes of the prefix tree of the training words.
fn merging_bytes(train: &Dataset) -> u64 {
    const PREFIX: u64 = 64;
    let tokens: usize = train.sequences.iter().map(|sequence| sequence.tokens.len()).sum();
    PREFIX * (tokens as u64 + 1)
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
    use crate::train::MIN_UPDATES;

    #[test]
    fn a_small_budget_shortens_every_network_and_a_large_one_none() {
        let split = sets(Grammar::T3, &Key::new(1));
        let recipe = recipe_default(&Sizes::of(2, 2));
        let plan =
            |budget| CandidatePlan::new(&split, &recipe, &[1, 2, 3], Preference::default(), budget);
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
        let share = BUDGET_CORES * AUTOMATON_SHARE;
        let (whole, seeds) = fit(2.2 * one / share);
        assert_eq!((whole, seeds), (recipe.clone(), 2));
        let (short, seeds) = fit(0.5 * one / share);
        assert_eq!(seeds, 1);
        let updates = short.train.schedule.updates();
        assert!(updates.abs_diff(recipe.train.schedule.updates() / 2) <= 1, "{updates}");
    }

    fn plan_of(split: &Split, budget: f64) -> CandidatePlan {
        let recipe = recipe_default(&Sizes::of(2, 2));
        CandidatePlan::new(split, &recipe, &[1, 2], Preference::default(), budget)
    }

    #[test]
    fn all_stages_together_fit_the_budget() {
        let split = sets(Grammar::T3, &Key::new(1));
        let recipe = recipe_default(&Sizes::of(2, 2));
        for budget in [10.0, 30.0, 300.0] {
            let (full, seeds) = CandidatePlan::fit_automaton(&recipe, &split, 4, budget);
            let plan = CandidatePlan::new(&split, &full, &[1, 2], Preference::default(), budget);
            let limits = plan.limits;
            let mut short = full.clone();
            short.train.set_updates(limits.short_updates.max(1));
            let mut retrained = full.clone();
            retrained.train.set_updates(limits.retrain_updates);
            let networks: f64 =
                plan.networks.iter().map(|(_, recipe)| cost(recipe, &split.train, 2)).sum();
            let folds = plan.folds.iter().flat_map(|folds| {
                folds.networks.iter().map(|(_, recipe)| cost(recipe, &folds.splits[0].train, FOLDS))
            });
            let training = networks
                + folds.sum::<f64>()
                + cost(&full, &split.train, seeds)
                + cost(&short, &split.train, SEEDS_AT_A_TIME)
                + cost(&retrained, &split.train, limits.retrained_seeds);
            let searches = limits.merge_steps as f64 * 2.5e-8 + limits.label_steps as f64 * 3e-9;
            let planned = training / BUDGET_CORES + searches;
            assert!(planned <= budget, "{planned:.1} s of {budget} s");
            assert!(budget < 300.0 || limits.short_updates >= 1_000, "{limits:?}");
        }
    }

    #[test]
    fn few_rows_are_cross_validated_if_the_budget_allows_it() {
        let mut split = sets(Grammar::T3, &Key::new(1));
        split.valid.sequences.truncate(30);
        split.train.sequences.truncate(480);
        assert_eq!(plan_of(&split, 300.0).folds, None, "510 sequences");
        split.train.sequences.truncate(400);
        let folds = plan_of(&split, 300.0).folds.unwrap();
        assert_eq!(folds.splits.len(), FOLDS);
        let held_out = |split: &Split| split.test.as_ref().unwrap().sequences.len();
        assert_eq!(folds.splits.iter().map(held_out).sum::<usize>(), 430);
        let all: Vec<CandidateKind> = folds.networks.iter().map(|(kind, _)| *kind).collect();
        let others = CandidateKind::NETWORKS.map(|(kind, _)| kind);
        assert_eq!(all, [&[CandidateKind::SrGru][..], &others].concat());
        for (_, recipe) in &folds.networks {
            recipe.train.validate().unwrap();
            assert!(recipe.train.schedule.updates() <= *UPDATES.end());
        }
        assert_eq!(plan_of(&split, 0.5).folds.unwrap().networks, [], "n-grams only");
        split.train.sequences.truncate(10);
        split.valid.sequences.truncate(5);
        assert_eq!(plan_of(&split, 300.0).folds, None, "15 sequences");
    }

    #[test]
    fn candidates_over_the_memory_limit_are_left_out_with_their_bytes() {
        let split = sets(Grammar::T3, &Key::new(1));
        let mut plan = plan_of(&split, 60.0);
        let before = plan.clone();
        plan.limit_memory(&split, u64::MAX);
        assert_eq!(plan, before);
        plan.limit_memory(&split, 1 << 20);
        let others = CandidateKind::NETWORKS.map(|(kind, _)| kind);
        let left_out: Vec<CandidateKind> = plan.left_out.iter().map(|(kind, _)| *kind).collect();
        assert!(others.iter().all(|kind| left_out.contains(kind)), "{left_out:?}");
        let why = plan.left_out(CandidateKind::Gru).unwrap();
        assert!(why.contains("MiB, more than the memory limit"), "{why}");
        assert_eq!(plan.limits.merge_memory, 1 << 20);
        plan.limit_memory(&split, 0);
        assert!(plan.left_out(CandidateKind::Ngrams).is_some());
        assert!(plan.left_out(CandidateKind::Merged).is_some());
    }

    #[test]
    fn class_weights_are_those_of_every_network() {
        let split = sets(Grammar::T3, &Key::new(1));
        let mut recipe = recipe_default(&Sizes::of(2, 2));
        recipe.train.class_weights = vec![0.5, 4.0];
        let plan = CandidatePlan::new(&split, &recipe, &[1], Preference::default(), 60.0);
        assert!(plan.networks.iter().all(|(_, r)| r.train.class_weights == [0.5, 4.0]));
    }
}
