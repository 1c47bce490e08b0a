//! The suite on the engine `cuda`. It is skipped without a GPU, unless `SRNN_REQUIRE_CUDA=1` is set.

use crate::agreement::{engine_agrees_with_reference, engines_agree_to_the_bit};
use crate::prefetch::prefetching_changes_no_bit;
use srnn_engine::Optimiser;
use srnn_engine::cuda::{ChunkPolicy, CudaTrainer, CudaTuning, Gpu};
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

/// Scans split into chunks of time steps wherever possible.
const CHUNKED: CudaTuning = CudaTuning { specialised: true, chunking: ChunkPolicy::Always };

fn on(gpu: &Arc<Gpu>, tuning: CudaTuning) -> impl Fn(&Model<f32>, Optimiser) -> CudaTrainer {
    let gpu = gpu.clone();
    move |model, optimiser| {
        CudaTrainer::tuned(&gpu, model, optimiser, tuning).expect("room on the GPU")
    }
}

#[test]
fn the_cuda_engine_agrees_with_the_reference() {
    if let Some(gpu) = gpu() {
        engine_agrees_with_reference(on(&gpu, CudaTuning::default()));
    }
}

#[test]
fn the_cuda_engine_agrees_with_the_reference_with_its_generic_kernels() {
    if let Some(gpu) = gpu() {
        engine_agrees_with_reference(on(
            &gpu,
            CudaTuning { specialised: false, ..CudaTuning::default() },
        ));
    }
}

#[test]
fn the_cuda_engine_agrees_with_the_reference_with_chunked_scans() {
    if let Some(gpu) = gpu() {
        engine_agrees_with_reference(on(&gpu, CHUNKED));
    }
}

#[test]
fn the_cuda_engine_gives_the_same_bits_twice() {
    if let Some(gpu) = gpu() {
        engines_agree_to_the_bit(on(&gpu, CudaTuning::default()), on(&gpu, CudaTuning::default()));
        engines_agree_to_the_bit(on(&gpu, CHUNKED), on(&gpu, CHUNKED));
    }
}

#[test]
fn prefetching_changes_no_bit_of_the_cuda_engine() {
    if let Some(gpu) = gpu() {
        prefetching_changes_no_bit(on(&gpu, CudaTuning::default()));
        prefetching_changes_no_bit(on(&gpu, CHUNKED));
    }
}
