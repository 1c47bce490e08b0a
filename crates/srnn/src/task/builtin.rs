//! Built-in tasks by name.
//!
//! `tomita:3` or `bp:large:A` names training and validation sets, `tomita:l29-40` or
//! `bp:d10-20:l200` a test set.

use super::palindrome;
use super::parentheses::{self, ParenthesesNegatives, TestShape, TooFew, TrainingSize};
use super::tomita::{self, Grammar};
use super::{Dataset, Split};
use crate::key::Key;
use serde::{Deserialize, Serialize};
use srnn_automata::Moore;
use std::fmt;
use std::ops::RangeInclusive;
use std::str::FromStr;

/// A built-in task: its training and validation sets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Task {
    /// `tomita:1` to `tomita:7`.
    Tomita(Grammar),
    /// `bp:small:A`, `bp:small:B`, `bp:large:A`, `bp:large:B`: balanced parentheses.
    Parentheses(TrainingSize, ParenthesesNegatives),
    /// `palindrome:A`, `palindrome:B`.
    Palindrome(palindrome::PalindromeNegatives),
}

/// A test set of a built-in task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum TestSet {
    /// `tomita:l29-40`: words of these lengths.
    Tomita {
        /// The lengths.
        lengths: RangeInclusive<usize>,
    },
    /// `bp:d10-20:l200`: balanced parentheses of these depths, up to this length.
    Parentheses {
        /// Depths and largest length.
        shape: TestShape,
        /// `bp:d10-20:l200:B`: the kind of negatives; by default that of the training set.
        negatives: Option<ParenthesesNegatives>,
    },
    /// `palindrome:l200`: from 50 letters to this many, with the negatives of the training set.
    Palindrome {
        /// The largest length.
        longest: usize,
    },
}

/// A name that no task has.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "\"{0}\" is no built-in task: use tomita:1 to tomita:7, bp:small:A, bp:large:A, palindrome:A, or \
     B instead of A"
)]
pub struct UnknownTask(pub String);

/// A name that no test set has.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "\"{0}\" is no test set: use tomita:l29-40, bp:d10-20:l200, bp:d5:l200:B or palindrome:l200, with \
     the smaller number first, more than 2d symbols for depth d, and 50 letters or more for \
     palindromes"
)]
pub struct UnknownTest(pub String);

/// A test set that cannot be made.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum TestError {
    /// It belongs to another task.
    #[error("\"{test}\" is no test set of \"{task}\": use a test set of the same task")]
    OtherTask {
        /// The test set.
        test: String,
        /// The task.
        task: String,
    },
    /// There are too few strings.
    #[error(transparent)]
    TooFew(#[from] TooFew),
}

/// The largest depth and length of test strings.
const MAX_LENGTH: usize = 100_000;

impl Task {
    /// The first parts of the names of all tasks, before the colon.
    pub const FAMILIES: [&'static str; 3] = ["tomita", "bp", "palindrome"];

    /// The minimal automaton of its language; `None` if no finite automaton accepts that.
    pub fn minimal_automaton(self) -> Option<Moore<u32>> {
        match self {
            Task::Tomita(grammar) => Some(Moore::from(&tomita::minimal_dfa(grammar))),
            Task::Parentheses(..) | Task::Palindrome(_) => None,
        }
    }

    /// The size of its alphabet.
    pub fn symbols(self) -> usize {
        match self {
            Task::Tomita(_) => 2,
            Task::Parentheses(..) => parentheses::LETTERS.end as usize,
            Task::Palindrome(_) => palindrome::SYMBOLS,
        }
    }

    /// Fails if `test` is a test set of another task.
    pub fn check_test_set(self, test: &TestSet) -> Result<(), TestError> {
        match (self, test) {
            (Task::Tomita(_), TestSet::Tomita { .. }) => Ok(()),
            (Task::Parentheses(..), TestSet::Parentheses { .. }) => Ok(()),
            (Task::Palindrome(_), TestSet::Palindrome { .. }) => Ok(()),
            (task, test) => Err(other_task(task, test)),
        }
    }
}

/// Training and validation sets.
pub fn sets(task: Task, key: &Key) -> Split {
    match task {
        Task::Tomita(grammar) => tomita::sets(grammar, key),
        Task::Parentheses(size, negatives) => parentheses::sets(size, negatives, key),
        Task::Palindrome(negatives) => palindrome::sets(negatives, key),
    }
}

/// A test set of `count` strings, or of fewer if a Tomita grammar has fewer. It shares no string with
/// `seen`; palindromes of 50 letters are not compared, since they do not repeat.
pub fn test(
    task: Task,
    test: &TestSet,
    count: usize,
    seen: &Split,
    key: &Key,
) -> Result<Dataset, TestError> {
    match (task, test) {
        (Task::Tomita(grammar), TestSet::Tomita { lengths }) => {
            Ok(tomita::test(grammar, lengths, count, seen, key))
        }
        (Task::Parentheses(_, own), TestSet::Parentheses { shape, negatives }) => {
            Ok(parentheses::test(shape, negatives.unwrap_or(own), count, seen, key)?)
        }
        (Task::Palindrome(negatives), TestSet::Palindrome { longest }) => {
            Ok(palindrome::test(*longest, negatives, count, key))
        }
        (task, test) => Err(other_task(task, test)),
    }
}

fn other_task(task: Task, test: &TestSet) -> TestError {
    TestError::OtherTask { test: test.to_string(), task: task.to_string() }
}

impl TestSet {
    /// The approximate memory of `count` strings while they are made, in bytes. It saturates.
    pub fn bytes(&self, count: usize) -> u64 {
        // A string twice, since none may repeat, and its entries in the list and the set.
        const OVERHEAD: u64 = 128;
        const SYMBOL: u64 = 8;
        let (strings, length) = match self {
            TestSet::Tomita { lengths } => {
                let (first, last) = (*lengths.start() as u64, *lengths.end() as u64);
                let words = 2u64.checked_pow(last as u32 + 1).unwrap_or(u64::MAX);
                ((count as u64).min(words), first.midpoint(last))
            }
            TestSet::Parentheses { shape, .. } => (count as u64, shape.longest as u64),
            TestSet::Palindrome { longest } => {
                (count as u64, (palindrome::SHORTEST as u64).midpoint(*longest as u64))
            }
        };
        strings.saturating_mul(SYMBOL.saturating_mul(length).saturating_add(OVERHEAD))
    }
}

impl FromStr for Task {
    type Err = UnknownTask;
    fn from_str(text: &str) -> Result<Task, UnknownTask> {
        let parts: Vec<&str> = text.split(':').collect();
        let found = match *parts {
            ["tomita", number] => number.parse().ok().and_then(Grammar::numbered).map(Task::Tomita),
            ["bp", size, letter] => parse_size(size)
                .zip(parse_negatives(letter))
                .map(|(size, negatives)| Task::Parentheses(size, negatives)),
            ["palindrome", letter] => palindrome::PalindromeNegatives::ALL
                .into_iter()
                .find(|negatives| negatives.letter() == letter)
                .map(Task::Palindrome),
            _ => None,
        };
        found.ok_or_else(|| UnknownTask(text.into()))
    }
}

impl FromStr for TestSet {
    type Err = UnknownTest;
    fn from_str(text: &str) -> Result<TestSet, UnknownTest> {
        let parts: Vec<&str> = text.split(':').collect();
        let found = match *parts {
            ["tomita", lengths] => parse_range(lengths, 'l')
                .filter(|lengths| *lengths.end() <= tomita::LONGEST_WORD)
                .map(|lengths| TestSet::Tomita { lengths }),
            ["bp", depths, longest] => parse_shape(depths, longest)
                .map(|shape| TestSet::Parentheses { shape, negatives: None }),
            ["bp", depths, longest, letter] => parse_shape(depths, longest)
                .zip(parse_negatives(letter))
                .map(|(shape, own)| TestSet::Parentheses { shape, negatives: Some(own) }),
            ["palindrome", longest] => parse_number(longest, 'l')
                .filter(|longest| (palindrome::SHORTEST..=MAX_LENGTH).contains(longest))
                .map(|longest| TestSet::Palindrome { longest }),
            _ => None,
        };
        found.ok_or_else(|| UnknownTest(text.into()))
    }
}

impl fmt::Display for Task {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Task::Tomita(grammar) => write!(f, "tomita:{}", grammar.number()),
            Task::Parentheses(size, negatives) => {
                write!(f, "bp:{}:{}", size_name(*size), negatives.letter())
            }
            Task::Palindrome(negatives) => write!(f, "palindrome:{}", negatives.letter()),
        }
    }
}

impl fmt::Display for TestSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TestSet::Tomita { lengths } => write!(f, "tomita:{}", format_range(lengths, 'l')),
            TestSet::Parentheses { shape, negatives } => {
                write!(f, "bp:{}:l{}", format_range(&shape.depths, 'd'), shape.longest)?;
                negatives.map_or(Ok(()), |negatives| write!(f, ":{}", negatives.letter()))
            }
            TestSet::Palindrome { longest } => write!(f, "palindrome:l{longest}"),
        }
    }
}

fn size_name(size: TrainingSize) -> &'static str {
    match size {
        TrainingSize::Small => "small",
        TrainingSize::Large => "large",
    }
}

fn parse_size(name: &str) -> Option<TrainingSize> {
    [TrainingSize::Small, TrainingSize::Large].into_iter().find(|&size| size_name(size) == name)
}

fn parse_negatives(letter: &str) -> Option<ParenthesesNegatives> {
    ParenthesesNegatives::ALL.into_iter().find(|negatives| negatives.letter() == letter)
}

/// Parses `d10-20` and `l200`; `None` if there are no such strings.
fn parse_shape(depths: &str, longest: &str) -> Option<TestShape> {
    let (depths, longest) = (parse_range(depths, 'd')?, parse_number(longest, 'l')?);
    let shortest = 2 * depths.end().min(&MAX_LENGTH) + 1;
    (shortest <= longest && longest <= MAX_LENGTH).then_some(TestShape { depths, longest })
}

/// Parses `d10-20`, or `d5` for a range of one.
fn parse_range(text: &str, letter: char) -> Option<RangeInclusive<usize>> {
    let numbers = text.strip_prefix(letter)?;
    let (first, last) = numbers.split_once('-').unwrap_or((numbers, numbers));
    let (first, last) = (first.parse().ok()?, last.parse().ok()?);
    (first <= last).then_some(first..=last)
}

/// Parses `l200`.
fn parse_number(text: &str, letter: char) -> Option<usize> {
    text.strip_prefix(letter)?.parse().ok()
}

fn format_range(range: &RangeInclusive<usize>, letter: char) -> String {
    match range.start() == range.end() {
        true => format!("{letter}{}", range.start()),
        false => format!("{letter}{}-{}", range.start(), range.end()),
    }
}

impl TryFrom<String> for Task {
    type Error = UnknownTask;
    fn try_from(text: String) -> Result<Task, UnknownTask> {
        text.parse()
    }
}

impl TryFrom<String> for TestSet {
    type Error = UnknownTest;
    fn try_from(text: String) -> Result<TestSet, UnknownTest> {
        text.parse()
    }
}

impl From<Task> for String {
    fn from(task: Task) -> String {
        task.to_string()
    }
}

impl From<TestSet> for String {
    fn from(test: TestSet) -> String {
        test.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_survive_parsing_and_formatting() {
        for name in ["tomita:1", "tomita:7", "bp:small:A", "bp:large:B", "palindrome:B"] {
            assert_eq!(name.parse::<Task>().unwrap().to_string(), name);
            assert!(Task::FAMILIES.contains(&name.split(':').next().unwrap()));
        }
        let tests =
            ["tomita:l29-40", "tomita:l5", "bp:d1-10:l100", "bp:d20:l1000:B", "palindrome:l100"];
        for name in tests {
            assert_eq!(name.parse::<TestSet>().unwrap().to_string(), name);
        }
    }

    #[test]
    fn unknown_names_are_refused_with_the_known_ones() {
        for name in
            ["tomita", "tomita:0", "tomita:8", "bp:medium:A", "bp:small:C", "bp:small", "bp", ""]
        {
            let error = name.parse::<Task>().unwrap_err().to_string();
            assert!(
                error.contains(&format!("\"{name}\"")) && error.contains("tomita:7"),
                "{error}"
            );
        }
        for name in [
            "tomita:3",
            "tomita:l9-5",
            "tomita:l63",
            "tomita:l-5",
            "tomita:d5",
            "bp:d5",
            "bp:d5:l5-9",
            "bp:d20:l40",
            "bp:d1-18446744073709551615:l100",
            "bp:d5:l200:C",
            "palindrome:l48",
            "palindrome:l50-100",
        ] {
            let error = name.parse::<TestSet>().unwrap_err().to_string();
            assert!(error.contains("tomita:l29-40"), "{error}");
        }
    }

    #[test]
    fn a_test_set_has_the_requested_lengths_and_at_most_the_requested_number() {
        let task: Task = "tomita:4".parse().unwrap();
        let wanted: TestSet = "tomita:l29-31".parse().unwrap();
        let (key, unseen) = (Key::new(1), sets(task, &Key::new(1)));
        let made = |count| test(task, &wanted, count, &unseen, &key).unwrap();
        let set = made(100);
        assert_eq!(set.sequences.len(), 100);
        assert!(set.sequences.iter().all(|s| (29..=31).contains(&s.tokens.len())));
        assert!(set.class_counts().iter().all(|&count| count > 20), "{:?}", set.class_counts());
        assert!(made(1_000_000).sequences.len() > 100);
        assert_eq!(set.alphabet.len(), task.symbols());
    }

    #[test]
    fn a_test_of_parentheses_has_the_negatives_it_names_or_those_of_the_training_set() {
        let key = Key::new(1);
        let made = |task: &str, row: &str| {
            let (task, row): (Task, TestSet) = (task.parse().unwrap(), row.parse().unwrap());
            test(task, &row, 50, &sets(task, &key), &key).unwrap()
        };
        assert_eq!(made("bp:small:A", "bp:d3:l50"), made("bp:small:A", "bp:d3:l50:A"));
        assert_eq!(made("bp:small:B", "bp:d3:l50"), made("bp:small:B", "bp:d3:l50:B"));
        assert_ne!(made("bp:small:A", "bp:d3:l50"), made("bp:small:A", "bp:d3:l50:B"));
        assert_eq!(made("bp:small:A", "bp:d3:l50").class_counts(), [25, 25]);
    }

    #[test]
    fn a_test_of_palindromes_has_the_negatives_of_the_training_set() {
        let key = Key::new(1);
        let (task, row) = ("palindrome:B".parse().unwrap(), "palindrome:l60".parse().unwrap());
        let unseen = sets("tomita:1".parse().unwrap(), &key);
        let set = test(task, &row, 20, &unseen, &key).unwrap();
        assert_eq!(set.class_counts(), [10, 10]);
        let outer_pairs = |s: &crate::task::Sequence| {
            let pairs = s.tokens.iter().zip(s.tokens.iter().rev());
            pairs.filter(|(a, b)| a != b).count()
        };
        let wrong = set.sequences.iter().filter(|s| s.label == 0).map(outer_pairs);
        assert!(
            wrong.into_iter().all(|places| places == 2),
            "one pair differs, counted from both ends"
        );
    }

    #[test]
    fn the_memory_of_a_test_set_is_estimated_and_saturates() {
        let bytes = |name: &str, count| name.parse::<TestSet>().unwrap().bytes(count);
        assert_eq!(bytes("tomita:l5", usize::MAX), 64 * (8 * 5 + 128));
        assert_eq!(bytes("palindrome:l150", 10), 10 * (8 * 100 + 128));
        assert_eq!(bytes("bp:d5:l100", 10), 10 * (8 * 100 + 128));
        assert_eq!(bytes("bp:d5:l100", usize::MAX), u64::MAX);
        assert_eq!(bytes("tomita:l60-62", usize::MAX), u64::MAX);
    }

    #[test]
    fn a_test_of_another_task_is_refused() {
        let (task, row) = ("bp:small:A".parse::<Task>().unwrap(), "tomita:l5".parse().unwrap());
        let error = task.check_test_set(&row).unwrap_err().to_string();
        assert!(error.contains("\"tomita:l5\" is no test set of \"bp:small:A\""), "{error}");
    }
}
