//! `srnn compare`: whether two automata are equivalent.

use crate::automaton::{
    AutomatonArg, AutomatonFlags, ComparedAutomaton, alphabet_of_flag, complete, is_acceptor,
    outputs_on, shortest_difference, symbols_of_expression, to_comparable,
};
use crate::failure::{Answer, Failure};
use crate::output::Output;
use clap::Args;
use serde_json::{Value, json};
use srnn::format::{plural, quoted};
use srnn_automata::{Alphabet, Moore};

/// Decide whether two automata give every word the same class.
///
/// If not, print the shortest word on which they differ, and the class that each gives it.
#[derive(Args)]
#[command(
    before_help = "Examples:
  srnn compare 're:(10)*' tomita:2
  srnn compare automaton.dot --regex '(0|10*1)*'",
    after_help = "Exit codes: 0 equal, 1 different, 2 an error"
)]
pub struct CompareArgs {
    /// An automaton file (JSON, DOT, AT&T text), a run folder, `re:EXPRESSION` or `tomita:1`…`7`.
    a: String,
    /// The other automaton.
    #[arg(required_unless_present = "regex", conflicts_with = "regex")]
    b: Option<String>,
    /// The other automaton as a regular expression: `ab|c*`, `a{3}`, `[01]`, `.`, `<name>`.
    #[arg(long, value_name = "EXPRESSION")]
    regex: Option<String>,
    #[command(flatten)]
    flags: AutomatonFlags,
}

pub fn run(arguments: &CompareArgs, output: &Output) -> Result<Answer, Failure> {
    let left = AutomatonArg::open(&arguments.a, None)?;
    let right = match (&arguments.regex, &arguments.b) {
        (Some(expression), _) => AutomatonArg::Expression(expression.clone()),
        (None, Some(b)) => AutomatonArg::open(b, None)?,
        (None, None) => unreachable!("clap requires one of them"),
    };
    let alphabet = common_alphabet(arguments, &left, &right)?;
    let sides = [side(arguments, &left, &alphabet)?, side(arguments, &right, &alphabet)?];
    check_accept(arguments, &sides)?;
    let machines = to_comparable(&sides)?;
    let word = shortest_difference(&sides, &machines)?;
    report(&sides, &machines, word.as_deref(), output)?;
    Ok(if word.is_none() { Answer::Yes } else { Answer::No })
}

/// The alphabet of regular expressions: that of --alphabet, or of the other automaton, or the
/// symbols that the expressions name.
fn common_alphabet(
    arguments: &CompareArgs,
    left: &AutomatonArg,
    right: &AutomatonArg,
) -> Result<Alphabet, Failure> {
    if let Some(text) = &arguments.flags.alphabet {
        return alphabet_of_flag(text);
    }
    let named = || match (left, right) {
        (AutomatonArg::Expression(a), AutomatonArg::Expression(b)) => {
            symbols_of_expression(&format!("{a}|{b}"))
        }
        _ => symbols_of_expression(""),
    };
    Ok(left.alphabet().or(right.alphabet()).cloned().unwrap_or_else(named))
}

fn side(
    arguments: &CompareArgs,
    operand: &AutomatonArg,
    alphabet: &Alphabet,
) -> Result<ComparedAutomaton, Failure> {
    let (name, automaton) = (operand.name(), operand.resolve(alphabet)?);
    let moore = complete(&automaton, &name, arguments.flags.missing.as_deref())?;
    // An acceptor already has an accepting class.
    let accept = arguments.flags.accept.clone().filter(|_| !is_acceptor(&automaton));
    Ok(ComparedAutomaton { name, automaton, moore, accept })
}

fn check_accept(arguments: &CompareArgs, sides: &[ComparedAutomaton; 2]) -> Result<(), Failure> {
    match &arguments.flags.accept {
        Some(class) if sides.iter().all(|side| side.accept.is_none()) => {
            let message =
                format!("--accept {class}: both automata already have an accepting class");
            Err(Failure::new(message, "leave --accept out"))
        }
        _ => Ok(()),
    }
}

fn report(
    sides: &[ComparedAutomaton; 2],
    machines: &[Moore<String>; 2],
    word: Option<&[srnn_automata::Symbol]>,
    output: &Output,
) -> Result<(), Failure> {
    let sizes = machines.each_ref().map(|machine| machine.minimize().state_count());
    let Some(word) = word else {
        let states = plural(sizes[0], "state");
        let text = format!("equal: the same class for every word; {states} when minimal");
        return output.result(text, &value(sides, sizes, None));
    };
    let alphabet = machines[0].alphabet();
    let names: Vec<&str> = word.iter().map(|&symbol| alphabet.name(symbol)).collect();
    let classes = outputs_on(machines, word);
    let spelled = alphabet.format_word(word);
    let text = format!(
        "different: the shortest word on which they differ is {}\n  {} gives {}\n  {} gives {}",
        quoted(alphabet, word),
        sides[0].name,
        classes[0],
        sides[1].name,
        classes[1]
    );
    output.result(text, &value(sides, sizes, Some((&names, &spelled, &classes))))
}

type Witness<'a> = (&'a [&'a str], &'a str, &'a [String; 2]);

fn value(sides: &[ComparedAutomaton; 2], sizes: [usize; 2], witness: Option<Witness<'_>>) -> Value {
    let side = |i: usize| {
        json!({
            "name": sides[i].name,
            "minimal_states": sizes[i],
            "says": witness.map(|(_, _, classes)| &classes[i]),
        })
    };
    json!({
        "equal": witness.is_none(),
        "word": witness.map(|(names, ..)| names),
        "spelled": witness.map(|(_, spelled, _)| spelled),
        "left": side(0),
        "right": side(1),
    })
}
