//! Networks for an automaton that is believed.

use super::{LearnError, Lesson, Round, Watch, engine, train, trial, words};
use crate::noise::corrected;
use crate::task::Split;
use crate::train::SeedOutcome;
use srnn_automata::{Alphabet, Moore};

/// Networks trained on the labels believed.
pub(super) struct Retrained {
    /// In the order of training; never empty.
    pub rounds: Vec<(Round, Vec<SeedOutcome<f32>>)>,
    /// Whether the automaton of the last is the one believed.
    pub reached: bool,
}

/// Trains one seed after the other until the automaton of a network is the one believed. What a
/// network lacks may be the very words that are held out, short ones above all: where no seed gets
/// there, all try again on the whole of the data.
pub(super) fn retrain<W: Watch>(
    lesson: &Lesson<'_>,
    watch: &W,
    alphabet: &Alphabet,
    believed: &Moore<u32>,
) -> Result<Retrained, LearnError> {
    let held_out = corrected(believed, lesson.split);
    let mut whole = held_out.clone();
    whole.train.sequences.extend(held_out.valid.sequences.iter().cloned());
    let mut rounds = vec![];
    for (round, split) in [(Round::Believed, &held_out), (Round::Whole, &whole)] {
        let (outcomes, reached) = one_round(lesson, watch, alphabet, believed, round, split)?;
        rounds.push((round, outcomes));
        if reached {
            return Ok(Retrained { rounds, reached });
        }
    }
    Ok(Retrained { rounds, reached: false })
}

fn one_round<W: Watch>(
    lesson: &Lesson<'_>,
    watch: &W,
    alphabet: &Alphabet,
    believed: &Moore<u32>,
    round: Round,
    split: &Split,
) -> Result<(Vec<SeedOutcome<f32>>, bool), LearnError> {
    let data = words(lesson.split);
    let mut outcomes = vec![];
    for seed in lesson.seeds {
        let alone = Lesson { split, seeds: std::slice::from_ref(seed), ..*lesson };
        outcomes.extend(train(&alone, watch, round)?);
        let last = outcomes.last().expect("one seed was trained");
        let found = last.run.end.as_ref().and_then(|_| {
            let mut engine = engine(lesson, &last.model);
            trial(&mut engine, alphabet, &data, &lesson.extraction)?.kept
        });
        if found.is_some_and(|kept| kept.minimal == *believed) {
            return Ok((outcomes, true));
        }
    }
    Ok((outcomes, false))
}
