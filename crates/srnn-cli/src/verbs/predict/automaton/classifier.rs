//! The automaton that classifies, and how it reads text.

use super::super::PredictArgs;
use super::super::inputs::{InputSequence, check_rule};
use crate::automaton::{AutomatonArg, quoted_list, symbols_of_expression};
use crate::failure::Failure;
use crate::reading::parse_token_rule;
use crate::runs;
use srnn::stream::{ByteClasses, CompiledAutomaton};
use srnn::task::files::TokenRule;
use srnn::task::text::tokenize;
use srnn::task::{UNKNOWN, Vocabulary};
use srnn_automata::{Alphabet, Moore, State, Symbol};

/// A complete, minimal automaton with named classes and a token rule.
pub struct AutomatonClassifier {
    /// The name that the user gave.
    pub name: String,
    /// The names of its classes.
    pub classes: Vec<String>,
    /// Outputs are indices of `classes`; `classes.len()` stands for an unknown transition.
    pub automaton: Moore<u32>,
    /// How a text is split into symbols; never [`TokenRule::Guess`].
    pub rule: TokenRule,
    vocabulary: Vocabulary,
}

/// A token that is not in the alphabet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownSymbol {
    /// Its column in the line, in characters from 1.
    pub column: u64,
    /// The token.
    pub token: String,
}

impl AutomatonClassifier {
    /// The automaton that the arguments name.
    pub fn open(arguments: &PredictArgs) -> Result<AutomatonClassifier, Failure> {
        let text = arguments.run.to_string_lossy();
        let operand = AutomatonArg::open(&text, None)?;
        let alphabet = match &operand {
            AutomatonArg::Expression(text) => symbols_of_expression(text),
            AutomatonArg::Known { automaton, .. } => automaton.automaton().alphabet().clone(),
        };
        let automaton = operand.resolve(&alphabet)?;
        let classes = automaton.classes().to_vec();
        let rule = match &arguments.reading.tokens {
            Some(text) => parse_token_rule(text)?,
            None => runs::rule_of_run(&arguments.run)?.unwrap_or(TokenRule::Guess),
        };
        check_rule(&rule)?;
        let not_known = classes.len() as u32;
        let smallest = automaton.automaton().complete(not_known).minimize();
        Ok(AutomatonClassifier::new(operand.name(), classes, smallest, rule))
    }

    fn new(
        name: String,
        classes: Vec<String>,
        automaton: Moore<u32>,
        rule: TokenRule,
    ) -> AutomatonClassifier {
        let names = automaton.alphabet().names().to_vec();
        let unknown = automaton.alphabet().symbol(UNKNOWN).map(|symbol| symbol.0);
        let rule = match rule {
            TokenRule::Guess => runs::likely_rule(&names, unknown),
            rule => rule,
        };
        let vocabulary = Vocabulary::new(names, unknown).expect("distinct names");
        AutomatonClassifier { name, classes, automaton, rule, vocabulary }
    }

    /// The names of its symbols.
    pub fn symbols(&self) -> &[String] {
        self.vocabulary.symbols()
    }

    /// The class of words that end in this state; `None` after an unknown transition.
    pub fn class(&self, end: State) -> Option<u32> {
        let class = *self.automaton.output(end);
        Some(class).filter(|&class| (class as usize) < self.classes.len())
    }

    /// The automaton compiled for bytes, if every symbol is one byte and whitespace is ignored.
    pub fn program(&self) -> Option<CompiledAutomaton> {
        let plain = self.rule == TokenRule::Characters && self.vocabulary.unknown().is_none();
        let alphabet: &Alphabet = self.automaton.alphabet();
        let bytes = plain.then(|| ByteClasses::of_characters(alphabet))??;
        Some(CompiledAutomaton::new(&self.automaton, &bytes))
    }

    /// The state in which a sequence ends.
    pub fn run(&self, input: &InputSequence) -> Result<State, Failure> {
        let step = |state, (number, token): (usize, &String)| {
            self.step(state, token).ok_or_else(|| {
                let place = format!("{}: token {}", input.place, number + 1);
                self.unknown_symbol(&place, &format!("{token:?}"))
            })
        };
        input.tokens.iter().enumerate().try_fold(self.automaton.start(), step)
    }

    /// The state in which the word of a line ends. Splits the line as
    /// [`crate::reading::split_tokens`] does, without allocating its tokens.
    pub fn run_line(&self, line: &str) -> Result<State, UnknownSymbol> {
        let start = self.automaton.start();
        let token = |state, token: &str| {
            let unknown = || UnknownSymbol { column: column(line, token), token: token.into() };
            self.step(state, token).ok_or_else(unknown)
        };
        match &self.rule {
            TokenRule::Characters => {
                let keeps_blanks = self.symbols().iter().any(|name| is_blank(name));
                let mut characters = line.split_inclusive(|_: char| true);
                characters.try_fold(start, |state, one| match is_blank(one) && !keeps_blanks {
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
            // These tokens are not slices of the line: an unknown one is reported at its begin.
            TokenRule::Text(tokenizer) => {
                let tokens = tokenize(line, *tokenizer);
                tokens.split_ascii_whitespace().try_fold(start, |state, token| {
                    let unknown = || UnknownSymbol { column: 1, token: token.into() };
                    self.step(state, token).ok_or_else(unknown)
                })
            }
        }
    }

    /// The error for a token that is not in the alphabet.
    pub fn unknown_symbol(&self, place: &str, what: &str) -> Failure {
        let message = format!("{place}: {what} is not a symbol of {}", self.name);
        let symbols = quoted_list(self.symbols());
        let remedy =
            format!("correct it; the symbols are {symbols}, and --tokens sets how a text is split");
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

/// The column at which `part` starts; `part` must be a slice of `line`.
fn column(line: &str, part: &str) -> u64 {
    let bytes = part.as_ptr().addr() - line.as_ptr().addr();
    line[..bytes].chars().count() as u64 + 1
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reading::split_tokens;
    use srnn::engine::model::Tokenizer;

    fn classifier(names: &[&str], rule: TokenRule) -> AutomatonClassifier {
        let alphabet = Alphabet::new(names.iter().map(|name| name.to_string()).collect()).unwrap();
        let states = 7 * names.len() as u32 + 3;
        let next = |state: State, symbol: Symbol| State((5 * state.0 + symbol.0 + 1) % states);
        let automaton = Moore::from_fn(alphabet, states, |state| state.0, next).unwrap();
        let classes = (0..states).map(|state| state.to_string()).collect();
        AutomatonClassifier::new("it".into(), classes, automaton, rule)
    }

    #[test]
    fn a_line_is_split_as_a_sequence_is() {
        let separator = TokenRule::Separator(", ".into());
        let text = TokenRule::Text(Tokenizer::MosesLowerCase);
        for (names, rule, lines) in [
            (&["a", "é"][..], TokenRule::Characters, &["", "aé", " a é\té "][..]),
            (&["a", " "], TokenRule::Characters, &["a a", "  ", ""]),
            (&["open", "é"], TokenRule::Whitespace, &["open  é open", "", " "]),
            (&["open", "é é"], separator, &["open, é é, open", ""]),
            (&["a", "b"], TokenRule::Guess, &["abba", "a b"]),
            (&["a", "<unk>"], TokenRule::Characters, &["abcä"]),
            (&["good", "&apos;s", "."], text, &["GOOD's.", "", " "]),
        ] {
            let classifier = classifier(names, rule);
            for line in lines {
                let tokens = split_tokens(line, &classifier.rule, classifier.symbols());
                let input = InputSequence { place: "here".into(), tokens, label: None };
                let expected = classifier.run(&input).unwrap();
                assert_eq!(classifier.run_line(line), Ok(expected), "{names:?} {line:?}");
            }
        }
    }

    #[test]
    fn an_unknown_symbol_has_a_column_in_characters() {
        let columns = |names: &[&str], rule: TokenRule, line: &str| {
            let unknown_symbol = classifier(names, rule).run_line(line).unwrap_err();
            (unknown_symbol.column, unknown_symbol.token)
        };
        assert_eq!(columns(&["é"], TokenRule::Characters, "éé xé"), (4, "x".into()));
        let text = TokenRule::Text(Tokenizer::MosesLowerCase);
        assert_eq!(columns(&["é"], text, "É X"), (1, "x".into()));
        assert_eq!(columns(&["é", "ab"], TokenRule::Whitespace, "é  ab éa"), (7, "éa".into()));
        let comma = TokenRule::Separator(",".into());
        assert_eq!(columns(&["é", "ab"], comma, "ab,é,,é"), (6, String::new()));
    }

    #[test]
    fn an_automaton_is_compiled_only_if_every_symbol_is_one_byte() {
        let has_program =
            |names: &[&str], rule: TokenRule| classifier(names, rule).program().is_some();
        assert!(has_program(&["0", "1"], TokenRule::Guess));
        assert!(!has_program(&["0", "1"], TokenRule::Whitespace));
        assert!(!has_program(&["0", "é"], TokenRule::Characters));
        assert!(!has_program(&["0", " "], TokenRule::Characters));
        assert!(!has_program(&["0", "<unk>"], TokenRule::Characters));
    }
}
