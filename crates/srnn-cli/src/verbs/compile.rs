//! `srnn compile`: writes an automaton into a network, with a proof that both are equal.

use crate::automaton::{AutomatonArg, Notation, notation_parser};
use crate::failure::{Answer, Failure};
use crate::files;
use crate::output::Output;
use crate::runs::{self, AUTOMATON, CERTIFICATE};
use clap::Args;
use serde_json::{Value, json};
use srnn::certify::{Certificate, Verdict, statement};
use srnn::compile::{CompiledNetwork, certify_compiled, compile};
use srnn::engine::atomic::IfExists;
use srnn::engine::model::digest;
use srnn::extract::json::{NamedAutomaton, to_json};
use srnn::format::plural;
use srnn::report::proof;
use srnn_automata::{Moore, Partial};
use std::fmt::Write as _;
use std::path::PathBuf;
use std::time::Instant;

/// Write an automaton into a network, without training, and prove that both are equal.
///
/// The network is an SR-GRU with one unit for each transition and one centroid for each state of the
/// minimal automaton. OUT becomes a model folder with config.json, model.safetensors,
/// automaton.json and certificate.json. The checker has accepted the certificate before anything is
/// written.
#[derive(Args)]
#[command(
    before_help = "Examples:
  srnn compile tomita:4 --out tomita-4
  srnn compile 're:(<open><read>*<close>)*' --out session",
    after_help = "Exit codes: 0 compiled and proved; 1 no proof was found, nothing is written; 2 an error"
)]
pub struct CompileArgs {
    /// A file, `-` for stdin, a run folder, `re:EXPRESSION` or `tomita:1`…`7`.
    automaton: String,
    /// The folder of the model.
    #[arg(long, value_name = "MODEL")]
    out: PathBuf,
    /// The notation of AUTOMATON [default: by its extension or its text].
    #[arg(long, value_parser = notation_parser())]
    from: Option<Notation>,
    /// The symbols of a regular expression: characters, or names separated by commas.
    #[arg(long, value_name = "SYMBOLS")]
    alphabet: Option<String>,
    /// Send unknown transitions to a sink state of this class.
    #[arg(long, value_name = "CLASS")]
    missing: Option<String>,
    /// Replace the files of a model in MODEL.
    #[arg(long)]
    force: bool,
}

pub fn run(arguments: &CompileArgs, output: &Output) -> Result<Answer, Failure> {
    check_out(arguments)?;
    let (named, given) = AutomatonArg::open(&arguments.automaton, arguments.from)?
        .complete(arguments.alphabet.as_deref(), arguments.missing.as_deref())?;
    let network = compile(&given, named.classes())?;
    output.note(format!("{}; searching for a proof …", size_text(&given, &network)));
    let begin = Instant::now();
    let verdict = certify_compiled(&network);
    let seconds = begin.elapsed().as_secs_f64();
    // The checker has accepted this very certificate: otherwise the verdict has no proof.
    let certificate = verdict.proof().map(|proof| Certificate::new(&network.file, proof));
    if let Some(certificate) = &certificate {
        save(arguments, &network, certificate)?;
    }
    report(arguments, &given, &network, &verdict, seconds, output)?;
    Ok(if certificate.is_some() { Answer::Yes } else { Answer::No })
}

/// Refuses a folder that exists without --force, and one in which a file cannot be replaced.
fn check_out(arguments: &CompileArgs) -> Result<(), Failure> {
    let out = &arguments.out;
    if !arguments.force && out.symlink_metadata().is_ok() {
        let message = format!("{}: this exists already", out.display());
        return Err(Failure::new(message, "--force replaces it, or give another name"));
    }
    // The result of a run would belong to another model.
    let absolute = out.canonicalize().or_else(|_| std::path::absolute(out)).ok();
    let parent = absolute.and_then(|path| path.parent().map(PathBuf::from));
    if runs::is_run(out) || parent.is_some_and(|folder| runs::is_run(&folder)) {
        let message = format!("{}: this is a run of `learn`, or lies in one", out.display());
        return Err(Failure::new(message, "give another folder with --out"));
    }
    let names = ["config.json", "model.safetensors", AUTOMATON, CERTIFICATE];
    names.iter().try_for_each(|name| files::check_target(&out.join(name), IfExists::Replace))
}

/// Writes the folder. An old certificate is removed first: it would belong to another model.
fn save(
    arguments: &CompileArgs,
    network: &CompiledNetwork,
    certificate: &Certificate,
) -> Result<(), Failure> {
    let file = arguments.out.join(CERTIFICATE);
    match std::fs::remove_file(&file) {
        Err(error) if arguments.out.exists() && error.kind() != std::io::ErrorKind::NotFound => {
            let message = format!("{}: {error}", file.display());
            return Err(Failure::new(message, "give another folder with --out"));
        }
        _ => (),
    }
    network.file.save(&arguments.out)?;
    let automaton = Partial::from(&network.automaton);
    let named = NamedAutomaton::new(network.file.classes.clone(), automaton)?;
    files::write(&arguments.out.join(AUTOMATON), &to_json(&named), IfExists::Replace)?;
    files::write(&file, &certificate.to_json(), IfExists::Replace)
}

fn size_text(given: &Moore<u32>, network: &CompiledNetwork) -> String {
    let model = &network.file.model;
    let (states, symbols) = (network.automaton.state_count(), network.automaton.alphabet().len());
    let left_out = given.state_count() - states;
    let mut text = format!(
        "{} over {}: a network of {}, {} and {}",
        plural(states, "state"),
        plural(symbols, "symbol"),
        plural(model.arch.layers[0].units, "unit"),
        plural(states, "centroid"),
        plural(model.params.len(), "parameter"),
    );
    if left_out > 0 {
        let _ = write!(text, " ({left_out} unreachable or equivalent states were left out)");
    }
    text
}

fn report(
    arguments: &CompileArgs,
    given: &Moore<u32>,
    network: &CompiledNetwork,
    verdict: &Verdict,
    seconds: f64,
    output: &Output,
) -> Result<(), Failure> {
    let alphabet = network.automaton.alphabet();
    let mut text = match verdict.proof() {
        Some(proof) => {
            let claim = statement(alphabet.names(), &proof.automaton, proof.arithmetic);
            format!("compiled: {}\nproved: {claim}\n", size_text(given, network))
        }
        None => "not compiled: no proof was found that the network equals the automaton\n".into(),
    };
    if let Some(missing) = verdict.not_proved() {
        let [why, _] = proof::obstacle(missing, alphabet);
        let what = if verdict.proof().is_some() { "single precision is not proved: " } else { "" };
        let _ = writeln!(text, "  {what}{why}");
    }
    if let Some(size) = proof::size_line(verdict) {
        let out = arguments.out.display();
        let _ = writeln!(text, "  {size}; {seconds:.2} s\n  wrote {out}; srnn check {out}");
    }
    output.result(text, &value(arguments, given, network, verdict, seconds))
}

fn value(
    arguments: &CompileArgs,
    given: &Moore<u32>,
    network: &CompiledNetwork,
    verdict: &Verdict,
    seconds: f64,
) -> Value {
    let alphabet = network.automaton.alphabet();
    let proof = verdict.proof();
    let model = &network.file.model;
    let mut value = proof::to_json(verdict, alphabet);
    value["statement"] =
        json!(proof.map(|p| statement(alphabet.names(), &p.automaton, p.arithmetic)));
    value["out"] = json!(proof.map(|_| arguments.out.display().to_string()));
    value["states"] = json!(network.automaton.state_count());
    value["states_left_out"] = json!(given.state_count() - network.automaton.state_count());
    value["symbols"] = json!(alphabet.len());
    value["classes"] = json!(network.file.classes);
    value["units"] = json!(model.arch.layers[0].units);
    value["parameters"] = json!(model.params.len());
    value["digest"] = json!(digest(model));
    value["seconds"] = json!(seconds);
    value
}
