//! `explain` for one sequence, step by step.

use super::answer::{
    ExplainedWord, FlipAnswer, flip_of_model, flip_text, flip_value, moved, probabilities, support,
};
use super::automaton::{shorten, with_names_of_model};
use super::ngrams::headline;
use super::output_folder::OutputFolder;
use super::pictures::{self, SvgResult};
use super::strips::strips;
use super::training::training_counts;
use super::{ExplainArgs, ExplainedModel, accepting_class, batch, brackets, measure_depth};
use crate::automaton;
use crate::failure::Failure;
use crate::output::{Output, escape_control};
use crate::reading::split_tokens;
use serde_json::{Value, json};
use srnn::engine::cpu::Cpu;
use srnn::engine::model::Temperature;
use srnn::engine::{Fields, Mode};
use srnn::explain::influence::{ClassAnswer, Influence, answer, influence};
use srnn::explain::{
    InputPath, Observation, Trajectory, TransitionSupport, Vector, alpha_at_temperatures, counter,
    drift::norms, input_path, observe, trajectory,
};
use srnn::extract::json::NamedAutomaton;
use srnn::extract::{WordSet, word_logits};
use srnn::format::{aligned, plural};
use srnn_automata::Symbol;
use std::fmt::Write as _;
use std::slice;

/// Prints the explanation of a sequence, and writes the files of --out.
pub fn explain(
    arguments: &ExplainArgs,
    explained: &ExplainedModel,
    text: &str,
    output: &Output,
) -> Result<(), Failure> {
    let file = &explained.saved.file;
    let tokens = split_tokens(text, &explained.rule, &file.alphabet);
    let word = explained.vocabulary.encode(&tokens).map_err(|unseen| {
        let remedy = "leave it out, or split the sequence by another rule with --tokens";
        Failure::new(unseen, remedy)
    })?;
    let unseen = word.iter().zip(&tokens).filter(|&(&id, token)| explained.name(id) != **token);
    let unseen = unseen.count();
    if unseen > 0 {
        output.note(format!("warning: {} not seen in training", plural(unseen, "token")));
    }
    let mut engine = Cpu::new(&file.model, 1);
    let fields = Fields { alpha: true, h: true, c: true, u: false };
    let arch = &file.model.arch;
    let mut seen =
        observe(&mut engine, &batch(arch, slice::from_ref(&word)), explained.layer, fields);
    if let Some(ids) = brackets(arguments, explained)? {
        measure_depth(&mut seen, ids);
    }
    let path = trajectory(&seen, 0, |id| explained.name(id));
    let word = ExplainedWord { symbols: &file.alphabet, classes: &file.classes, tokens, word };
    let found = answers(explained, &word, output);
    if let Some(disagreement) = found.disagreement(&word) {
        output.note(format!("warning: {disagreement}"));
    }
    let files = match &arguments.out {
        Some(folder) => {
            let folder = OutputFolder::new(folder, arguments.force, output);
            let mut drawn = drawn(arguments, explained, &word, &seen, &path)?;
            drawn.extend(found.drawn(arguments, &word)?);
            let mut value = serde_json::to_value(&path)?;
            value["layer"] = json!(explained.layer);
            folder.save("trajectory.json", &value, drawn)?
        }
        None => vec![],
    };
    let steps = steps(&seen, &path, word.symbols.len());
    let rows = || steps.iter().enumerate().map(|(number, step)| found.of_step(&word, number, step));
    let mut value = match &found.given.class {
        Some(class) => json!({ "label": word.class(*class), "reason": null,
                               "probabilities": probabilities(&word, &found.given) }),
        None => json!({ "label": null, "probabilities": null, "reason": NOT_FINITE }),
    };
    value["model"] = json!(explained.saved.folder.display().to_string());
    value["tokens"] = json!(word.tokens);
    value["layer"] = json!(explained.layer);
    value["steps"] = rows().map(|row| row.value()).collect();
    value["path"] = json!(found.path().map(|path| &path.states));
    value["moved"] = found.moved.1.clone();
    value["flip"] = found.flip.as_ref().map_or(Value::Null, |flip| flip_value(&word, flip));
    value["unsupported"] = found.support.1.clone();
    value["support_known"] = json!(found.counts().is_some());
    value["files"] = json!(files);
    let mut text = match found.given.class {
        Some(_) => headline(&word, &found.given),
        None => format!("{}\t-\t{NOT_FINITE}\n", word.text(&word.tokens)),
    };
    text.push_str(&table(&word, &found, &rows().collect::<Vec<_>>()));
    text.push_str(&strips(&path));
    text.push_str(&found.moved.0);
    text.push_str(&found.support.0);
    text.extend(found.flip.as_ref().map(|flip| flip_text(&word, flip)));
    files.iter().for_each(|file| writeln!(text, "written: {file}").expect("a string"));
    output.result(text, &value)
}

const NOT_FINITE: &str = "the network's output is not finite: its weights are too large";

/// The answers of the network and of its automaton.
struct Answers {
    given: ClassAnswer,
    influence: Option<Influence>,
    automaton: Option<RunAutomaton>,
    flip: Option<FlipAnswer>,
    /// Text and JSON.
    moved: (String, Value),
    /// Text and JSON.
    support: (String, Value),
}

/// The automaton of the run and the path of the sequence through it.
struct RunAutomaton {
    named: NamedAutomaton,
    path: InputPath,
    counts: Result<TransitionSupport, String>,
}

impl Answers {
    fn path(&self) -> Option<&InputPath> {
        self.automaton.as_ref().map(|automaton| &automaton.path)
    }

    fn counts(&self) -> Option<&TransitionSupport> {
        self.automaton.as_ref().and_then(|automaton| automaton.counts.as_ref().ok())
    }

    /// A sentence if the automaton gives another class than the network.
    fn disagreement(&self, word: &ExplainedWord<'_>) -> Option<String> {
        let [network, automaton] = [self.given.class?, self.path()?.class()?];
        let [said, other] = [network, automaton].map(|class| word.class(class));
        let text = format!("the network gives {said:?}, its automaton {other:?}");
        (network != automaton).then_some(text)
    }

    /// The automaton with the path of the sequence.
    fn drawn(
        &self,
        arguments: &ExplainArgs,
        word: &ExplainedWord<'_>,
    ) -> Result<Option<(String, SvgResult)>, Failure> {
        let Some(automaton) = &self.automaton else { return Ok(None) };
        let accepting = accepting_class(arguments, word.classes)?;
        let title = format!("Path of {}", shorten(&word.text(&word.tokens)));
        let path = (&automaton.path, &word.word[..]);
        let picture = pictures::path(&automaton.named, path, self.counts(), accepting, title);
        Ok(Some(("path.svg".into(), picture)))
    }

    /// The row of a step.
    fn of_step<'a>(
        &'a self,
        word: &'a ExplainedWord<'a>,
        number: usize,
        step: &'a StepRow,
    ) -> ExplainedStep<'a> {
        let (read, influence) = (step.read, self.influence.as_ref());
        let place = read.checked_sub(1);
        let state = self.path().and_then(|path| Some((path.states.get(read)?, path.classes[read])));
        ExplainedStep {
            number,
            step,
            state: state.map(|(&state, class)| (state, word.class(class))),
            label: self.given.class,
            prefix: influence.map(|influence| &influence.prefixes[read]),
            without: influence.zip(place).map(|(influence, at)| &influence.without[at]),
            classes: word.classes,
        }
    }
}

fn answers(explained: &ExplainedModel, word: &ExplainedWord<'_>, output: &Output) -> Answers {
    let file = &explained.saved.file;
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let mut engine = Cpu::new(&file.model, threads);
    let mut logits = |words: &[Vec<u32>]| {
        let words = words.iter().map(|word| word.iter().map(|&id| Symbol(id)).collect());
        let mut rows: Vec<Vec<f64>> = vec![];
        let keep = |row: &[f32]| rows.push(row.iter().map(|&x| x.into()).collect());
        word_logits(&mut engine, &WordSet::List(words.collect()), Mode::default(), keep);
        rows
    };
    let given = answer(&logits(slice::from_ref(&word.word))[0]);
    let automaton = run_automaton(explained, word, output);
    let influence = influence(&mut logits, &word.word).filter(|_| given.class.is_some());
    let partial = automaton.as_ref().map(|automaton| automaton.named.automaton());
    let flip = given.class.map(|_| flip_of_model(partial, &mut logits, word, file.unknown));
    let path = automaton.as_ref().map(|automaton| &automaton.path);
    let support = automaton.as_ref().map_or((String::new(), Value::Null), |automaton| {
        match &automaton.counts {
            Ok(counts) => {
                let unsupported = automaton.path.unsupported(&word.word, counts);
                support(word, &automaton.path, unsupported)
            }
            Err(why) => (format!("support: not known: {why}\n"), Value::Null),
        }
    });
    let moved = moved(word, given.class, influence.as_ref(), path);
    Answers { given, influence, automaton, flip, moved, support }
}

/// The automaton of the run. A damaged or foreign file is only a warning.
fn run_automaton(
    explained: &ExplainedModel,
    word: &ExplainedWord<'_>,
    output: &Output,
) -> Option<RunAutomaton> {
    let saved = &explained.saved;
    let file = saved.automaton().filter(|_| saved.has_automaton())?;
    let warn = |failure: &Failure| output.note(format!("warning: no path: {}", failure.message));
    let read = automaton::read(&file, None, None).inspect_err(warn).ok()?;
    let Some(named) = with_names_of_model(&read, word.symbols, word.classes) else {
        output.note(format!(
            "warning: no path: {} has other symbols or classes than the model",
            file.display()
        ));
        return None;
    };
    let counts = match &saved.run {
        Some(run) => training_counts(run, named.automaton()),
        None => Err("this is a model without its run".into()),
    };
    let path = input_path(named.automaton(), &word.word);
    Some(RunAutomaton { named, path, counts })
}

/// What the network does at one step.
struct StepRow {
    token: String,
    /// The number of tokens of the sequence that are read: 0 after a start token.
    read: usize,
    /// The two most probable centroids with their α; empty for a plain layer.
    centroids: Vec<(usize, f64)>,
    /// ‖h‖.
    h: f64,
    /// ‖c‖; `None` for cells without a cell state.
    c: Option<f64>,
}

/// The row of the table for one step.
struct ExplainedStep<'a> {
    number: usize,
    step: &'a StepRow,
    /// The state of the automaton and its class.
    state: Option<(u32, &'a str)>,
    /// The class of the whole sequence.
    label: Option<u32>,
    /// The answer to the tokens so far.
    prefix: Option<&'a ClassAnswer>,
    /// The answer to the sequence without this token.
    without: Option<&'a ClassAnswer>,
    classes: &'a [String],
}

fn steps(seen: &Observation, path: &Trajectory, symbols: usize) -> Vec<StepRow> {
    let h = norms(seen, Vector::H, 0);
    let c = if seen.c.is_empty() { vec![] } else { norms(seen, Vector::C, 0) };
    // Ids beyond the symbols are start tokens.
    let starts = seen.tokens.first().is_some_and(|&id| id as usize >= symbols);
    let step = |t: usize| StepRow {
        token: path.tokens[t].clone(),
        read: t + 1 - usize::from(starts),
        centroids: path.alpha.get(t).map_or(vec![], |alpha| two_largest(alpha)),
        h: h[t],
        c: c.get(t).copied(),
    };
    (0..h.len()).map(step).collect()
}

fn two_largest(alpha: &[f64]) -> Vec<(usize, f64)> {
    let mut ranked: Vec<(usize, f64)> = alpha.iter().copied().enumerate().collect();
    ranked.sort_by(|a, b| b.1.total_cmp(&a.1));
    ranked.truncate(2);
    ranked
}

impl ExplainedStep<'_> {
    fn class(&self, answer: Option<&ClassAnswer>) -> Option<&str> {
        Some(&self.classes[answer?.class? as usize])
    }

    /// The probability of the class of the whole sequence.
    fn probability(&self, answer: Option<&ClassAnswer>) -> Option<f64> {
        Some(answer?.probabilities[self.label? as usize])
    }

    fn value(&self) -> Value {
        let alpha =
            |&(centroid, alpha): &(usize, f64)| json!({ "centroid": centroid, "alpha": alpha });
        json!({
            "token": self.step.token,
            "state": self.state.map(|state| state.0),
            "state_class": self.state.map(|state| state.1),
            "prefix_label": self.class(self.prefix),
            "prefix_probability": self.probability(self.prefix),
            "without_label": self.class(self.without),
            "without_probability": self.probability(self.without),
            "centroid": self.step.centroids.first().map(|first| first.0),
            "largest": self.step.centroids.iter().map(alpha).collect::<Vec<_>>(),
            "h_norm": self.step.h,
            "c_norm": self.step.c,
        })
    }

    fn cells(&self) -> Vec<String> {
        let token = escape_control(&self.step.token).replace(['\n', '\t'], "␣");
        let mut cells = vec![self.number.to_string(), token];
        cells.extend(self.state.map(|state| state.0.to_string()));
        if self.prefix.is_some() {
            let text = |class: Option<&str>| class.map_or("-".to_string(), escape_control);
            let p = self.probability(self.prefix);
            cells.push(text(self.class(self.prefix)));
            cells.push(p.map_or("-".into(), |p| format!("{p:.3}")));
            cells.push(self.without.map_or(String::new(), |_| text(self.class(self.without))));
        }
        if let Some((first, _)) = self.step.centroids.first() {
            let alpha = |&(centroid, alpha): &(usize, f64)| format!("{centroid}: {alpha:.3}");
            let alphas: Vec<String> = self.step.centroids.iter().map(alpha).collect();
            cells.extend([first.to_string(), alphas.join("  ")]);
        }
        cells.push(format!("{:.3}", self.step.h));
        cells.extend(self.step.c.map(|c| format!("{c:.3}")));
        cells
    }
}

/// The table of steps.
fn table(word: &ExplainedWord<'_>, found: &Answers, steps: &[ExplainedStep<'_>]) -> String {
    let label = found.given.class.map_or(String::new(), |class| escape_control(word.class(class)));
    let mut header = vec!["step".to_string(), "token".into()];
    header.extend(found.path().map(|_| "state".into()));
    if found.influence.is_some() {
        header.extend(["class so far".into(), format!("p({label})"), "class without".into()]);
    }
    if steps.iter().any(|step| !step.step.centroids.is_empty()) {
        header.extend(["centroid".into(), "α (two largest)".into()]);
    }
    header.push("‖h‖".into());
    header.extend(steps.iter().find_map(|step| step.step.c).map(|_| "‖c‖".into()));
    let mut rows = vec![header];
    rows.extend(steps.iter().map(ExplainedStep::cells));
    aligned(&rows)
}

/// The pictures of the states along the sequence.
fn drawn(
    arguments: &ExplainArgs,
    explained: &ExplainedModel,
    word: &ExplainedWord<'_>,
    seen: &Observation,
    path: &Trajectory,
) -> Result<Vec<(String, SvgResult)>, Failure> {
    let mut drawn = Vec::new();
    for (name, of) in [("hidden", Vector::H), ("cell", Vector::C)] {
        if !seen.vector(of).is_empty() {
            drawn.extend(pictures::units(name, of, path, &depth_units(seen, of)));
        }
    }
    if !path.alpha.is_empty() {
        drawn.push(("alpha.svg".into(), pictures::alpha(path)));
        drawn.push(("token-bars.svg".into(), pictures::token_bars(path)));
    }
    let taus = arguments.tau.iter().map(|&tau| {
        let remedy = "--tau 0.1,0.5,1";
        Temperature::new(tau).map_err(|error| Failure::new(format!("--tau {tau}: {error}"), remedy))
    });
    let taus: Vec<Temperature> = taus.collect::<Result<_, _>>()?;
    let model = &explained.saved.file.model;
    let batch = batch(&model.arch, slice::from_ref(&word.word));
    if let Some(runs) = alpha_at_temperatures(model, &batch, explained.layer, &taus) {
        let picture = pictures::temperatures(&path.tokens, &runs);
        drawn.push(("alpha-temperatures.svg".into(), picture));
    }
    Ok(drawn)
}

/// The unit that encodes the depth best; none if the depth was not measured.
fn depth_units(seen: &Observation, of: Vector) -> Vec<usize> {
    if seen.quantity.is_empty() {
        return vec![];
    }
    let config = counter::CounterConfig { of, best: 1, ..counter::CounterConfig::default() };
    let found = counter::counter(slice::from_ref(seen), &config);
    found.iter().map(|counter| counter.best[0].unit).collect()
}
