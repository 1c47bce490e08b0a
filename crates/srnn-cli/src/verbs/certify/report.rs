//! What is shown of a proof, or of the lack of one.

use super::spec::Compared;
use super::{Fallback, Outcome};
use crate::failure::Failure;
use crate::output::Output;
use crate::runs::Saved;
use serde_json::{Value, json};
use srnn::certify::{Pac, statement};
use srnn::format::{grouped, plural, quoted};
use srnn::report::proof;
use srnn_automata::Alphabet;
use std::fmt::Write as _;

/// Shows it.
pub fn report(
    saved: &Saved,
    alphabet: &Alphabet,
    outcome: &Outcome,
    output: &Output,
) -> Result<(), Failure> {
    let mut text = match outcome.verdict.proof() {
        Some(_) => proved(saved, outcome),
        None if outcome.fallback.as_ref().is_some_and(|found| found.pac.differences > 0) => {
            "not certified: no proof was found, and the automaton read off the network differs \
             from it.\n"
                .into()
        }
        None => "not certified: no proof was found. That does not mean that network and automaton \
                 differ.\n"
            .into(),
    };
    if let Some(missing) = outcome.verdict.not_proved() {
        let [why, remedy] = proof::obstacle(missing, alphabet);
        let what = if outcome.file.is_some() { "the program is not: " } else { "" };
        let _ = writeln!(text, "  {what}{why}\n  try: {remedy}");
    }
    if outcome.verdict.proof().is_none() {
        text.push_str(&probable(outcome.fallback.as_ref(), alphabet));
    }
    if let Some(spec) = &outcome.spec {
        text.push_str(&against(spec, outcome, alphabet));
    }
    output.result(text, &value(saved, alphabet, outcome))
}

fn proved(saved: &Saved, outcome: &Outcome) -> String {
    let proof = outcome.verdict.proof().expect("a proof");
    let words = statement(&saved.file.alphabet, &proof.automaton, proof.arithmetic);
    let mut text = format!("certified: {words}\n");
    for line in proof::lines(&outcome.verdict) {
        let _ = writeln!(text, "  {line}");
    }
    let size = proof::size(&outcome.verdict).unwrap_or_default();
    let _ = writeln!(text, "  {size}; {:.2} s", outcome.seconds);
    if let Some(Ok(file)) = &outcome.file {
        let (file, model) = (file.display(), saved.folder.display());
        let _ = writeln!(text, "  wrote {file}; srnn check {model} {file} checks it");
    }
    text
}

fn probable(fallback: Option<&Fallback>, alphabet: &Alphabet) -> String {
    let Some(Fallback { automaton, pac }) = fallback else {
        return "  nor is there an automaton to compare with: no cover of its states closes\n"
            .into();
    };
    let (states, words) = (plural(automaton.state_count(), "state"), grouped(pac.words as u64));
    let mut text = format!(
        "instead, the automaton read off the network ({states}) was compared with it on {words} \
         random words\n  (length 0 to {}, all lengths and all symbols equally probable): {}\n",
        pac.distribution.longest,
        differences(pac, alphabet),
    );
    let _ = writeln!(
        text,
        "  with confidence {} % the two differ on at most a part of {:.2e} of such words; of any \
         single word,\n  of longer ones or of others this says nothing",
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

fn against(spec: &Compared, outcome: &Outcome, alphabet: &Alphabet) -> String {
    let proved = outcome.verdict.proof().is_some();
    let name = &spec.name;
    let Some(word) = &spec.word else {
        return match proved {
            true => format!("network = {name} on every word, {}\n", covered(outcome)),
            false => format!(
                "the automaton read off the network equals {name}; of the network itself that is \
                 not proved\n"
            ),
        };
    };
    let (word, spec_says) = (quoted(alphabet, word), spec.spec_says.clone().unwrap_or_default());
    let [class, _] = spec.network_says.clone().unwrap_or_default();
    match spec.is_replayed() {
        true => format!(
            "network ≠ {name}: {}{word}; the network says {class} (replayed), the specification \
             {spec_says}\n",
            if proved { "the shortest word on which they differ is " } else { "they differ on " }
        ),
        false => format!(
            "the automaton read off the network differs from {name} on {word}, but the network \
             itself says {class} there, as the specification does: the automaton is wrong, the \
             network may be right\n"
        ),
    }
}

/// What a proof holds for, in words.
fn covered(outcome: &Outcome) -> String {
    let engines = outcome.verdict.proof().map_or(&[][..], |proof| proof.arithmetic.engines());
    format!("in real arithmetic and in the engines {}", engines.join(", "))
}

fn value(saved: &Saved, alphabet: &Alphabet, outcome: &Outcome) -> Value {
    let mut value = proof::value(&outcome.verdict, alphabet);
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
    value["pac"] = json!(outcome.fallback.as_ref().map(|fallback| pac(fallback, alphabet)));
    let engines = value["engines"].clone();
    value["spec"] = json!(outcome.spec.as_ref().map(|spec| compared(spec, &engines, alphabet)));
    value
}

fn pac(fallback: &Fallback, alphabet: &Alphabet) -> Value {
    let Pac { distribution, words, differences, first, epsilon, delta } = &fallback.pac;
    json!({
        "automaton_states": fallback.automaton.state_count(),
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

fn compared(spec: &Compared, engines: &Value, alphabet: &Alphabet) -> Value {
    json!({
        "name": spec.name,
        "equal": spec.word.is_none(),
        "proved": engines.as_array().is_some_and(|engines| !engines.is_empty()),
        "engines": engines,
        "word": spec.word.as_ref().map(|word| alphabet.format_word(word)),
        "spec_says": spec.spec_says,
        "network_says": spec.network_says.as_ref().map(|says| &says[0]),
        "replayed": spec.word.is_some().then(|| spec.is_replayed()),
    })
}
