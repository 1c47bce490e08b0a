//! Trains the candidates, compares them with the SR-GRU's automaton, and keeps one.

use super::choose::choose;
use super::{
    Candidate, CandidateKind, CandidatePlan, Comparison, HeldOutMeasure, HeldOutScore,
    MAX_READABLE_STATES, NgramModel, Preference,
};
use crate::engine::Mode;
use crate::engine::reference::{argmax, log_softmax};
use crate::extract::{ExtractError, TransitionSystem};
use crate::learn::rounds::{ShortTraining, full_training, short_training};
use crate::learn::{
    LabelVerdict, LearnCallbacks, LearnData, LearnError, Learned, Pipeline, Round, Stage,
};
use crate::model::Model;
use crate::task::Dataset;
use crate::task::files::HeldOutIssues;
use crate::train::{
    Control, Evaluation, FinalEvaluation, Phase, Recipe, SeedOutcome, Selection, evaluate, select,
};
use srnn_automata::Symbol;

/// A trained candidate that is no automaton.
enum Trained {
    /// The network of lowest validation loss among those that an SR-GRU passed through.
    Phase { seed: usize, update: u64, model: Box<Model<f32>> },
    /// Networks of an architecture, and the selected one.
    Network { round: Round, outcomes: Vec<SeedOutcome<f32>>, selection: Selection },
    /// The baseline.
    Ngrams(NgramModel),
}

/// A candidate with what it takes to keep it.
struct Entry {
    candidate: Candidate,
    held_out: Option<HeldOut>,
    trained: Option<Trained>,
}

/// A model on the held-out sets.
struct HeldOut {
    valid: Evaluation,
    test: Option<Evaluation>,
}

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
    let short = short_training(pipeline)?;
    let solved = matches!(&short, ShortTraining::Solved(learned) if is_solved(learned));
    let mut networks = vec![];
    for (kind, recipe) in &plan.networks {
        networks.push(network(pipeline, &scale, plan, *kind, recipe, solved)?);
    }
    networks.push(ngrams);
    let (learned, note) = match short {
        ShortTraining::Solved(learned) => (*learned, None),
        ShortTraining::Unsolved(short)
            if cannot_win(plan, &scale, &networks) && !short.is_empty() =>
        {
            (pipeline.finish(Round::Short, short, LabelVerdict::Trusted)?, Some(SHORT_ONLY))
        }
        ShortTraining::Unsolved(short) => (full_training(pipeline, short)?, None),
    };
    let mut entries = vec![majority(&scale), automaton(&scale, &learned)];
    entries.push(sr_gru(pipeline, &scale, &learned));
    entries.extend(networks);
    let mut candidates: Vec<Candidate> =
        entries.iter().map(|entry| entry.candidate.clone()).collect();
    let (kept, reason) =
        choose(&candidates, plan.preference).unwrap_or((AUTOMATON, super::KeepReason::Best));
    for candidate in &mut candidates[AUTOMATON..=SR_GRU] {
        candidate.note = candidate.note.take().or(note.map(String::from));
    }
    let (measure, preference) = (scale.measure, plan.preference);
    let comparison = Comparison { measure, preference, candidates, kept, reason };
    Ok(keep(pipeline, learned, entries, comparison))
}

/// Indices among the entries.
const AUTOMATON: usize = 1;
const SR_GRU: usize = 2;

/// Why the SR-GRU was not trained in full.
const SHORT_ONLY: &str = "short training only: a plain GRU is worse than the best candidate";

/// What every candidate is scored by.
struct Scale<'a> {
    measure: HeldOutMeasure,
    data: &'a LearnData,
}

impl Scale<'_> {
    fn entry(&self, kind: CandidateKind, held_out: HeldOut, trained: Option<Trained>) -> Entry {
        let data = self.data;
        let score = |evaluation: &Evaluation, issues: &HeldOutIssues| -> HeldOutScore {
            self.measure.score(&data.confusion(evaluation, issues))
        };
        let candidate = Candidate {
            valid: Some(score(&held_out.valid, &data.valid)),
            test: held_out.test.as_ref().map(|test| score(test, &data.test)),
            ..empty(kind, None)
        };
        Entry { candidate, held_out: Some(held_out), trained }
    }

    /// Classifies the held-out sequences with a function from sequences to logits.
    fn held_out(&self, logits: impl Fn(&Dataset) -> Vec<Vec<f64>>) -> HeldOut {
        let split = &self.data.split;
        let test = split.test.as_ref().filter(|test| !test.sequences.is_empty());
        let evaluated = |set: &Dataset| evaluation(set, &logits(set));
        HeldOut { valid: evaluated(&split.valid), test: test.map(evaluated) }
    }

    /// The score of a classifier that always gives the most frequent class.
    fn majority_score(&self) -> f64 {
        majority(self).candidate.valid.map_or(0.0, |score| score.value)
    }
}

/// Whether the SR-GRU cannot be kept: a plain GRU has learned something, and still is worse than the
/// best candidate by more than a standard error. State regularization restricts a GRU, so the SR-GRU
/// would hardly be better. A preference for automata is always served.
fn cannot_win(plan: &CandidatePlan, scale: &Scale<'_>, networks: &[Entry]) -> bool {
    let scores = || networks.iter().filter_map(|entry| entry.candidate.valid);
    let gru = networks.iter().find(|entry| entry.candidate.kind == CandidateKind::Gru);
    let Some(gru) = gru.and_then(|entry| entry.candidate.valid) else { return false };
    let Some(best) = scores().max_by(|a, b| a.value.total_cmp(&b.value)) else { return false };
    let by_score = matches!(plan.preference, Preference::Readable | Preference::Accuracy);
    let learned = gru.value > scale.majority_score() + 2.0 * gru.error;
    by_score && learned && gru.value < best.value - best.error
}

/// Whether the automaton leaves nothing to improve: it is readable and proved, and right on every
/// validation sequence, by the labels as corrected if some were.
fn is_solved(learned: &Learned<'_>) -> bool {
    let end = learned.kept().run.final_evaluation.as_ref();
    let right = end.is_some_and(|end| end.valid.accuracy == 1.0);
    let readable = learned.automaton().is_some_and(|a| a.state_count() <= MAX_READABLE_STATES);
    right && readable && learned.is_proved()
}

fn empty(kind: CandidateKind, note: Option<String>) -> Candidate {
    Candidate { kind, valid: None, test: None, states: None, proved: false, note }
}

fn majority(scale: &Scale<'_>) -> Entry {
    let counts = scale.data.split.train.class_counts();
    // The first class wins a tie.
    let top = (0..counts.len()).rev().max_by_key(|&class| counts[class]).unwrap_or(0);
    let logits: Vec<f64> = (0..counts.len()).map(|class| f64::from(class == top)).collect();
    let held_out = scale.held_out(|set| vec![logits.clone(); set.sequences.len()]);
    scale.entry(CandidateKind::Majority, held_out, None)
}

/// The automaton of the SR-GRU, by its own answers: they may differ from the network's if nothing is
/// proved.
fn automaton(scale: &Scale<'_>, learned: &Learned<'_>) -> Entry {
    let kind = CandidateKind::Automaton;
    let Some(automaton) = learned.automaton() else {
        let candidate = empty(kind, Some("no automaton: the states form no finite set".into()));
        return Entry { candidate, held_out: None, trained: None };
    };
    let classes = learned.data.split.train.classes.len();
    let held_out = scale.held_out(|set| {
        let row = |word: Vec<Symbol>| {
            let class = *automaton.output_of(&word) as usize;
            (0..classes).map(|c| f64::from(c == class)).collect()
        };
        let words = set.sequences.iter().map(|s| s.tokens.iter().map(|&t| Symbol(t)).collect());
        words.map(row).collect()
    });
    let mut entry = scale.entry(kind, held_out, None);
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

fn evaluation(set: &Dataset, logits: &[Vec<f64>]) -> Evaluation {
    let classes = set.classes.len();
    let mut confusion = vec![vec![0; classes]; classes];
    let (mut loss, mut correct) = (0.0, 0u64);
    for (sequence, logits) in set.sequences.iter().zip(logits) {
        let (truth, predicted) = (sequence.label as usize, argmax(logits));
        loss -= log_softmax(logits)[truth];
        correct += u64::from(truth == predicted);
        confusion[truth][predicted] += 1;
    }
    let total = set.sequences.len().max(1) as f64;
    Evaluation { accuracy: correct as f64 / total, loss: loss / total, confusion }
}

/// The result with the kept candidate in place of the SR-GRU's automaton.
fn keep<'a, C: LearnCallbacks>(
    pipeline: &Pipeline<'_, 'a, C>,
    mut learned: Learned<'a>,
    entries: Vec<Entry>,
    comparison: Comparison,
) -> Learned<'a> {
    let mut kept = None;
    for (index, entry) in entries.into_iter().enumerate() {
        if index == comparison.kept {
            kept = Some(entry);
        } else if let Some(Trained::Network { round, outcomes, .. }) = entry.trained {
            learned.other_rounds.push((round, outcomes));
        }
    }
    learned.comparison = Some(comparison);
    let Some(Entry { held_out: Some(held_out), trained: Some(trained), .. }) = kept else {
        // The automaton is kept: it is what `learned` has.
        return learned;
    };
    let HeldOut { valid, test } = held_out;
    match trained {
        Trained::Phase { seed, update, model } => {
            let outcome = &mut learned.outcomes[seed];
            outcome.model = *model;
            outcome.run.kept = update;
            if let Some(end) = &mut outcome.run.final_evaluation {
                *end = FinalEvaluation { valid: valid.clone(), ..end.clone() };
            }
            learned.selection.index = seed;
            learned.extraction = Err(ExtractError::NotHardened);
        }
        Trained::Network { round, outcomes, selection } => {
            let before = std::mem::replace(&mut learned.outcomes, outcomes);
            learned.other_rounds.insert(0, (learned.round, before));
            (learned.round, learned.selection) = (round, selection);
            learned.label_verdict = LabelVerdict::Trusted;
            let model = learned.kept().model.to_f64();
            let refusal = TransitionSystem::new(&model, &pipeline.alphabet).err();
            learned.extraction = Err(refusal.expect("only an SR-GRU has an automaton"));
        }
        Trained::Ngrams(model) => {
            learned.label_verdict = LabelVerdict::Trusted;
            learned.ngrams = Some(model);
            learned.extraction = Err(ExtractError::NotANetwork);
        }
    }
    Learned { valid, test, verdict: None, ..learned }
}
