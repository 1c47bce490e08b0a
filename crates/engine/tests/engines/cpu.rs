//! The fast engine joins the suite.

use crate::agreement::{engine_agrees_with_reference, engines_agree_to_the_bit};
use crate::ahead::steps_agree_whatever_is_known_ahead;
use crate::history::engines_forget_what_they_have_seen;
use srnn_engine::Optimiser;
use srnn_engine::cpu::{CpuTrainer, CpuTuning, SimdLevel};
use srnn_engine::model::Model;

fn with(threads: usize) -> impl Fn(&Model<f32>, Optimiser) -> CpuTrainer {
    move |model, optimiser| CpuTrainer::new(model, optimiser, threads)
}

#[test]
fn the_cpu_engine_agrees_with_the_reference_on_every_instruction_set() {
    for level in SimdLevel::available() {
        println!("{level:?}");
        engine_agrees_with_reference(|model, optimiser| {
            CpuTrainer::tuned(model, optimiser, 1, CpuTuning { level, ..CpuTuning::default() })
        });
    }
}

#[test]
fn the_cpu_engine_gives_the_same_bits_for_one_to_four_threads() {
    for threads in [2, 3, 4] {
        engines_agree_to_the_bit(with(1), with(threads));
    }
}

#[test]
fn the_cpu_engine_agrees_with_the_reference_where_rows_are_cut_into_short_segments() {
    let four_steps = 4 * 7 * 4 * 16 * size_of::<f32>();
    for kept_bytes in [0, four_steps] {
        let tuning = CpuTuning { kept_bytes, segment_bytes: 0, ..CpuTuning::default() };
        engine_agrees_with_reference(|model, optimiser| {
            CpuTrainer::tuned(model, optimiser, 1, tuning)
        });
    }
}

#[test]
fn the_cpu_engine_gives_the_same_bits_whatever_is_known_ahead() {
    steps_agree_whatever_is_known_ahead(with(2));
}

#[test]
fn the_cpu_engine_forgets_what_it_has_seen() {
    [1, 2].into_iter().for_each(|threads| engines_forget_what_they_have_seen(with(threads)));
}

#[test]
fn the_cpu_engine_gives_the_same_bits_whether_rows_wait_for_their_updates_or_not() {
    let from = |defer_from| {
        let tuning = CpuTuning { defer_from, ..CpuTuning::default() };
        move |model: &Model<f32>, optimiser| CpuTrainer::tuned(model, optimiser, 1, tuning)
    };
    engines_agree_to_the_bit(from(usize::MAX), from(0));
}
