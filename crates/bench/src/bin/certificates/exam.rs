//! Puts strings to a certified network and holds its answers against the automaton.

use srnn::engine::Mode;
use srnn::engine::cpu::Cpu;
use srnn::engine::reference::Reference;
use srnn::extract::{
    ClassifiedWords, TransitionSystem, WordSet, agreement, classify_short_words, classify_words,
};
use srnn::key::{Key, Rng};
use srnn::model::ModelFile;
use srnn_automata::{Moore, Partial, State, Symbol, Word};

/// How much is asked.
pub struct Exam {
    /// Random words put to the engine `cpu`.
    pub cpu: usize,
    /// The first of them, put to the engine `reference`.
    pub reference: usize,
    /// Their largest length.
    pub longest: usize,
    /// All words up to a length go to the engine `cpu`: the largest length of at most 14 at which
    /// they are not more than this.
    pub short: usize,
    /// Those up to this length go to the engine `reference`, too.
    pub shortest: usize,
}

/// What came of it.
pub struct Outcome {
    pub cpu: Answered,
    pub reference: Answered,
}

/// An engine's answers.
pub struct Answered {
    pub words: usize,
    /// Words whose class is not the automaton's, or that get no class at all.
    pub contradictions: usize,
    /// One of them.
    pub example: Option<Word>,
}

/// Puts words to a network and holds its answers against an automaton.
pub fn examine(file: &ModelFile, automaton: &Moore<u32>, exam: &Exam, key: &Key) -> Outcome {
    let alphabet = automaton.alphabet();
    let random = random_words(automaton, exam, key);
    let mut cpu = Cpu::new(&file.model, 1);
    let model = file.model.to_f64();
    let mut reference = Reference::new(&model);
    let machine =
        TransitionSystem::new(&model, alphabet).expect("a certified network is memory-less");
    let short = WordSet::at_most(alphabet.len() as u32, exam.short, 14);
    let WordSet::UpTo { longest, .. } = short else { unreachable!("all words up to a length") };
    let first = WordSet::List(random[..exam.reference].to_vec());
    let mode = Mode::default();
    let by_cpu = [
        classify_words(&mut cpu, WordSet::List(random), mode),
        classify_words(&mut cpu, short, mode),
    ];
    let by_reference = [
        classify_words(&mut reference, first, mode),
        classify_short_words(&machine, longest.min(exam.shortest)),
    ];
    let judge = |answers: [ClassifiedWords; 2]| answered(&answers, automaton);
    Outcome { cpu: judge(by_cpu), reference: judge(by_reference) }
}

fn answered(answers: &[ClassifiedWords; 2], automaton: &Moore<u32>) -> Answered {
    let automaton = Partial::from(automaton);
    let [random, short] = answers.each_ref().map(|answers| agreement(answers, &automaton));
    let (words, both) = (answers.iter().map(|a| a.classes.len()).sum(), random.and(&short));
    Answered { words, contradictions: words - both.equal, example: both.difference }
}

/// Every other word is uniform; the others do not enter a state that decides for good before
/// their last tenth, because uniform words are there after a few symbols.
fn random_words(automaton: &Moore<u32>, exam: &Exam, key: &Key) -> Vec<Word> {
    let live = live(automaton);
    let word = |i: usize| {
        let mut stream = key.child("word", i as u64).rng();
        let length = stream.below(exam.longest + 1);
        let free = if i.is_multiple_of(2) { 0 } else { length - length / 10 };
        let mut state = automaton.start();
        let draw = |at: usize| {
            let symbol = symbol(automaton, &live, state, at < free, &mut stream);
            state = automaton.next(state, symbol);
            symbol
        };
        (0..length).map(draw).collect()
    };
    (0..exam.cpu).map(word).collect()
}

fn symbol(
    automaton: &Moore<u32>,
    live: &[bool],
    state: State,
    stay: bool,
    stream: &mut Rng,
) -> Symbol {
    let next = automaton.successors(state);
    let lively: Vec<usize> = (0..next.len()).filter(|&x| live[next[x].index()]).collect();
    match stay && !lively.is_empty() {
        true => Symbol(lively[stream.below(lively.len())] as u32),
        false => Symbol(stream.below(next.len()) as u32),
    }
}

/// Whether words that lead to each state may still end in several classes: in a minimal automaton
/// all states but those that are never left.
fn live(automaton: &Moore<u32>) -> Vec<bool> {
    let left = |state| automaton.successors(state).iter().any(|&next| next != state);
    automaton.states().map(left).collect()
}
