//! The whole job in one call: train several seeds, keep the best, read its automaton, prove that
//! the two agree.
//!
//! Where no network is right on all labels and an automaton says that a few of them are wrong,
//! networks are trained again with the labels it believes: see [`Labels`].
//!
//! Nothing here prints, reads a clock or writes a file: who wants checkpoints, progress or the
//! time of each stage gives a [`Watch`].

mod doubt;
mod retrain;

pub use doubt::{Correction, Labels, Trust, Unexplained};

use crate::certify::{Search, Verdict, certify};
use crate::engine::cpu::Cpu;
use crate::engine::{DeviceError, Hardware, Mode, Optimiser, Runner, Trainer};
use crate::extract::{
    self, Config, Extraction, Memoryless, Question, Refine, Refined, Refusal, Words,
};
use crate::extract::{ask, extract, refine};
use crate::model::Model;
use crate::noise::suspects;
use crate::task::{Dataset, Split};
use crate::train::{
    Control, Evaluation, Keeper, Nowhere, Observer, Plan, Quality, Reason, Recipe, SeedOutcome,
    Selection, Silent, Stop, TrainError, Workshop, evaluate, select, train_seeds,
};
use retrain::{Retrained, retrain};
use srnn_automata::{Alphabet, InvalidAlphabet, Moore, Symbol, Word};

/// What is to be learned, and how.
#[derive(Clone, Copy, Debug)]
pub struct Lesson<'a> {
    /// The data. Training and validation words are also what transitions are counted over.
    pub split: &'a Split,
    /// Architecture, beginning, training.
    pub recipe: &'a Recipe,
    /// One network each.
    pub seeds: &'a [u64],
    /// What networks are trained on. Automata are read on its processor.
    pub hardware: &'a Hardware,
    /// The automaton behind the data, if that is known. It is compared with, never selected by.
    pub truth: Option<&'a Moore<u32>>,
    /// How automata are read.
    pub extraction: Config,
    /// What the labels are worth.
    pub trust: Trust,
    /// How a proof is looked for.
    pub proof: Search,
}

impl<'a> Lesson<'a> {
    /// One seed, one thread of the processor, nothing known.
    pub fn new(split: &'a Split, recipe: &'a Recipe) -> Lesson<'a> {
        let extraction = extraction_for(split.train.alphabet.len());
        const ALONE: &Hardware = &Hardware::cpu(1);
        let (trust, proof) = (Trust::default(), Search::default());
        let (seeds, hardware, truth) = (&[1], ALONE, None);
        Lesson { split, recipe, seeds, hardware, truth, extraction, trust, proof }
    }
}

/// A part of the job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Every seed is trained.
    Train,
    /// No network is right on all labels: an automaton is looked for that says why.
    Doubt,
    /// Every seed is trained again, with the labels believed.
    Retrain,
    /// The best are tried for an automaton, and one is kept.
    Select,
    /// Automata are read off the one kept.
    Extract,
    /// A proof is looked for that it equals an automaton on every word.
    Certify,
}

/// What networks are trained on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Round {
    /// The training set.
    Given,
    /// The training set, with the labels an automaton believes.
    Believed,
    /// Training and validation set, with the labels it believes.
    Whole,
}

/// Whoever looks after the job. Everything has a default that does nothing.
pub trait Watch: Sync {
    /// Where a seed's checkpoints go. A run goes on from the newest one there.
    fn keeper(&self, _round: Round, _seed: u64) -> Box<dyn Keeper<f32> + '_> {
        Box::new(Nowhere)
    }
    /// Who watches a seed's training.
    fn observer(&self, _round: Round, _seed: u64) -> Box<dyn Observer + '_> {
        Box::new(Silent)
    }
    /// Is told that a stage begins, and says whether to go on.
    fn stage(&self, _stage: Stage) -> Control {
        Control::Continue
    }
}

/// Watches nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unwatched;

impl Watch for Unwatched {}

/// What came of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Learned {
    /// What was made of the labels.
    pub labels: Labels,
    /// Every seed, in order; of the last round.
    pub outcomes: Vec<SeedOutcome<f32>>,
    /// Which of them is kept, and why.
    pub selection: Selection,
    /// The kept network on the validation set, by the labels given.
    pub valid: Evaluation,
    /// The kept network on the test set, where there is one.
    pub test: Option<Evaluation>,
    /// The automata of the kept network, or why there is none.
    pub extraction: Result<Extraction, Refusal>,
    /// What could be proved of it; nothing where no automaton can be had.
    pub verdict: Option<Verdict>,
}

impl Learned {
    /// The seed that is kept.
    pub fn kept(&self) -> &SeedOutcome<f32> {
        &self.outcomes[self.selection.index]
    }

    /// The automaton of the deployed network: the one it is proved equal to, or else the minimal
    /// one of its closed cover.
    pub fn automaton(&self) -> Option<&Moore<u32>> {
        if let Some(proof) = self.verdict.as_ref().and_then(Verdict::proof) {
            return Some(&proof.automaton);
        }
        self.extraction.as_ref().ok()?.cover.kept.as_ref().map(|kept| &kept.minimal)
    }
}

/// Why nothing came of it.
#[derive(Debug, thiserror::Error)]
pub enum LearnError {
    /// Names of symbols that make no alphabet.
    #[error("the tokens make no alphabet: {0}")]
    Alphabet(InvalidAlphabet),
    /// A run that could not be, or could not go on.
    #[error(transparent)]
    Train(#[from] TrainError),
    /// The watch asked to stop; what it keeps can be gone on from.
    #[error("interrupted")]
    Interrupted,
    /// No seed has a result.
    #[error("no seed has a result; seed {seed}: {stop}")]
    NoResult {
        /// The first of them.
        seed: u64,
        /// Why it ended.
        stop: Stop,
    },
}

/// Trains every seed, keeps the best, and reads its automata.
pub fn learn<W: Watch>(lesson: &Lesson<'_>, watch: &W) -> Result<Learned, LearnError> {
    let names = lesson.split.train.alphabet.clone();
    let alphabet = Alphabet::new(names).map_err(LearnError::Alphabet)?;
    let data = words(lesson.split);
    begin(watch, Stage::Train)?;
    let outcomes = train(lesson, watch, Round::Given)?;
    if lesson.trust == Trust::Always || doubt::fits(&outcomes) {
        return finish(lesson, watch, &alphabet, outcomes, Labels::Trusted);
    }
    begin(watch, Stage::Doubt)?;
    let belief = match doubt::doubt(lesson, &alphabet, &data, &outcomes) {
        Err(why) => return finish(lesson, watch, &alphabet, outcomes, Labels::Unexplained(why)),
        Ok(belief) => belief,
    };
    begin(watch, Stage::Retrain)?;
    let Retrained { mut rounds, reached } =
        retrain(lesson, watch, &alphabet, &belief.shortened.automaton)?;
    rounds.insert(0, (Round::Given, outcomes));
    let (round, last) = rounds.pop().expect("networks were trained again");
    let suspects = suspects(&belief.shortened.automaton, lesson.split);
    let correction = Correction { belief, suspects, before: rounds, round, reached };
    finish(lesson, watch, &alphabet, last, Labels::Corrected(Box::new(correction)))
}

/// Keeps the best of the last round, and reads its automata.
fn finish<W: Watch>(
    lesson: &Lesson<'_>,
    watch: &W,
    alphabet: &Alphabet,
    mut outcomes: Vec<SeedOutcome<f32>>,
    labels: Labels,
) -> Result<Learned, LearnError> {
    begin(watch, Stage::Select)?;
    let data = words(lesson.split);
    judge(lesson, alphabet, &data, &mut outcomes);
    let selection = match &labels {
        Labels::Corrected(correction) if correction.reached => {
            Some(Selection { index: outcomes.len() - 1, reason: Reason::Believed })
        }
        _ => select(&outcomes),
    };
    let selection = selection.ok_or_else(|| no_result(&outcomes))?;
    begin(watch, Stage::Extract)?;
    let mut engine = engine(lesson, &outcomes[selection.index].model);
    let Ok(valid) = evaluate(&mut engine, &lesson.split.valid, Mode::default());
    let test = lesson.split.test.as_ref().filter(|test| !test.sequences.is_empty());
    let test = test.map(|test| {
        let Ok(test) = evaluate(&mut engine, test, Mode::default());
        test
    });
    let question = Question { alphabet, data: &data, truth: lesson.truth };
    let extraction = extract(&mut engine, &question, &lesson.extraction);
    begin(watch, Stage::Certify)?;
    let verdict = proved(&outcomes[selection.index].model, alphabet, &lesson.proof);
    Ok(Learned { labels, outcomes, selection, valid, test, extraction, verdict })
}

/// What can be proved of a network; nothing where no automaton can be had.
fn proved(model: &Model<f32>, alphabet: &Alphabet, search: &Search) -> Option<Verdict> {
    let model = model.to_f64();
    let machine = Memoryless::new(&model, alphabet).ok()?;
    Some(certify(&machine, search))
}

/// How automata are read where nothing else is said: for large alphabets the cap on states is
/// lower, because every state is followed under every symbol.
pub fn extraction_for(symbols: usize) -> Config {
    const MOST_STEPS: usize = 200_000;
    let cap = (MOST_STEPS / symbols.max(1)).clamp(64, 4096);
    let usual = Config::default();
    Config { hard_cap: cap, refine: Refine { cap, ..usual.refine }, ..usual }
}

fn begin<W: Watch>(watch: &W, stage: Stage) -> Result<(), LearnError> {
    match watch.stage(stage) {
        Control::Continue => Ok(()),
        Control::Interrupt | Control::TimeUp => Err(LearnError::Interrupted),
    }
}

/// How many seeds are trained at the same time, of so many, by so many threads.
pub fn workers(seeds: usize, threads: usize) -> usize {
    threads.clamp(1, seeds.max(1))
}

fn train<W: Watch>(
    lesson: &Lesson,
    watch: &W,
    round: Round,
) -> Result<Vec<SeedOutcome<f32>>, LearnError> {
    let Lesson { split, recipe, seeds, hardware, .. } = *lesson;
    let workers = workers(seeds.len(), hardware.threads);
    let bench = Bench { watch, round, hardware: hardware.shared_by(workers) };
    let outcomes = train_seeds(&Plan { recipe, split, seeds, workers }, &bench);
    let outcomes = outcomes.into_iter().collect::<Result<Vec<_>, _>>()?;
    match outcomes.iter().any(|outcome| outcome.run.stop == Stop::Interrupted) {
        true => Err(LearnError::Interrupted),
        false => Ok(outcomes),
    }
}

struct Bench<'a, W> {
    watch: &'a W,
    round: Round,
    /// Of each engine.
    hardware: Hardware,
}

impl<W: Watch> Workshop<f32> for Bench<'_, W> {
    fn trainer(
        &self,
        model: &Model<f32>,
        optimiser: Optimiser,
    ) -> Result<Box<dyn Trainer<f32> + Send>, DeviceError> {
        self.hardware.trainer(model, optimiser)
    }
    fn keeper(&self, seed: u64) -> Box<dyn Keeper<f32> + '_> {
        self.watch.keeper(self.round, seed)
    }
    fn observer(&self, seed: u64) -> Box<dyn Observer + '_> {
        self.watch.observer(self.round, seed)
    }
}

/// Tries the networks that can still be kept: validation accuracy comes first in the selection,
/// so only those at the top of it need an automaton to be told apart.
fn judge(lesson: &Lesson, alphabet: &Alphabet, data: &[Word], outcomes: &mut [SeedOutcome<f32>]) {
    let accuracy = |outcome: &SeedOutcome<f32>| outcome.run.end.as_ref().map(|e| e.valid.accuracy);
    let best = outcomes.iter().filter_map(accuracy).max_by(f64::total_cmp);
    for outcome in outcomes.iter_mut().filter(|outcome| accuracy(outcome) == best) {
        let mut engine = engine(lesson, &outcome.model);
        let search = Search { steps: lesson.proof.steps.min(TRIAL_STEPS), ..lesson.proof };
        let proof = proved(&outcome.model, alphabet, &search);
        let certified = proof.as_ref().and_then(Verdict::proof).map(|proof| proof.arithmetic);
        let quality = quality(&mut engine, alphabet, data, &lesson.extraction);
        outcome.quality = quality.map(|quality| Quality { certified, ..quality });
    }
}

/// Steps of a search for a proof, enough for the networks that have a short one.
const TRIAL_STEPS: usize = 2_000;

/// Words enough to tell seeds apart; the one kept is tested on many more.
const TRIAL_WORDS: usize = 4_096;

/// How well an automaton can be had from a network; nothing where none can.
fn quality(
    engine: &mut Cpu,
    alphabet: &Alphabet,
    data: &[Word],
    config: &Config,
) -> Option<Quality> {
    let Some(kept) = trial(engine, alphabet, data, config)?.kept else {
        return Some(Quality { certified: None, closed: false, agreement: 0.0, states: 0 });
    };
    let extract::Agreement { compared, equal, unknown, unanswered, .. } = kept.agreement;
    let asked = compared + unknown + unanswered;
    let agreement = equal as f64 / asked.max(1) as f64;
    let states = kept.minimal.state_count();
    Some(Quality { certified: None, closed: true, agreement, states })
}

/// The covers of a network, tested on the data and a few short words; nothing where it has none.
fn trial(engine: &mut Cpu, alphabet: &Alphabet, data: &[Word], config: &Config) -> Option<Refined> {
    let Ok(model) = engine.model();
    let model = model.to_f64();
    let machine = Memoryless::new(&model, alphabet).ok()?;
    let most = config.words.min(TRIAL_WORDS);
    let short = Words::at_most(alphabet.len() as u32, most, config.longest);
    let tests =
        [short, Words::List(data.to_vec())].map(|words| ask(engine, words, Mode::default()));
    Some(refine(&machine, &tests, &config.refine))
}

fn engine(lesson: &Lesson, model: &Model<f32>) -> Cpu {
    Cpu::new(model, lesson.hardware.threads)
}

/// Training and validation words.
fn words(split: &Split) -> Vec<Word> {
    let of = |set: &Dataset| -> Vec<Word> {
        set.sequences.iter().map(|s| s.tokens.iter().map(|&t| Symbol(t)).collect()).collect()
    };
    [of(&split.train), of(&split.valid)].concat()
}

fn no_result(outcomes: &[SeedOutcome<f32>]) -> LearnError {
    match outcomes.first() {
        Some(first) => LearnError::NoResult { seed: first.seed, stop: first.run.stop.clone() },
        None => panic!("a lesson without seeds"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::Arithmetic;
    use crate::key::Key;
    use crate::task::tomita::{self, Grammar};
    use crate::task::{Rate, label_noise, split};
    use crate::train::{ArchName, Sizes, recipe_default};

    fn recipe(arch: ArchName, updates: u64) -> Recipe {
        let mut recipe = recipe_default(&Sizes { arch, units: 12, k: 5, ..Sizes::of(2, 2) });
        recipe.train.schedule = recipe.train.schedule.scaled_to(updates);
        recipe
    }

    fn lesson<'a>(split: &'a Split, recipe: &'a Recipe) -> Lesson<'a> {
        let mut lesson = Lesson::new(split, recipe);
        lesson.extraction.words = 1_000;
        lesson
    }

    #[test]
    fn the_same_is_learned_by_any_number_of_threads() {
        let split = tomita::sets(Grammar::T1, &Key::new(1));
        let recipe = recipe(ArchName::SrGru, 60);
        let truth = Moore::from(&tomita::truth(Grammar::T1));
        let lesson = Lesson { seeds: &[1, 2], truth: Some(&truth), ..lesson(&split, &recipe) };
        let alone = learn(&lesson, &Unwatched).unwrap();
        for threads in [2, 3, 4] {
            let hardware = &Hardware::cpu(threads);
            assert_eq!(learn(&Lesson { hardware, ..lesson }, &Unwatched).unwrap(), alone);
        }
    }

    #[test]
    fn a_network_with_a_cell_state_is_learned_and_its_automaton_refused_in_words() {
        let split = tomita::sets(Grammar::T1, &Key::new(1));
        let recipe = recipe(ArchName::Lstm, 20);
        let learned = learn(&lesson(&split, &recipe), &Unwatched).unwrap();
        assert_eq!((learned.automaton(), &learned.verdict), (None, &None));
        assert!(learned.extraction.unwrap_err().to_string().contains("SR-GRU"));
    }

    /// Short words of a grammar, a twentieth of the labels wrong, and how many that are.
    fn noisy_split() -> (Split, Moore<u32>, usize) {
        let mut set = tomita::sets(Grammar::T4, &Key::new(1)).train;
        set.sequences.retain(|sequence| sequence.tokens.len() <= 9);
        let flipped = label_noise(&mut set, Rate::new(0.05).unwrap(), &Key::new(1));
        let split = split(&set, "0.8/0.2".parse().unwrap(), &Key::new(1));
        (split, Moore::from(&tomita::truth(Grammar::T4)), flipped.len())
    }

    #[test]
    fn a_few_wrong_labels_are_found_and_the_network_is_trained_again_without_them() {
        let (split, truth, flipped) = noisy_split();
        let recipe = recipe(ArchName::SrGru, 1_000);
        let lesson = Lesson { seeds: &[1, 2], ..lesson(&split, &recipe) };
        let learned = learn(&lesson, &Unwatched).unwrap();
        let Labels::Corrected(correction) = &learned.labels else {
            panic!("labels not corrected: {:?}", learned.labels)
        };
        assert_eq!(correction.belief.shortened.automaton, truth);
        assert_eq!(correction.suspects.len(), flipped);
        let (round, before) = &correction.before[0];
        assert_eq!((*round, before.len()), (Round::Given, 2));
        assert!(correction.reached, "the network has the automaton believed");
        assert_eq!(learned.automaton(), Some(&truth));
        assert_eq!(learned.selection.reason, Reason::Believed);
        assert!(learned.verdict.as_ref().unwrap().holds(Arithmetic::F32), "and that is proved");
        assert!(learned.valid.accuracy < 1.0, "by the labels given");
        assert_eq!(learned.kept().run.end.as_ref().unwrap().valid.accuracy, 1.0);
        let trusting = Lesson { trust: Trust::Always, ..lesson };
        let learned = learn(&trusting, &Unwatched).unwrap();
        assert_eq!(learned.labels, Labels::Trusted);
        let models = |outcomes: &[SeedOutcome<f32>]| -> Vec<Model<f32>> {
            outcomes.iter().map(|outcome| outcome.model.clone()).collect()
        };
        assert_eq!(models(&learned.outcomes), models(before), "the first round");
    }

    #[test]
    fn labels_that_a_network_gets_right_are_not_doubted() {
        let (split, truth, _) = noisy_split();
        let clean = crate::noise::corrected(&truth, &split);
        let recipe = recipe(ArchName::SrGru, 1_000);
        let learned = learn(&lesson(&clean, &recipe), &Unwatched).unwrap();
        assert_eq!(learned.valid.accuracy, 1.0);
        assert_eq!(learned.labels, Labels::Trusted);
        assert_eq!(learned.automaton(), Some(&truth));
    }

    #[test]
    fn a_watch_that_wants_to_stop_is_obeyed_before_every_stage() {
        struct Impatient(Stage);
        impl Watch for Impatient {
            fn stage(&self, stage: Stage) -> Control {
                if stage == self.0 { Control::Interrupt } else { Control::Continue }
            }
        }
        let split = tomita::sets(Grammar::T1, &Key::new(1));
        let recipe = recipe(ArchName::SrGru, 2);
        for stage in [Stage::Train, Stage::Select, Stage::Extract, Stage::Certify] {
            let result = learn(&lesson(&split, &recipe), &Impatient(stage));
            assert!(matches!(result, Err(LearnError::Interrupted)));
        }
    }
}
