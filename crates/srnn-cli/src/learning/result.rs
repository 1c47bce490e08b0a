//! What came of a run as one JSON object: `--json` and `result.json`.

use super::advice::advice;
use super::automata::{Way, ways};
use super::labels::labels;
use super::perform::Order;
use crate::proof;
use crate::runs::CERTIFICATE;
use serde_json::{Map, Value, json};
use srnn::certify::Verdict;
use srnn::engine::Mode;
use srnn::engine::cpu::Cpu;
use srnn::extract::{Agreement, Judged, Words};
use srnn::learn::{Labels, Learned};
use srnn::model::digest;
use srnn::task::Confusion;
use srnn::task::files::Aside;
use srnn::train::{Evaluation, Quality, SeedOutcome, evaluate};
use srnn_automata::{Alphabet, Word, distinguish};

/// Everything there is to tell.
pub struct Account<'a> {
    /// What was to be done.
    pub order: &'a Order,
    /// What came of it.
    pub learned: &'a Learned,
    /// How long each stage took.
    pub seconds: Value,
}

impl Account<'_> {
    /// The kept network on the validation set, by the labels given; what it cannot read counts as
    /// wrong.
    pub fn validation(&self) -> Confusion {
        self.confusion(&self.learned.valid, &self.order.material.valid)
    }

    /// The same on the test set, where there is one.
    pub fn test(&self) -> Option<Confusion> {
        let test = self.learned.test.as_ref()?;
        Some(self.confusion(test, &self.order.material.test))
    }

    /// The share of a seed's validation sequences that are right, by the labels it was trained with
    /// (those believed, where some are not); unreadable ones are not.
    pub fn valid_accuracy(&self, outcome: &SeedOutcome<f32>) -> Option<f64> {
        let end = outcome.run.end.as_ref()?;
        self.confusion(&end.valid, &self.order.material.valid).accuracy()
    }

    /// The same by the labels given, where they are not those believed.
    fn valid_accuracy_as_given(&self, outcome: &SeedOutcome<f32>) -> Option<f64> {
        let Labels::Corrected(_) = self.learned.labels else { return None };
        outcome.run.end.as_ref()?;
        let Order { material, hardware, .. } = self.order;
        let mut engine = Cpu::new(&outcome.model, hardware.threads);
        let Ok(evaluation) = evaluate(&mut engine, &material.split.valid, Mode::default());
        self.confusion(&evaluation, &material.valid).accuracy()
    }

    /// The names of the symbols.
    pub fn alphabet(&self) -> Alphabet {
        let names = self.order.material.split.train.alphabet.clone();
        Alphabet::new(names).expect("the network was trained with it")
    }

    fn confusion(&self, evaluation: &Evaluation, aside: &Aside) -> Confusion {
        let mut confusion = Confusion::new(self.order.material.split.train.classes.clone());
        confusion.counts = evaluation.confusion.clone();
        aside.unreadable.iter().for_each(|sequence| confusion.add_unreadable(sequence.label));
        confusion
    }
}

/// The object.
pub fn result(account: &Account) -> Value {
    let Account { order, learned, seconds } = account;
    let kept = learned.kept();
    let (valid, test) = (account.validation(), account.test());
    let accuracy = valid.accuracy();
    let fail_under = order.resolved.fail_under;
    let certified = learned.verdict.as_ref().and_then(Verdict::proof).is_some();
    let must_certify = order.resolved.must_certify == Some(true);
    let passed = fail_under.is_none_or(|least| accuracy.unwrap_or(0.0) >= least)
        && (certified || !must_certify);
    json!({
        "run": order.folder.path().display().to_string(),
        "source": order.resolved.source.to_string(),
        "device": order.hardware.device.to_string(),
        "data": { "digest": order.material.digests() },
        "seeds": learned.outcomes.iter().map(|o| seed(account, o)).collect::<Vec<_>>(),
        "labels": labels(account),
        "kept": {
            "seed": kept.seed,
            "reason": learned.selection.reason,
            "because": learned.selection.reason.describe(),
            "digest": digest(&kept.model),
        },
        "network": {
            "valid_accuracy": accuracy,
            "test_accuracy": test.as_ref().map(Confusion::accuracy),
        },
        "confusion": { "valid": valid, "test": test },
        "automaton": automaton(account),
        "no_automaton": no_automaton(learned),
        "tested_on": learned.extraction.as_ref().ok().map(|e| tested_on(&e.words)),
        "ways": learned.extraction.as_ref().ok().map(|extraction| {
            ways(extraction).iter().map(|way| (way.key.into(), one_way(account, way)))
                .collect::<Map<String, Value>>()
        }),
        "certificate": certificate(account),
        "notes": advice(account),
        "fail_under": fail_under,
        "must_certify": must_certify,
        "passed": passed,
        "seconds": seconds,
    })
}

/// What is proved: of the network, of the program, and what stands in the way of more.
fn certificate(account: &Account) -> Value {
    let Some(verdict) = &account.learned.verdict else { return Value::Null };
    let proof = verdict.proof();
    let mut value = proof::value(verdict, &account.alphabet());
    let truth = account.order.material.truth.as_ref();
    let equals = |truth| proof.map(|proof| distinguish(truth, &proof.automaton) == Ok(None));
    value["equals_truth"] = json!(truth.map(equals));
    value["file"] = json!(proof.map(|_| CERTIFICATE));
    value
}

/// Accuracies and losses are by the labels that the seed was trained with: those believed, where
/// some are not; `by_given_labels` is null otherwise.
fn seed(account: &Account, outcome: &SeedOutcome<f32>) -> Value {
    let end = outcome.run.end.as_ref();
    let given = account.valid_accuracy_as_given(outcome);
    json!({
        "seed": outcome.seed,
        "train_accuracy": end.map(|end| end.train.accuracy),
        "train_loss": end.map(|end| end.train.loss),
        "valid_accuracy": account.valid_accuracy(outcome),
        "valid_loss": end.map(|end| end.valid.loss),
        "by_given_labels": given.map(|accuracy| json!({ "valid_accuracy": accuracy })),
        "stop": outcome.run.stop,
        "updates": outcome.run.updates,
        "kept_update": outcome.run.kept,
        "automaton": outcome.quality.map(quality),
        "digest": digest(&outcome.model),
    })
}

fn quality(quality: Quality) -> Value {
    match quality.closed {
        true => json!({ "certified": quality.certified, "closed": true,
                        "states": quality.states, "agreement": quality.agreement }),
        false => json!({ "certified": quality.certified, "closed": false }),
    }
}

/// The kept network's automaton: the cover's, or nothing.
fn automaton(account: &Account) -> Value {
    let Ok(extraction) = &account.learned.extraction else { return Value::Null };
    let [.., cover] = ways(extraction);
    match cover.found {
        Ok(judged) => one_judged(account, judged),
        Err(_) => Value::Null,
    }
}

fn no_automaton(learned: &Learned) -> Option<String> {
    match &learned.extraction {
        Err(refusal) => Some(refusal.to_string()),
        Ok(extraction) => {
            let [.., cover] = ways(extraction);
            cover.found.err()
        }
    }
}

fn tested_on(words: &Words) -> Value {
    let longest = match words {
        Words::UpTo { longest, .. } => Some(*longest),
        Words::List(_) => None,
    };
    json!({ "words": words.len(), "longest": longest })
}

fn one_way(account: &Account, way: &Way) -> Value {
    match &way.found {
        Ok(judged) => one_judged(account, judged),
        Err(refusal) => json!({ "refused": refusal }),
    }
}

fn one_judged(account: &Account, judged: &Judged) -> Value {
    let alphabet = account.alphabet();
    let spelled = |word: &Option<Word>| word.as_ref().map(|word| alphabet.spell(word));
    let truth = judged.truth.as_ref();
    json!({
        "states": judged.extracted.minimal.as_ref().ok().map(|minimal| minimal.state_count()),
        "states_before_minimising": judged.extracted.automaton.state_count(),
        "complete": judged.extracted.minimal.is_ok(),
        "centroids": judged.extracted.used.layers,
        "agreement": {
            "words": agreement(&judged.on_words, &alphabet),
            "data": agreement(&judged.on_data, &alphabet),
        },
        "equals_truth": truth.map(|verdict| verdict.equal),
        "shortest_difference": truth.and_then(|v| spelled(&v.shortest_difference)),
    })
}

fn agreement(agreement: &Agreement, alphabet: &Alphabet) -> Value {
    let Agreement { compared, equal, unknown, unanswered, difference } = agreement;
    json!({
        "rate": rate(agreement),
        "compared": compared,
        "equal": equal,
        "unknown": unknown,
        "unanswered": unanswered,
        "first_difference": difference.as_ref().map(|word| alphabet.spell(word)),
    })
}

/// The part of all words on which automaton and network say the same.
pub fn rate(agreement: &Agreement) -> f64 {
    let asked = agreement.compared + agreement.unknown + agreement.unanswered;
    agreement.equal as f64 / asked.max(1) as f64
}
