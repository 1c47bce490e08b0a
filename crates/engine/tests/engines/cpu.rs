//! The suite on the engine `cpu`.

use crate::agreement::{engine_agrees_with_reference, engines_agree_to_the_bit};
use crate::prefetch::prefetching_changes_no_bit;
use crate::stateless::engines_keep_no_state_but_parameters;
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
fn the_cpu_engine_agrees_with_the_reference_where_gates_are_recomputed_in_short_segments() {
    let four_steps = 4 * 7 * 4 * 16 * size_of::<f32>();
    for kept_bytes in [0, four_steps] {
        let tuning = CpuTuning { kept_bytes, segment_bytes: 0, ..CpuTuning::default() };
        engine_agrees_with_reference(|model, optimiser| {
            CpuTrainer::tuned(model, optimiser, 1, tuning)
        });
    }
}

#[test]
fn prefetching_changes_no_bit_of_the_cpu_engine() {
    prefetching_changes_no_bit(with(2));
}

#[test]
fn the_cpu_engine_keeps_no_state_but_parameters() {
    [1, 2].into_iter().for_each(|threads| engines_keep_no_state_but_parameters(with(threads)));
}

#[test]
fn the_cpu_engine_gives_the_same_bits_with_and_without_deferred_rows() {
    let from = |defer_from| {
        let tuning = CpuTuning { defer_from, ..CpuTuning::default() };
        move |model: &Model<f32>, optimiser| CpuTrainer::tuned(model, optimiser, 1, tuning)
    };
    engines_agree_to_the_bit(from(usize::MAX), from(0));
}

#[test]
fn the_cpu_engine_gives_the_same_bits_with_gradients_of_classifiers_in_chunks_and_in_blocks() {
    let from = |threads, block_head_from| {
        let tuning = CpuTuning { block_head_from, ..CpuTuning::default() };
        move |model: &Model<f32>, optimiser| CpuTrainer::tuned(model, optimiser, threads, tuning)
    };
    engines_agree_to_the_bit(from(1, usize::MAX), from(2, 0));
}
