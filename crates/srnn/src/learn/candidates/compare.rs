//! Trains the candidates, compares them with the SR-GRU's automaton, and keeps one.

use super::choose::choose;
use super::entries::{Entry, HeldOut, Scale, Trained, empty, majority};
use super::keep::keep;
use super::merged::merge_states;
use super::{
    Candidate, CandidateKind, CandidatePlan, Comparison, HeldOutMeasure, MAX_READABLE_STATES,
    NgramModel, Preference,
};
use crate::certify::Verdict;
use crate::engine::Mode;
use crate::learn::label_check::MAX_ERROR_RATE;
use crate::learn::rounds::{ShortTraining, full_training, short_training};
use crate::learn::{
    LabelPolicy, LabelVerdict, LearnCallbacks, LearnError, Learned, Pipeline, Round, Stage,
};
use crate::model::Model;
use crate::task::Dataset;
use crate::train::{Control, Phase, Recipe, evaluate, select};

/// Trains the candidates of the plan, the cheap ones first, and returns the kept one with the
/// comparison.
pub(in crate::learn) fn compare<'a, C: LearnCallbacks>(
    pipeline: &Pipeline<'_, 'a, C>,
    plan: &CandidatePlan,
) -> Result<Learned<'a>, LearnError> {
    let data = pipeline.request.data;
    let split = &data.split;
    let scale = Scale { measure: HeldOutMeasure::of(&split.train.class_counts()), data };
    pipeline.begin(Stage::Candidate(CandidateKind::Ngrams))?;
    let ngrams = baseline(&scale, NgramModel::fit(&split.train, &split.valid));
    pipeline.begin(Stage::Candidate(CandidateKind::Merged))?;
    let mut merged = merged(pipeline, &scale);
    let short = short_training(pipeline)?;
    let solved = match &short {
        ShortTraining::Solved(learned) => is_solved(learned),
        ShortTraining::Unsolved(_) => false,
    };
    let mut others = vec![];
    for (kind, recipe) in &plan.networks {
        let solved = solved || merged.exact;
        others.push(network(pipeline, &scale, plan, *kind, recipe, solved)?);
    }
    others.insert(NGRAMS_AFTER, ngrams);
    merged.trust_labels_that_others_fit(&others, split.valid.sequences.len());
    let hopeless = match () {
        () if merged.exact && merged.serves(plan) => Some(MERGED_IS_EXACT),
        () if by_score(plan) && merged.explains_best(&others) => Some(MERGED_IS_BEST),
        () => cannot_win(plan, &scale, &others).then_some(SHORT_ONLY),
    };
    let (learned, note) = sr_gru_in_full(pipeline, short, hopeless)?;
    let mut entries = vec![majority(&scale), automaton(&scale, &learned), merged.entry];
    entries.push(sr_gru(pipeline, &scale, &learned));
    entries.extend(others);
    Ok(keep_one(pipeline, plan, &scale, learned, entries, note))
}

/// Trains the SR-GRU in full, unless the short training has solved the task or `hopeless` says why
/// it cannot be kept. Returns the result, and the reason if only the short training was made.
fn sr_gru_in_full<'a, C: LearnCallbacks>(
    pipeline: &Pipeline<'_, 'a, C>,
    short: ShortTraining<'a>,
    hopeless: Option<&'static str>,
) -> Result<(Learned<'a>, Option<&'static str>), LearnError> {
    match (short, hopeless) {
        (ShortTraining::Solved(learned), _) => Ok((*learned, None)),
        (ShortTraining::Unsolved(short), Some(why)) if !short.is_empty() => {
            Ok((pipeline.finish(Round::Short, short, LabelVerdict::Trusted)?, Some(why)))
        }
        (ShortTraining::Unsolved(short), _) => Ok((full_training(pipeline, short)?, None)),
    }
}

/// Chooses among the entries. `note` is for the rows of an SR-GRU that was trained shortly.
fn keep_one<'a, C: LearnCallbacks>(
    pipeline: &Pipeline<'_, 'a, C>,
    plan: &CandidatePlan,
    scale: &Scale<'_>,
    learned: Learned<'a>,
    entries: Vec<Entry>,
    note: Option<&str>,
) -> Learned<'a> {
    let mut candidates: Vec<Candidate> =
        entries.iter().map(|entry| entry.candidate.clone()).collect();
    let (kept, reason) = choose(&candidates, plan.preference).expect("n-grams can always be kept");
    for candidate in &mut candidates {
        if matches!(candidate.kind, CandidateKind::Automaton | CandidateKind::SrGru) {
            candidate.remark = note.map(String::from);
        }
    }
    let (measure, preference) = (scale.measure, plan.preference);
    let comparison = Comparison { measure, preference, candidates, kept, reason };
    keep(pipeline, learned, entries, comparison)
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
fn cannot_win(plan: &CandidatePlan, scale: &Scale<'_>, networks: &[Entry]) -> bool {
    let scores = || networks.iter().filter_map(|entry| entry.candidate.valid);
    let gru = networks.iter().find(|entry| entry.candidate.kind == CandidateKind::Gru);
    let Some(gru) = gru.and_then(|entry| entry.candidate.valid) else { return false };
    let Some(best) = scores().max_by(|a, b| a.value.total_cmp(&b.value)) else { return false };
    let learned = gru.value > scale.majority_score() + 2.0 * gru.error;
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

/// The candidate of state merging.
struct MergedEntry {
    entry: Entry,
    /// Whether it can be kept and makes no error, neither in training nor on the validation set.
    exact: bool,
}

impl MergedEntry {
    /// Whether it is what is preferred.
    fn serves(&self, plan: &CandidatePlan) -> bool {
        plan.preference != Preference::Proof || self.entry.candidate.proved
    }

    /// Drops the suspected labels if another candidate is more accurate on the validation set: then the
    /// automaton is too simple, and the labels are probably right. A difference of one standard
    /// deviation of the number of errors is not significant.
    fn trust_labels_that_others_fit(&mut self, others: &[Entry], sequences: usize) {
        let errors = |entry: &Entry| {
            let accuracy = entry.held_out.as_ref()?.valid.accuracy;
            Some(((1.0 - accuracy) * sequences as f64).round())
        };
        let best = others.iter().filter_map(errors).fold(f64::INFINITY, f64::min);
        if errors(&self.entry).is_some_and(|own| own > best + best.sqrt())
            && let Some(Trained::Compiled(compiled)) = &mut self.entry.trained
        {
            compiled.suspects.clear();
        }
    }

    /// Whether it can be kept, contradicts only labels that may be wrong, and scores as high as every
    /// other candidate.
    fn explains_best(&self, others: &[Entry]) -> bool {
        let noise = match &self.entry.trained {
            Some(Trained::Compiled(compiled)) => !compiled.suspects.is_empty(),
            _ => false,
        };
        let score = |entry: &Entry| entry.candidate.valid.map_or(0.0, |score| score.value);
        noise && others.iter().all(|other| score(&self.entry) >= score(other))
    }
}

fn merged<C: LearnCallbacks>(pipeline: &Pipeline<'_, '_, C>, scale: &Scale<'_>) -> MergedEntry {
    let kind = CandidateKind::Merged;
    let merged = match merge_states(scale.data, &pipeline.alphabet) {
        Ok(merged) => merged,
        Err(why) => {
            let candidate = empty(kind, Some(why));
            let entry = Entry { candidate, held_out: None, trained: None };
            return MergedEntry { entry, exact: false };
        }
    };
    let held_out = scale.answers_of(&merged.merged.automaton);
    let valid_accuracy = held_out.valid.accuracy;
    let right = merged.merged.errors == 0 && valid_accuracy == 1.0;
    let mut entry = scale.entry(kind, held_out, None);
    entry.candidate.states = Some(merged.merged.automaton.state_count());
    match merged.network {
        Ok(mut network) => {
            let trusted = pipeline.request.label_policy == LabelPolicy::Trust;
            if trusted || valid_accuracy < 1.0 - MAX_ERROR_RATE {
                network.suspects.clear();
            }
            let proof = network.verdict.as_ref().and_then(Verdict::proof);
            entry.candidate.proved = proof.is_some();
            entry.trained = Some(Trained::Compiled(Box::new(network)));
        }
        Err(why) => entry.candidate.note = Some(why),
    }
    let exact = right && entry.candidate.is_eligible();
    MergedEntry { entry, exact }
}

/// The automaton of the SR-GRU, by its own answers: they may differ from the network's if nothing is
/// proved.
fn automaton(scale: &Scale<'_>, learned: &Learned<'_>) -> Entry {
    let kind = CandidateKind::Automaton;
    let Some(automaton) = learned.automaton() else {
        let candidate = empty(kind, Some("no automaton: the states form no finite set".into()));
        return Entry { candidate, held_out: None, trained: None };
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

/// The SR-GRU as a network: the result of each seed, or the network before hardening, whichever has
/// the lowest validation loss.
fn sr_gru<C: LearnCallbacks>(
    pipeline: &Pipeline<'_, '_, C>,
    scale: &Scale<'_>,
    learned: &Learned<'_>,
) -> Entry {
    let mut found: Option<(f64, Trained)> = None;
    let mut consider = |loss: f64, trained: Trained| {
        if found.as_ref().is_none_or(|(least, _)| loss < *least) {
            found = Some((loss, trained));
        }
    };
    for (seed, outcome) in learned.outcomes.iter().enumerate() {
        let trained = |update: u64, model: Model<f32>| Trained::Phase {
            seed,
            update,
            model: Box::new(model),
        };
        if let Some(end) = &outcome.run.final_evaluation {
            consider(end.valid.loss, trained(outcome.run.kept, outcome.model.clone()));
        }
        for phase in outcome.phases.iter().filter(|phase| phase.record.phase >= Phase::Settle) {
            let model = phase.model(&outcome.model.arch);
            consider(phase.record.valid.loss, trained(phase.record.update, model));
        }
    }
    let (_, trained) = found.expect("the selected seed has a result");
    let Trained::Phase { model, .. } = &trained else {
        unreachable!("only phases were considered")
    };
    scale.entry(CandidateKind::SrGru, run_network(pipeline, scale, model), Some(trained))
}

/// A network of another architecture: trained unless the automaton has solved the task.
fn network<C: LearnCallbacks>(
    pipeline: &Pipeline<'_, '_, C>,
    scale: &Scale<'_>,
    plan: &CandidatePlan,
    kind: CandidateKind,
    recipe: &Recipe,
    solved: bool,
) -> Result<Entry, LearnError> {
    let skipped = |why: &str| {
        let candidate = empty(kind, Some(why.to_string()));
        Ok(Entry { candidate, held_out: None, trained: None })
    };
    if solved {
        return skipped("not tried: the automaton makes no error");
    }
    match pipeline.callbacks.stage(Stage::Candidate(kind)) {
        Control::Continue => {}
        Control::Interrupt => return Err(LearnError::Interrupted),
        Control::TimeUp => return skipped("not tried: the budget is used up"),
    }
    let round = Round::Candidate(kind);
    let outcomes = pipeline.train(recipe, &plan.seeds, round, &scale.data.split)?;
    let Some(selection) = select(&outcomes) else {
        return skipped("training diverged");
    };
    let held_out = run_network(pipeline, scale, &outcomes[selection.index].model);
    Ok(scale.entry(kind, held_out, Some(Trained::Network { round, outcomes, selection })))
}

fn baseline(scale: &Scale<'_>, model: NgramModel) -> Entry {
    let held_out = scale.held_out(|set| model.logits(set.sequences.iter().map(|s| &s.tokens[..])));
    scale.entry(CandidateKind::Ngrams, held_out, Some(Trained::Ngrams(model)))
}

fn run_network<C: LearnCallbacks>(
    pipeline: &Pipeline<'_, '_, C>,
    scale: &Scale<'_>,
    model: &Model<f32>,
) -> HeldOut {
    let mut engine = pipeline.request.engine(model);
    let split = &scale.data.split;
    let mut evaluated = |set: &Dataset| {
        let Ok(evaluation) = evaluate(&mut engine, set, Mode::default());
        evaluation
    };
    let valid = evaluated(&split.valid);
    let test = split.test.as_ref().filter(|test| !test.sequences.is_empty());
    HeldOut { valid, test: test.map(evaluated) }
}
