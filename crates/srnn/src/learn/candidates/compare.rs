//! Trains the candidates, compares them with the SR-GRU's automaton, and keeps one.

use super::choose::choose;
use super::entries::{Entry, Scale, Trained, majority, missing};
use super::folds::{majority_score, merged_score, network_score, ngram_score};
use super::keep::keep;
use super::merged::merged;
use super::networks::{failed, network, sr_gru};
use super::{
    Candidate, CandidateKind, CandidatePlan, Comparison, HeldOutMeasure, MAX_READABLE_STATES,
    NgramModel, Preference,
};
use crate::learn::rounds::{ShortTraining, full_training, short_training};
use crate::learn::{
    LabelVerdict, LearnCallbacks, LearnError, Learned, NoResult, Pipeline, Round, Stage,
};
use crate::task::Dataset;
use crate::train::Control;

/// Trains the candidates of the plan, the cheap ones first, and returns the kept one with the
/// comparison.
pub(in crate::learn) fn compare<'a, C: LearnCallbacks>(
    pipeline: &Pipeline<'_, 'a, C>,
    plan: &CandidatePlan,
) -> Result<Learned<'a>, LearnError> {
    let data = pipeline.request.data;
    let split = &data.split;
    let scale = Scale {
        measure: HeldOutMeasure::of(&split.train.class_counts()),
        data,
        class_weights: pipeline.request.recipe.train.class_weights.clone(),
    };
    let ladder = Ladder { pipeline, plan, scale: &scale };
    let mut most_frequent = majority(&scale);
    if let Some(folds) = &plan.folds {
        most_frequent.candidate.cross_validated = Some(majority_score(&scale, folds));
    }
    let ngrams = ladder.ngrams()?;
    pipeline.begin(Stage::Candidate(CandidateKind::Merged))?;
    let mut merged = merged(pipeline, &scale, plan);
    if let (Some(folds), true) = (&plan.folds, merged.entry.candidate.is_eligible()) {
        merged.entry.candidate.cross_validated =
            merged_score(pipeline, &scale, folds, &plan.limits);
    }
    let short = short_training(pipeline)?;
    let solved = match &short {
        ShortTraining::Solved(learned) => is_solved(learned),
        ShortTraining::Unsolved(_) => false,
    };
    let skipped = (solved || merged.exact).then_some("not tried: the automaton makes no error");
    let mut others = vec![];
    for (kind, recipe) in &plan.networks {
        let left_out = plan.left_out(*kind);
        let skipped = left_out.as_deref().or(skipped);
        let entry = network(pipeline, &scale, plan, (*kind, recipe), skipped)?;
        others.push(ladder.cross_validated(*kind, entry)?);
    }
    others.insert(NGRAMS_AFTER, ngrams);
    merged.trust_labels_that_others_fit(&others, split.valid.sequences.len());
    let hopeless = match () {
        () if merged.exact && merged.serves(plan) => Some(MERGED_IS_EXACT),
        () if by_score(plan) && merged.explains_best(&others) => Some(MERGED_IS_BEST),
        () => cannot_win(plan, &most_frequent, &others).then_some(SHORT_ONLY),
    };
    let (learned, mut outcome) = sr_gru_in_full(pipeline, short, hopeless)?;
    let failure = outcome.failure.as_deref();
    let mut soft = sr_gru(pipeline, &scale, &learned, failure);
    if skipped.is_none() && hopeless.is_none() {
        soft = ladder.cross_validated(CandidateKind::SrGru, soft)?;
    }
    let automaton = automaton(&scale, &learned, failure);
    let mut entries = vec![most_frequent, automaton, merged.entry, soft];
    entries.extend(others);
    ladder.keep_one(learned, entries, outcome.remark.take())
}

/// A comparison in progress.
struct Ladder<'p, 'r, 'a, C> {
    pipeline: &'p Pipeline<'r, 'a, C>,
    plan: &'p CandidatePlan,
    scale: &'p Scale<'a>,
}

impl<'a, C: LearnCallbacks> Ladder<'_, '_, 'a, C> {
    fn ngrams(&self) -> Result<Entry, LearnError> {
        let kind = CandidateKind::Ngrams;
        if let Some(why) = self.plan.left_out(kind) {
            return Ok(missing(kind, &why));
        }
        self.pipeline.begin(Stage::Candidate(kind))?;
        let split = &self.scale.data.split;
        let model = NgramModel::fit(&split.train, &split.valid, &self.scale.class_weights);
        let logits =
            |set: &Dataset| model.logits(set.sequences.iter().map(|sequence| &sequence.tokens[..]));
        let held_out = self.scale.held_out(logits);
        let mut entry = self.scale.entry(kind, held_out, Some(Trained::Ngrams(model)));
        let folds = self.plan.folds.as_ref();
        entry.candidate.cross_validated = folds.map(|folds| ngram_score(self.scale, folds));
        Ok(entry)
    }

    /// The entry of a network with the score of its cross-validation, or with a remark why there is
    /// none. An entry that cannot be kept is not cross-validated.
    fn cross_validated(&self, kind: CandidateKind, mut entry: Entry) -> Result<Entry, LearnError> {
        let Some(folds) = &self.plan.folds else { return Ok(entry) };
        if !entry.candidate.is_eligible() {
            return Ok(entry);
        }
        let Some(recipe) = folds.recipe(kind) else {
            entry.candidate.remark = Some(not_cross_validated("its folds exceed the budget"));
            return Ok(entry);
        };
        match self.pipeline.callbacks.stage(Stage::CrossValidate(kind)) {
            Control::Continue => {}
            Control::Interrupt => return Err(LearnError::Interrupted),
            Control::TimeUp => {
                entry.candidate.remark = Some(not_cross_validated("the budget is used up"));
                return Ok(entry);
            }
        }
        match network_score(self.pipeline, self.scale, folds, (kind, recipe))? {
            Ok(score) => {
                let updates = recipe.train.schedule.updates();
                entry.candidate.cross_validated = Some(score);
                entry.candidate.remark = Some(format!("folds: 1 seed, at most {updates} updates"));
            }
            Err(why) => entry.candidate.remark = Some(not_cross_validated(why)),
        }
        Ok(entry)
    }

    /// Chooses among the entries. `remark` is for the rows of an SR-GRU that was not trained in full.
    fn keep_one(
        &self,
        learned: Learned<'a>,
        entries: Vec<Entry>,
        remark: Option<String>,
    ) -> Result<Learned<'a>, LearnError> {
        let mut candidates: Vec<Candidate> =
            entries.iter().map(|entry| entry.candidate.clone()).collect();
        let Some((kept, reason)) = choose(&candidates, self.plan.preference) else {
            let Learned { round, outcomes, .. } = learned;
            return Err(LearnError::NoResult(Box::new(NoResult { round, outcomes })));
        };
        for candidate in &mut candidates {
            if matches!(candidate.kind, CandidateKind::Automaton | CandidateKind::SrGru)
                && remark.is_some()
            {
                candidate.remark.clone_from(&remark);
            }
            self.note_missing_folds(candidate);
        }
        let (measure, preference) = (self.scale.measure, self.plan.preference);
        let folds = self.plan.folds.as_ref().map(|plan| plan.splits.len());
        let class_weights = self.scale.class_weights.clone();
        let comparison =
            Comparison { measure, preference, folds, class_weights, candidates, kept, reason };
        Ok(keep(self.pipeline, learned, entries, comparison))
    }

    /// Says which scores are those of the validation set alone.
    fn note_missing_folds(&self, candidate: &mut Candidate) {
        let alone = candidate.valid.is_some() && candidate.cross_validated.is_none();
        if self.plan.folds.is_none() || !alone {
            return;
        }
        let why = not_cross_validated("a proof is about one network");
        match &mut candidate.remark {
            Some(remark) if remark.contains(NOT_CROSS_VALIDATED) => {}
            Some(remark) => *remark = format!("{remark}; {NOT_CROSS_VALIDATED}"),
            None if candidate.kind == CandidateKind::Automaton => candidate.remark = Some(why),
            None => candidate.remark = Some(NOT_CROSS_VALIDATED.into()),
        }
    }
}

/// What a score on the validation set alone is called beside scores of folds.
const NOT_CROSS_VALIDATED: &str = "validation set only";

fn not_cross_validated(why: &str) -> String {
    format!("{NOT_CROSS_VALIDATED}: {why}")
}

/// How the SR-GRU was trained.
#[derive(Default)]
struct SrGruOutcome {
    /// Why only the short training was made.
    remark: Option<String>,
    /// Why it has no result.
    failure: Option<String>,
}

/// Trains the SR-GRU in full, unless the short training has solved the task or `hopeless` says why
/// it cannot be kept. A training without a result does not end the comparison.
fn sr_gru_in_full<'a, C: LearnCallbacks>(
    pipeline: &Pipeline<'_, 'a, C>,
    short: ShortTraining<'a>,
    hopeless: Option<&'static str>,
) -> Result<(Learned<'a>, SrGruOutcome), LearnError> {
    let short = match short {
        ShortTraining::Solved(learned) => return Ok((*learned, SrGruOutcome::default())),
        ShortTraining::Unsolved(short) => short,
    };
    let failed_full = match hopeless {
        Some(why) if !short.is_empty() => Err(why.to_string()),
        _ => match full_training(pipeline, short.clone()) {
            Err(LearnError::NoResult(none)) if short.is_empty() => {
                return Ok(without_result(pipeline, *none));
            }
            Err(LearnError::NoResult(none)) => {
                Err(format!("short training only: the full one {}", failed(none.stop())))
            }
            done => Ok(done?),
        },
    };
    match failed_full {
        Ok(learned) => Ok((learned, SrGruOutcome::default())),
        Err(remark) => match pipeline.finish(Round::Short, short, LabelVerdict::Trusted) {
            Err(LearnError::NoResult(none)) => Ok(without_result(pipeline, *none)),
            done => Ok((done?, SrGruOutcome { remark: Some(remark), failure: None })),
        },
    }
}

/// What is known of an SR-GRU whose training failed.
fn without_result<'a, C: LearnCallbacks>(
    pipeline: &Pipeline<'_, 'a, C>,
    none: NoResult,
) -> (Learned<'a>, SrGruOutcome) {
    let failure = Some(failed(none.stop()));
    (pipeline.without_result(none), SrGruOutcome { remark: None, failure })
}

/// N-grams are more readable than plain networks: their place among the networks of a plan.
const NGRAMS_AFTER: usize = 1;

/// Why the SR-GRU was not trained in full.
const SHORT_ONLY: &str = "short training only: a plain GRU is worse than the best candidate";
const MERGED_IS_EXACT: &str = "short training only: state merging makes no error";
const MERGED_IS_BEST: &str = "short training only: state merging explains nearly all labels, and no \
                              other candidate is better";

/// Whether the SR-GRU cannot be kept: a plain GRU has learned something, and still is worse than the
/// best candidate by more than a standard error. State regularization restricts a GRU, so the SR-GRU
/// would hardly be better. A preference for automata is always served.
fn cannot_win(plan: &CandidatePlan, most_frequent: &Entry, networks: &[Entry]) -> bool {
    let scores = || networks.iter().filter_map(|entry| entry.candidate.score());
    let gru = networks.iter().find(|entry| entry.candidate.kind == CandidateKind::Gru);
    let Some(gru) = gru.and_then(|entry| entry.candidate.score()) else { return false };
    let Some(best) = scores().max_by(|a, b| a.value.total_cmp(&b.value)) else { return false };
    let majority = most_frequent.candidate.score().map_or(0.0, |score| score.value);
    let learned = gru.value > majority + 2.0 * gru.error;
    by_score(plan) && learned && gru.value < best.value - best.error
}

/// Whether scores and readability alone decide.
fn by_score(plan: &CandidatePlan) -> bool {
    matches!(plan.preference, Preference::Readable | Preference::Accuracy)
}

/// Whether the automaton leaves nothing to improve: it is readable and proved, and right on every
/// validation sequence.
fn is_solved(learned: &Learned<'_>) -> bool {
    let end = learned.kept().run.final_evaluation.as_ref();
    let right = end.is_some_and(|end| end.valid.accuracy == 1.0);
    let readable = learned.automaton().is_some_and(|a| a.state_count() <= MAX_READABLE_STATES);
    right && readable && learned.is_proved()
}

/// The automaton of the SR-GRU, by its own answers: they may differ from the network's if nothing is
/// proved.
fn automaton(scale: &Scale<'_>, learned: &Learned<'_>, failure: Option<&str>) -> Entry {
    let kind = CandidateKind::Automaton;
    let Some(automaton) = learned.automaton() else {
        let why = "no automaton: the states form no finite set";
        return missing(kind, failure.unwrap_or(why));
    };
    let mut entry = scale.entry(kind, scale.answers_of(automaton), None);
    let states = automaton.state_count();
    let note = match states {
        1 => Some("one state: it always gives the same class".into()),
        n if n > MAX_READABLE_STATES => Some("too many states to read".into()),
        _ => None,
    };
    let candidate = &mut entry.candidate;
    (candidate.states, candidate.proved, candidate.note) =
        (Some(states), learned.is_proved(), note);
    entry
}
