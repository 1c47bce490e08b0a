//! The fast engine.

use crate::agreement::{engine_agrees_with_reference, engines_agree_to_the_bit};
use srnn::engine::cpu::{Cpu, Level};

#[test]
fn cpu_agrees_with_the_reference_on_every_instruction_set() {
    for level in Level::available() {
        engine_agrees_with_reference(|model, optimiser| Cpu::at_level(model, optimiser, 1, level));
    }
}

#[test]
fn cpu_gives_the_same_bits_with_one_to_four_threads() {
    for threads in 2..=4 {
        engines_agree_to_the_bit(
            |model, optimiser| Cpu::new(model, optimiser, 1),
            |model, optimiser| Cpu::new(model, optimiser, threads),
        );
    }
}
