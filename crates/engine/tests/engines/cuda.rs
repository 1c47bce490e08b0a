//! The suite on the engine `cuda`. It is skipped without a GPU, unless `SRNN_REQUIRE_CUDA=1` is set.

use crate::agreement::{engine_agrees_with_reference, engines_agree_to_the_bit};
use crate::prefetch::prefetching_changes_no_bit;
use srnn_engine::Optimiser;
use srnn_engine::cuda::{CudaTrainer, Cut, Gpu, Tuning};
use srnn_engine::model::Model;
use std::sync::Arc;

/// The GPU, if there is one.
fn gpu() -> Option<Arc<Gpu>> {
    match Gpu::open() {
        Ok(gpu) => Some(gpu),
        Err(error) if std::env::var("SRNN_REQUIRE_CUDA").is_ok_and(|value| value == "1") => {
            panic!("SRNN_REQUIRE_CUDA=1, but {error}")
        }
        Err(error) => {
            println!("skipped: {error}");
            None
        }
    }
}

/// Scans cut into chunks of times wherever they can be.
const CUT: Tuning = Tuning { special: true, cut: Cut::Always };

fn on(gpu: &Arc<Gpu>, tuning: Tuning) -> impl Fn(&Model<f32>, Optimiser) -> CudaTrainer {
    let gpu = gpu.clone();
    move |model, optimiser| {
        CudaTrainer::tuned(&gpu, model, optimiser, tuning).expect("room on the GPU")
    }
}

#[test]
fn the_cuda_engine_agrees_with_the_reference() {
    if let Some(gpu) = gpu() {
        engine_agrees_with_reference(on(&gpu, Tuning::default()));
    }
}

#[test]
fn the_cuda_engine_agrees_with_the_reference_by_its_kernels_for_any_layer() {
    if let Some(gpu) = gpu() {
        engine_agrees_with_reference(on(&gpu, Tuning { special: false, ..Tuning::default() }));
    }
}

#[test]
fn the_cuda_engine_agrees_with_the_reference_where_its_scans_are_cut() {
    if let Some(gpu) = gpu() {
        engine_agrees_with_reference(on(&gpu, CUT));
    }
}

#[test]
fn the_cuda_engine_gives_the_same_bits_twice() {
    if let Some(gpu) = gpu() {
        engines_agree_to_the_bit(on(&gpu, Tuning::default()), on(&gpu, Tuning::default()));
        engines_agree_to_the_bit(on(&gpu, CUT), on(&gpu, CUT));
    }
}

#[test]
fn prefetching_changes_no_bit_of_the_cuda_engine() {
    if let Some(gpu) = gpu() {
        prefetching_changes_no_bit(on(&gpu, Tuning::default()));
        prefetching_changes_no_bit(on(&gpu, CUT));
    }
}
