//! A model of any kind as a function from the tokens so far to the probabilities of the next one.

use super::automaton::TokenAutomaton;
use super::ngrams::TokenNgrams;
use super::surprise::{SequenceSurprise, StepSurprise};
use crate::engine::cpu::Cpu;
use crate::engine::reference::log_softmax;
use crate::engine::{Batch, Fields, Inputs, LayerState, Mode, Runner, Targets};
use crate::model::Model;
use crate::task::{UNKNOWN, inputs_of};
use serde::{Deserialize, Serialize};

/// The tokens of a model. The last two are `<unk>` and the end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NextVocabulary {
    /// The name of each token, by id.
    pub alphabet: Vec<String>,
    /// Whether `<unk>` occurs in the training set.
    pub unknown_in_training: bool,
}

/// A model that predicts the next token.
#[derive(Clone, Debug, PartialEq)]
pub enum NextModel {
    /// Counts of what followed the last tokens.
    Ngrams(TokenNgrams),
    /// Counts of what followed in each state of an automaton.
    Automaton(TokenAutomaton),
    /// A network with a read-out at every step.
    Network(Box<Model<f32>>),
}

/// A prediction: the place of the sequence, the step, and the probabilities of all tokens.
type VisitPrediction<'v> = dyn FnMut(usize, usize, &[f64]) + 'v;

/// The largest number of logits of a network that are in memory at a time.
const MAX_LOGITS: usize = 1 << 22;

impl NextVocabulary {
    /// The id of the end.
    pub fn end(&self) -> u32 {
        self.alphabet.len() as u32 - 1
    }

    /// The id of `<unk>`.
    pub fn unknown(&self) -> u32 {
        self.alphabet.len() as u32 - 2
    }

    /// The id that no training sequence has, if there is one.
    pub fn unseen(&self) -> Option<u32> {
        (!self.unknown_in_training).then_some(self.unknown())
    }

    /// The ids of tokens. Tokens that are not in the vocabulary become `<unk>`, and so does the name
    /// of the end.
    pub fn encode(&self, tokens: &[String]) -> Vec<u32> {
        let names = &self.alphabet[..self.unknown() as usize];
        let id = |token: &String| match names.binary_search(token) {
            Ok(id) => id as u32,
            Err(_) => self.unknown(),
        };
        tokens.iter().map(id).collect()
    }

    /// What is wrong with a vocabulary from a file, if anything.
    pub(super) fn inconsistency(&self) -> Option<&'static str> {
        let names = &self.alphabet;
        match names.len().checked_sub(2) {
            None => Some("the vocabulary lacks <unk> and the end"),
            Some(unknown) if names[unknown] != UNKNOWN => Some("the vocabulary lacks <unk>"),
            Some(unknown) if !names[..unknown].is_sorted_by(|a, b| a < b) => {
                Some("the tokens are not sorted")
            }
            Some(_) => None,
        }
    }
}

impl NextModel {
    /// The surprises of all sequences.
    pub fn surprises(
        &self,
        sequences: &[Vec<u32>],
        vocabulary: &NextVocabulary,
        threads: usize,
    ) -> Vec<SequenceSurprise> {
        let (end, unseen) = (vocabulary.end(), vocabulary.unseen());
        let mut found: Vec<SequenceSurprise> = sequences
            .iter()
            .map(|s| SequenceSurprise { steps: Vec::with_capacity(s.len() + 1) })
            .collect();
        self.visit(sequences, end, threads, &mut |index, step, probabilities| {
            let target = sequences[index].get(step).copied().unwrap_or(end);
            found[index].steps.push(StepSurprise::new(target, probabilities, unseen));
        });
        found
    }

    /// The `count` most probable tokens at every step of a sequence, with their probabilities.
    pub fn expected(
        &self,
        sequence: &[u32],
        vocabulary: &NextVocabulary,
        count: usize,
    ) -> Vec<Vec<(u32, f64)>> {
        let mut expected = vec![];
        self.visit(&[sequence.to_vec()], vocabulary.end(), 1, &mut |_, _, probabilities| {
            let mut tokens: Vec<(u32, f64)> = (0..).zip(probabilities.iter().copied()).collect();
            tokens.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
            tokens.truncate(count);
            expected.push(tokens);
        });
        expected
    }

    /// Calls `visit` for every step of every sequence; the steps of a sequence come in order.
    fn visit(
        &self,
        sequences: &[Vec<u32>],
        end: u32,
        threads: usize,
        visit: &mut VisitPrediction<'_>,
    ) {
        match self {
            NextModel::Network(model) => {
                visit_network(&mut Cpu::new(model, threads), sequences, end, visit);
            }
            NextModel::Ngrams(ngrams) => {
                for (index, sequence) in sequences.iter().enumerate() {
                    let inputs: Vec<u32> = inputs_of(sequence, end).collect();
                    for step in 0..inputs.len() {
                        visit(index, step, &ngrams.distribution(&inputs[..=step]));
                    }
                }
            }
            NextModel::Automaton(automaton) => {
                for (index, sequence) in sequences.iter().enumerate() {
                    for (step, state) in automaton.states_of(sequence).enumerate() {
                        visit(index, step, &automaton.distribution(state));
                    }
                }
            }
        }
    }
}

/// Runs the sequences in batches of bounded size. A longer sequence is run in windows.
fn visit_network(
    engine: &mut Cpu,
    sequences: &[Vec<u32>],
    end: u32,
    visit: &mut VisitPrediction<'_>,
) {
    let most = (MAX_LOGITS / engine.arch().classes).max(1);
    let mut order: Vec<usize> = (0..sequences.len()).collect();
    // A batch takes as long as its longest sequence.
    order.sort_by_key(|&index| sequences[index].len());
    let mut rest = &order[..];
    while let Some(&first) = rest.first() {
        let mut steps = 0;
        let fits = rest.iter().take_while(|&&index| {
            steps += sequences[index].len() + 1;
            steps <= most
        });
        let count = fits.count();
        if count == 0 {
            visit_windows(engine, &sequences[first], end, most, &mut |step, p| {
                visit(first, step, p)
            });
            rest = &rest[1..];
            continue;
        }
        let (part, after) = rest.split_at(count);
        visit_batch(engine, part, sequences, end, visit);
        rest = after;
    }
}

fn visit_batch(
    engine: &mut Cpu,
    part: &[usize],
    sequences: &[Vec<u32>],
    end: u32,
    visit: &mut VisitPrediction<'_>,
) {
    let (mut offsets, mut inputs) = (vec![0], vec![]);
    for &index in part {
        inputs.extend(inputs_of(&sequences[index], end));
        offsets.push(inputs.len());
    }
    let batch = unlabelled_batch(offsets, inputs, vec![]);
    let classes = engine.arch().classes;
    let Ok(trace) = engine.trace(&batch, Mode::default(), Fields::default());
    for (row, &index) in part.iter().enumerate() {
        for (step, at) in batch.row(row).enumerate() {
            visit(index, step, &probabilities(&trace.logits[at * classes..][..classes]));
        }
    }
}

fn visit_windows(
    engine: &mut Cpu,
    sequence: &[u32],
    end: u32,
    window: usize,
    visit: &mut dyn FnMut(usize, &[f64]),
) {
    let inputs: Vec<u32> = inputs_of(sequence, end).collect();
    let classes = engine.arch().classes;
    let mut state = LayerState::zeros(engine.arch(), 1);
    for (number, part) in inputs.chunks(window).enumerate() {
        let batch = unlabelled_batch(vec![0, part.len()], part.to_vec(), state);
        let Ok(trace) = engine.trace(&batch, Mode::default(), Fields::default());
        for (step, logits) in trace.logits.chunks_exact(classes).enumerate() {
            visit(number * window + step, &probabilities(logits));
        }
        state = trace.last;
    }
}

fn unlabelled_batch(offsets: Vec<usize>, inputs: Vec<u32>, initial: Vec<LayerState>) -> Batch {
    let (input, targets) = (Inputs::Tokens(inputs), Targets::None);
    Batch { offsets, input, targets, class_weights: vec![], initial }
}

/// The softmax of logits; NaN if one of them is not finite.
fn probabilities(logits: &[f32]) -> Vec<f64> {
    let logits: Vec<f64> = logits.iter().map(|&x| f64::from(x)).collect();
    log_softmax(&logits).into_iter().map(f64::exp).collect()
}

#[cfg(test)]
mod tests {
    use super::super::testing::sequences;
    use super::*;
    use crate::key::Key;
    use crate::model::Init;
    use crate::train::{ArchName, Sizes, recipe_corpus};

    fn vocabulary(unknown_in_training: bool) -> NextVocabulary {
        NextVocabulary { alphabet: sequences(&[]).alphabet.to_vec(), unknown_in_training }
    }

    #[test]
    fn a_sequence_in_windows_has_the_surprises_of_the_sequence_in_one_batch() {
        let set = sequences(&["abba", "", "b", "aabbab"]).sequences;
        for arch in [ArchName::Lstm, ArchName::SrLstmP, ArchName::SrGru] {
            let sizes = Sizes { units: 6, k: 4, ..Sizes::corpus(arch, 4) };
            let model =
                Model::new(recipe_corpus(&sizes).arch, &Init::default(), Key::new(5)).unwrap();
            let whole = NextModel::Network(Box::new(model.clone()));
            let whole = whole.surprises(&set, &vocabulary(true), 2);
            let lengths: Vec<usize> = whole.iter().map(|s| s.steps.len()).collect();
            assert_eq!(lengths, [5, 1, 2, 7]);
            for (sequence, surprise) in set.iter().zip(&whole) {
                let mut bits = vec![];
                let mut engine = Cpu::new(&model, 1);
                visit_windows(&mut engine, sequence, 3, 2, &mut |step, p| {
                    assert_eq!(step, bits.len());
                    bits.push(-p[surprise.steps[step].token as usize].log2());
                });
                for (found, expected) in bits.iter().zip(&surprise.steps) {
                    assert!((found - expected.bits).abs() < 1e-5, "{arch}");
                }
                assert_eq!(bits.len(), surprise.steps.len());
            }
        }
    }

    #[test]
    fn unseen_tokens_are_unknown_and_have_the_last_rank() {
        let train = sequences(&["ab", "ab"]);
        let names = ["b", "z", "<eos>", "<unk>"].map(String::from);
        let ids = vocabulary(false).encode(&names);
        assert_eq!(ids, [1, 2, 2, 2]);
        let model = NextModel::Ngrams(TokenNgrams::fit(&train, &train));
        let steps = &model.surprises(&[ids], &vocabulary(false), 1)[0].steps;
        assert_eq!(steps.iter().map(|s| s.token).collect::<Vec<_>>(), [1, 2, 2, 2, 3]);
        assert!(steps[1..4].iter().all(|step| step.rank == 4), "{steps:?}");
        let expected = model.expected(&[0], &vocabulary(false), 2);
        assert_eq!(expected.len(), 2);
        assert_eq!((expected[0][0].0, expected[1][0].0), (0, 1));
        assert!(expected[0][0].1 > 0.5 && expected[0].len() == 2);
    }

    #[test]
    fn a_vocabulary_from_a_broken_file_is_refused() {
        let of = |names: &[&str]| NextVocabulary {
            alphabet: names.iter().map(|name| name.to_string()).collect(),
            unknown_in_training: false,
        };
        assert_eq!(of(&["a", "b", "<unk>", "<eos>"]).inconsistency(), None);
        for bad in [
            &["<eos>"][..],
            &["a", "b"],
            &["b", "a", "<unk>", "<eos>"],
            &["a", "a", "<unk>", "<eos>"],
        ] {
            assert!(of(bad).inconsistency().is_some(), "{bad:?}");
        }
    }
}
