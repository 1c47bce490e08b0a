//! The output of `certify`: the proof, or what prevents one.

use super::spec::SpecComparison;
use super::{CertifyOutcome, RandomWordTest};
use crate::failure::Failure;
use crate::output::Output;
use crate::runs::SavedModel;
use serde_json::{Value, json};
use srnn::certify::{Pac, statement};
use srnn::format::{grouped, plural, quoted};
use srnn::report::proof;
use srnn_automata::Alphabet;
use std::fmt::Write as _;

/// Prints the result.
pub fn report(
    saved: &SavedModel,
    alphabet: &Alphabet,
    outcome: &CertifyOutcome,
    output: &Output,
) -> Result<(), Failure> {
    let mut text = match outcome.verdict.proof() {
        Some(_) => proved(saved, outcome),
        None if outcome.random_test.as_ref().is_some_and(|found| found.pac.differences > 0) => {
            "not certified: no proof was found, and the extracted automaton differs from the \
             network.\n"
                .into()
        }
        None => {
            "not certified: no proof was found. Network and automaton may still be equal.\n".into()
        }
    };
    if let Some(missing) = outcome.verdict.not_proved() {
        let [why, remedy] = proof::obstacle(missing, alphabet);
        let what = if outcome.file.is_some() { "the program is not proved: " } else { "" };
        let _ = writeln!(text, "  {what}{why}\n  try: {remedy}");
    }
    if outcome.verdict.proof().is_none() {
        text.push_str(&random_words_text(outcome.random_test.as_ref(), alphabet));
    }
    if let Some(spec) = &outcome.spec {
        text.push_str(&spec_text(spec, outcome, alphabet));
    }
    output.result(text, &value(saved, alphabet, outcome))
}

fn proved(saved: &SavedModel, outcome: &CertifyOutcome) -> String {
    let proof = outcome.verdict.proof().expect("a proof");
    let claim = statement(&saved.file.alphabet, &proof.automaton, proof.arithmetic);
    let mut text = format!("certified: {claim}\n");
    for line in proof::status_lines(&outcome.verdict) {
        let _ = writeln!(text, "  {line}");
    }
    let size = proof::size_line(&outcome.verdict).unwrap_or_default();
    let _ = writeln!(text, "  {size}; {:.2} s", outcome.seconds);
    if let Some(Ok(file)) = &outcome.file {
        let (file, model) = (file.display(), saved.folder.display());
        let _ = writeln!(text, "  wrote {file}; srnn check {model} {file} verifies it");
    }
    text
}

fn random_words_text(random_test: Option<&RandomWordTest>, alphabet: &Alphabet) -> String {
    let Some(RandomWordTest { automaton, pac }) = random_test else {
        return "  no automaton to compare with: no cover of the network's states closes\n".into();
    };
    let (states, words) = (plural(automaton.state_count(), "state"), grouped(pac.words as u64));
    let mut text = format!(
        "instead, the extracted automaton ({states}) was compared with the network on {words} random \
         words\n  (length 0 to {}, lengths and symbols uniformly distributed): {}\n",
        pac.distribution.longest,
        differences(pac, alphabet),
    );
    let _ = writeln!(
        text,
        "  with confidence {} % they differ on at most a fraction of {:.2e} of such words; this says \
         nothing\n  about a single word, longer words or other distributions",
        100.0 * (1.0 - pac.delta),
        pac.epsilon
    );
    text
}

fn differences(pac: &Pac, alphabet: &Alphabet) -> String {
    match &pac.first {
        None => "no difference".into(),
        Some(word) => {
            let (count, word) = (plural(pac.differences, "difference"), quoted(alphabet, word));
            format!("{count}, the first on {word}")
        }
    }
}

fn spec_text(spec: &SpecComparison, outcome: &CertifyOutcome, alphabet: &Alphabet) -> String {
    let proved = outcome.verdict.proof().is_some();
    let name = &spec.name;
    let Some(word) = &spec.word else {
        return match proved {
            true => format!("network = {name} on every word, {}\n", covered(outcome)),
            false => format!(
                "the extracted automaton equals {name}; for the network itself this is not proved\n"
            ),
        };
    };
    let (word, spec_class) = (quoted(alphabet, word), spec.spec_class.clone().unwrap_or_default());
    let [class, _] = spec.network_class.clone().unwrap_or_default();
    match spec.is_replayed() {
        true => format!(
            "network ≠ {name}: {}{word}; the network gives {class} (replayed), the specification \
             {spec_class}\n",
            if proved { "the shortest word on which they differ is " } else { "they differ on " }
        ),
        false => format!(
            "the extracted automaton differs from {name} on {word}, but the network itself gives \
             {class} there, as the specification does: the automaton is wrong, the network may be \
             right\n"
        ),
    }
}

/// The arithmetic and the engines that a proof covers.
fn covered(outcome: &CertifyOutcome) -> String {
    let engines = outcome.verdict.proof().map_or(&[][..], |proof| proof.arithmetic.engines());
    format!("in real arithmetic and in the engines {}", engines.join(", "))
}

fn value(saved: &SavedModel, alphabet: &Alphabet, outcome: &CertifyOutcome) -> Value {
    let mut value = proof::to_json(&outcome.verdict, alphabet);
    let proof = outcome.verdict.proof();
    value["model"] = json!(saved.folder.display().to_string());
    value["statement"] =
        json!(proof.map(|p| statement(&saved.file.alphabet, &p.automaton, p.arithmetic)));
    let file = outcome.file.as_ref();
    value["certificate"] =
        json!(file.and_then(|file| file.as_ref().ok()).map(|file| file.display().to_string()));
    if let Some(Err(failure)) = file {
        for (name, field) in failure.value().as_object().into_iter().flatten() {
            value[name] = field.clone();
        }
    }
    value["seconds"] = json!(outcome.seconds);
    value["pac"] =
        json!(outcome.random_test.as_ref().map(|random_test| pac(random_test, alphabet)));
    let engines = value["engines"].clone();
    value["spec"] = json!(outcome.spec.as_ref().map(|spec| compared(spec, &engines, alphabet)));
    value
}

fn pac(random_test: &RandomWordTest, alphabet: &Alphabet) -> Value {
    let Pac { distribution, words, differences, first, epsilon, delta } = &random_test.pac;
    json!({
        "automaton_states": random_test.automaton.state_count(),
        "distribution": {
            "lengths": format!("uniform from 0 to {}", distribution.longest),
            "symbols": "uniform, independent",
        },
        "words": words,
        "differences": differences,
        "first_difference": first.as_ref().map(|word| alphabet.format_word(word)),
        "epsilon": epsilon,
        "delta": delta,
    })
}

fn compared(spec: &SpecComparison, engines: &Value, alphabet: &Alphabet) -> Value {
    json!({
        "name": spec.name,
        "equal": spec.word.is_none(),
        "proved": engines.as_array().is_some_and(|engines| !engines.is_empty()),
        "engines": engines,
        "word": spec.word.as_ref().map(|word| alphabet.format_word(word)),
        "spec_says": spec.spec_class,
        "network_says": spec.network_class.as_ref().map(|classes| &classes[0]),
        "replayed": spec.word.is_some().then(|| spec.is_replayed()),
    })
}
