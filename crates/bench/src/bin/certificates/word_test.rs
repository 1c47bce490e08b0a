//! Compares a certified network with its automaton on random words and on all short words.

use srnn::engine::Mode;
use srnn::engine::cpu::Cpu;
use srnn::engine::key::{Key, Rng};
use srnn::engine::model::ModelFile;
use srnn::engine::reference::Reference;
use srnn::extract::{
    ClassifiedWords, TransitionSystem, WordSet, agreement, classify_short_words, classify_words,
};
use srnn_automata::{Moore, Partial, State, Symbol, Word};

/// Numbers and lengths of the test words.
pub struct WordTestSizes {
    /// Number of random words for the engine `cpu`.
    pub cpu: usize,
    /// Number of these words for the engine `reference`.
    pub reference: usize,
    /// Largest length of a random word.
    pub longest: usize,
    /// Largest number of short words. The engine `cpu` gets all words up to the largest length, at
    /// most 14, for which this number suffices.
    pub short: usize,
    /// The engine `reference` gets all words up to this length.
    pub reference_length: usize,
}

/// The results of both engines.
pub struct WordTestResult {
    pub cpu: EngineTestResult,
    pub reference: EngineTestResult,
}

/// The result of one engine.
pub struct EngineTestResult {
    pub words: usize,
    /// Number of words whose class is missing or differs from the automaton's.
    pub contradictions: usize,
    /// One of these words.
    pub example: Option<Word>,
}

/// Counts the test words on which the network contradicts the automaton.
pub fn test_words(
    file: &ModelFile,
    automaton: &Moore<u32>,
    sizes: &WordTestSizes,
    key: &Key,
) -> WordTestResult {
    let alphabet = automaton.alphabet();
    let random = random_words(automaton, sizes, key);
    let mut cpu = Cpu::new(&file.model, 1);
    let model = file.model.to_f64();
    let mut reference = Reference::new(&model);
    let machine =
        TransitionSystem::new(&model, alphabet).expect("a certified network is memory-less");
    let short = WordSet::at_most(alphabet.len() as u32, sizes.short, 14);
    let WordSet::UpTo { longest, .. } = short else { unreachable!("all words up to a length") };
    let first = WordSet::List(random[..sizes.reference].to_vec());
    let mode = Mode::default();
    let by_cpu = [
        classify_words(&mut cpu, WordSet::List(random), mode),
        classify_words(&mut cpu, short, mode),
    ];
    let by_reference = [
        classify_words(&mut reference, first, mode),
        classify_short_words(&machine, longest.min(sizes.reference_length)),
    ];
    let result = |answers: [ClassifiedWords; 2]| engine_result(&answers, automaton);
    WordTestResult { cpu: result(by_cpu), reference: result(by_reference) }
}

fn engine_result(answers: &[ClassifiedWords; 2], automaton: &Moore<u32>) -> EngineTestResult {
    let automaton = Partial::from(automaton);
    let [random, short] = answers.each_ref().map(|answers| agreement(answers, &automaton));
    let (words, both) = (answers.iter().map(|a| a.classes.len()).sum(), random.and(&short));
    EngineTestResult { words, contradictions: words - both.equal, example: both.difference }
}

/// Every other word is uniform. The rest avoid absorbing states until their last tenth, because
/// uniform words enter one after a few symbols.
fn random_words(automaton: &Moore<u32>, sizes: &WordTestSizes, key: &Key) -> Vec<Word> {
    let live = live_states(automaton);
    let word = |i: usize| {
        let mut rng = key.child("word", i as u64).rng();
        let length = rng.below(sizes.longest + 1);
        let avoid_until = if i.is_multiple_of(2) { 0 } else { length - length / 10 };
        let mut state = automaton.start();
        let draw = |at: usize| {
            let symbol = draw_symbol(automaton, &live, state, at < avoid_until, &mut rng);
            state = automaton.next(state, symbol);
            symbol
        };
        (0..length).map(draw).collect()
    };
    (0..sizes.cpu).map(word).collect()
}

fn draw_symbol(
    automaton: &Moore<u32>,
    live: &[bool],
    state: State,
    stay_live: bool,
    rng: &mut Rng,
) -> Symbol {
    let next = automaton.successors(state);
    let choices: Vec<usize> = (0..next.len()).filter(|&x| live[next[x].index()]).collect();
    match stay_live && !choices.is_empty() {
        true => Symbol(choices[rng.below(choices.len())] as u32),
        false => Symbol(rng.below(next.len()) as u32),
    }
}

/// For each state, whether it is not absorbing.
fn live_states(automaton: &Moore<u32>) -> Vec<bool> {
    let left = |state| automaton.successors(state).iter().any(|&next| next != state);
    automaton.states().map(left).collect()
}
