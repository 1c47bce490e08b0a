//! The automaton that answers, and how it reads.

use super::super::Predict;
use super::super::inputs::{Asked, check_rule};
use crate::automaton::{Operand, listed, symbols_of_expression};
use crate::failure::Failure;
use crate::reading::token_rule;
use crate::runs;
use srnn::stream::{ByteClasses, CompiledAutomaton};
use srnn::task::files::TokenRule;
use srnn::task::{UNKNOWN, Vocabulary};
use srnn_automata::{Alphabet, Moore, State, Symbol};

/// An automaton with named classes, complete and as small as it can be.
pub struct Machine {
    /// As it was named.
    pub name: String,
    /// The names of its classes.
    pub classes: Vec<String>,
    /// Its outputs are classes, or one more where a transition was not known.
    pub automaton: Moore<u32>,
    /// How a text becomes symbols; never a guess.
    pub rule: TokenRule,
    vocabulary: Vocabulary,
}

/// What of a line is no symbol.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoSymbol {
    /// Its column, in characters from 1.
    pub column: u64,
    /// The token.
    pub token: String,
}

impl Machine {
    /// The automaton that the arguments name.
    pub fn open(arguments: &Predict) -> Result<Machine, Failure> {
        let text = arguments.run.to_string_lossy();
        let operand = Operand::open(&text, None)?;
        let alphabet = match &operand {
            Operand::Expression(text) => symbols_of_expression(text),
            Operand::Known { automaton, .. } => automaton.automaton().alphabet().clone(),
        };
        let automaton = operand.resolve(&alphabet)?;
        let classes = automaton.classes().to_vec();
        let rule = match &arguments.reading.tokens {
            Some(text) => token_rule(text)?,
            None => runs::rule_of_run(&arguments.run)?.unwrap_or(TokenRule::Guess),
        };
        check_rule(&rule)?;
        let not_known = classes.len() as u32;
        let smallest = automaton.automaton().complete(not_known).minimize();
        Ok(Machine::new(operand.name(), classes, smallest, rule))
    }

    fn new(name: String, classes: Vec<String>, automaton: Moore<u32>, rule: TokenRule) -> Machine {
        let names = automaton.alphabet().names().to_vec();
        let unknown = automaton.alphabet().symbol(UNKNOWN).map(|symbol| symbol.0);
        let rule = match rule {
            TokenRule::Guess => runs::likely_rule(&names, unknown),
            rule => rule,
        };
        let vocabulary = Vocabulary::new(names, unknown).expect("distinct names");
        Machine { name, classes, automaton, rule, vocabulary }
    }

    /// The names of its symbols.
    pub fn symbols(&self) -> &[String] {
        self.vocabulary.symbols()
    }

    /// The class of words that end in this state; `None` where a transition was not known.
    pub fn class(&self, end: State) -> Option<u32> {
        let class = *self.automaton.output(end);
        Some(class).filter(|&class| (class as usize) < self.classes.len())
    }

    /// The program for its bytes, where bytes are all there is to know.
    pub fn program(&self) -> Option<CompiledAutomaton> {
        let plain = self.rule == TokenRule::Characters && self.vocabulary.unknown().is_none();
        let alphabet: &Alphabet = self.automaton.alphabet();
        let bytes = plain.then(|| ByteClasses::of_characters(alphabet))??;
        Some(CompiledAutomaton::new(&self.automaton, &bytes))
    }

    /// Where a sequence ends.
    pub fn run(&self, asked: &Asked) -> Result<State, Failure> {
        let step = |state, (number, token): (usize, &String)| {
            self.step(state, token).ok_or_else(|| {
                let place = format!("{}: token {}", asked.place, number + 1);
                self.no_symbol(&place, &format!("{token:?}"))
            })
        };
        asked.tokens.iter().enumerate().try_fold(self.automaton.start(), step)
    }

    /// Where the word of a line ends. Divides it as [`crate::reading::divided`] does, without a
    /// text for every token.
    pub fn run_line(&self, line: &str) -> Result<State, NoSymbol> {
        let start = self.automaton.start();
        let token = |state, token: &str| {
            let no_symbol = || NoSymbol { column: column(line, token), token: token.into() };
            self.step(state, token).ok_or_else(no_symbol)
        };
        match &self.rule {
            TokenRule::Characters => {
                let visible = self.symbols().iter().any(|name| is_blank(name));
                let mut characters = line.split_inclusive(|_: char| true);
                characters.try_fold(start, |state, one| match is_blank(one) && !visible {
                    true => Ok(state),
                    false => token(state, one),
                })
            }
            TokenRule::Separator(_) if line.is_empty() => Ok(start),
            TokenRule::Separator(separator) => {
                line.split(separator.as_str()).try_fold(start, token)
            }
            TokenRule::Whitespace | TokenRule::Guess => {
                line.split_ascii_whitespace().try_fold(start, token)
            }
        }
    }

    /// The error about something that is no symbol.
    pub fn no_symbol(&self, place: &str, what: &str) -> Failure {
        let message = format!("{place}: {what} is no symbol of {}", self.name);
        let symbols = listed(self.symbols());
        let remedy = format!(
            "correct it; the symbols are {symbols}, and --tokens says how a text is divided"
        );
        Failure::new(message, remedy)
    }

    fn step(&self, state: State, token: &str) -> Option<State> {
        let id = self.vocabulary.id(token)?;
        Some(self.automaton.next(state, Symbol(id)))
    }
}

fn is_blank(name: &str) -> bool {
    name.chars().all(|c| c.is_ascii_whitespace())
}

/// The column of a part of a line.
fn column(line: &str, part: &str) -> u64 {
    let bytes = part.as_ptr().addr() - line.as_ptr().addr();
    line[..bytes].chars().count() as u64 + 1
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reading::divided;

    fn machine(names: &[&str], rule: TokenRule) -> Machine {
        let alphabet = Alphabet::new(names.iter().map(|name| name.to_string()).collect()).unwrap();
        let states = 7 * names.len() as u32 + 3;
        let next = |state: State, symbol: Symbol| State((5 * state.0 + symbol.0 + 1) % states);
        let automaton = Moore::from_fn(alphabet, states, |state| state.0, next).unwrap();
        let classes = (0..states).map(|state| state.to_string()).collect();
        Machine::new("it".into(), classes, automaton, rule)
    }

    #[test]
    fn a_line_is_divided_as_a_sequence_is() {
        let separator = TokenRule::Separator(", ".into());
        for (names, rule, lines) in [
            (&["a", "é"][..], TokenRule::Characters, &["", "aé", " a é\té "][..]),
            (&["a", " "], TokenRule::Characters, &["a a", "  ", ""]),
            (&["open", "é"], TokenRule::Whitespace, &["open  é open", "", " "]),
            (&["open", "é é"], separator, &["open, é é, open", ""]),
            (&["a", "b"], TokenRule::Guess, &["abba", "a b"]),
            (&["a", "<unk>"], TokenRule::Characters, &["abcä"]),
        ] {
            let machine = machine(names, rule);
            for line in lines {
                let tokens = divided(line, &machine.rule, machine.symbols());
                let asked = Asked { place: "here".into(), tokens, label: None };
                let expected = machine.run(&asked).unwrap();
                assert_eq!(machine.run_line(line), Ok(expected), "{names:?} {line:?}");
            }
        }
    }

    #[test]
    fn what_is_no_symbol_has_a_column_in_characters() {
        let columns = |names: &[&str], rule: TokenRule, line: &str| {
            let no_symbol = machine(names, rule).run_line(line).unwrap_err();
            (no_symbol.column, no_symbol.token)
        };
        assert_eq!(columns(&["é"], TokenRule::Characters, "éé xé"), (4, "x".into()));
        assert_eq!(columns(&["é", "ab"], TokenRule::Whitespace, "é  ab éa"), (7, "éa".into()));
        let comma = TokenRule::Separator(",".into());
        assert_eq!(columns(&["é", "ab"], comma, "ab,é,,é"), (6, String::new()));
    }

    #[test]
    fn bytes_are_enough_only_where_every_symbol_is_one() {
        let has_program =
            |names: &[&str], rule: TokenRule| machine(names, rule).program().is_some();
        assert!(has_program(&["0", "1"], TokenRule::Guess));
        assert!(!has_program(&["0", "1"], TokenRule::Whitespace));
        assert!(!has_program(&["0", "é"], TokenRule::Characters));
        assert!(!has_program(&["0", " "], TokenRule::Characters));
        assert!(!has_program(&["0", "<unk>"], TokenRule::Characters));
    }
}
