//! `srnn convert`: writes an automaton in another notation.

use crate::automaton::{
    AutomatonArg, Notation, WriteOptions, alphabet_of_flag, complete, is_acceptor, notation_parser,
    symbols_of_expression, write,
};
use crate::failure::{Answer, Failure};
use crate::files;
use crate::output::Output;
use crate::runs;
use clap::Args;
use serde_json::json;
use srnn::extract::json::NamedAutomaton;
use srnn::format::plural;
use srnn_automata::{Alphabet, Partial};
use std::path::{Path, PathBuf};

/// Write an automaton in another notation.
///
/// JSON is lossless. AT&T text, JFLAP files and regular expressions represent acceptors only. SVG,
/// TikZ and tables cannot be read back.
#[derive(Args)]
#[command(before_help = "Examples:
  srnn convert tomita:4 tomita4.svg
  srnn convert 're:(10)*' - --to dot")]
pub struct ConvertArgs {
    /// A file, `-` for stdin, a run folder, `re:EXPRESSION` or `tomita:1`…`7`.
    #[arg(value_name = "IN")]
    input: String,
    /// The file to write, or `-` for stdout.
    #[arg(value_name = "OUT")]
    out: PathBuf,
    /// The notation of IN [default: by its extension or its text].
    #[arg(long, value_parser = notation_parser())]
    from: Option<Notation>,
    /// The notation of OUT [default: by its extension].
    #[arg(long, value_parser = notation_parser())]
    to: Option<Notation>,
    /// The symbols of a regular expression: characters, or names separated by commas.
    #[arg(long, value_name = "SYMBOLS")]
    alphabet: Option<String>,
    /// The class that an acceptor accepts.
    #[arg(long, value_name = "CLASS")]
    accept: Option<String>,
    /// Send unknown transitions to a sink state of this class.
    #[arg(long, value_name = "CLASS")]
    missing: Option<String>,
    /// Leave sinks out of a picture: states that do not accept and that no edge leaves.
    #[arg(long)]
    hide_sinks: bool,
    /// Minimise the automaton first.
    #[arg(long)]
    minimize: bool,
    /// Replace OUT if it exists.
    #[arg(long)]
    force: bool,
}

pub fn run(arguments: &ConvertArgs, output: &Output) -> Result<Answer, Failure> {
    let to = notation(arguments)?;
    let stream = arguments.out.as_os_str() == files::STDIO_PATH;
    let if_exists = files::if_exists(arguments.force);
    if !stream {
        files::check_target(&arguments.out, if_exists)?;
    }
    let operand = AutomatonArg::open(&arguments.input, arguments.from)?;
    let name = operand.name();
    let mut automaton = operand.resolve(&alphabet(arguments, &operand)?)?;
    if arguments.minimize {
        automaton = minimized(&automaton, &name, arguments.missing.as_deref())?;
    }
    let title = title(arguments, &operand, &name);
    let (accept, missing) = (arguments.accept.as_deref(), arguments.missing.as_deref());
    let hide_sinks = arguments.hide_sinks;
    let options = WriteOptions { accept, missing, title: &title, hide_sinks };
    let text = write(&automaton, &name, to, options)?;
    if !stream {
        files::write(&arguments.out, &text, if_exists)?;
    }
    report(arguments, &automaton, &text, to, output)?;
    Ok(Answer::Yes)
}

/// The title of a picture: the data of a run, the name of a file without its folder, or IN.
fn title(arguments: &ConvertArgs, operand: &AutomatonArg, name: &str) -> String {
    let folder = Path::new(&arguments.input);
    if folder.is_dir()
        && let Ok(saved) = runs::load(folder)
    {
        return saved.title();
    }
    match (operand, Path::new(name).file_name()) {
        (AutomatonArg::Known { .. }, Some(file)) => file.to_string_lossy().into(),
        _ => name.into(),
    }
}

fn notation(arguments: &ConvertArgs) -> Result<Notation, Failure> {
    let notation = arguments.to.or_else(|| Notation::of_name(&arguments.out));
    notation.ok_or_else(|| {
        let message = format!("{}: the notation is not clear from the name", shown(&arguments.out));
        Failure::new(message, "--to json|dot|att|regex|jflap|svg|tikz|table")
    })
}

fn alphabet(arguments: &ConvertArgs, operand: &AutomatonArg) -> Result<Alphabet, Failure> {
    match (&arguments.alphabet, operand) {
        (Some(text), _) => alphabet_of_flag(text),
        (None, AutomatonArg::Expression(text)) => Ok(symbols_of_expression(text)),
        (None, AutomatonArg::Known { automaton, .. }) => {
            Ok(automaton.automaton().alphabet().clone())
        }
    }
}

fn minimized(
    automaton: &NamedAutomaton,
    name: &str,
    missing: Option<&str>,
) -> Result<NamedAutomaton, Failure> {
    let minimal = complete(automaton, name, missing)?.minimize();
    Ok(NamedAutomaton::new(automaton.classes().to_vec(), Partial::from(&minimal))?)
}

fn report(
    arguments: &ConvertArgs,
    automaton: &NamedAutomaton,
    text: &str,
    to: Notation,
    output: &Output,
) -> Result<(), Failure> {
    let stream = arguments.out.as_os_str() == files::STDIO_PATH;
    let partial = automaton.automaton();
    let (states, symbols) = (partial.state_count(), partial.alphabet().len());
    if output.json {
        let value = json!({
            "out": (!stream).then(|| arguments.out.display().to_string()),
            "notation": to.name(),
            "states": states,
            "symbols": symbols,
            "classes": automaton.classes(),
            "acceptor": is_acceptor(automaton),
            "text": stream.then_some(text),
        });
        return output.result("", &value);
    }
    if stream {
        return files::print(text);
    }
    let out = arguments.out.display();
    let (states, symbols) = (plural(states, "state"), plural(symbols, "symbol"));
    output.note(format!("{out}: {states} over {symbols}, as {}", to.name()));
    Ok(())
}

fn shown(out: &Path) -> String {
    if out.as_os_str() == files::STDIO_PATH { "stdout".into() } else { out.display().to_string() }
}
