//! Parameter updates on the device, by the rules of `optimiser.rs`.

use super::CudaError;
use super::gpu::{Address, Buffer, GpuStream, LaunchConfig, launch};
use crate::optimiser::{Optimiser, Rule};

/// Blocks per multiprocessor, and threads per block.
const BLOCKS: usize = 4;
const THREADS: usize = 256;
/// Parameters per thread and iteration.
const EACH: usize = 4;

/// `UpdateArgs` of `kernels/update.cu`.
#[repr(C)]
#[derive(Clone, Copy)]
struct UpdateArgs {
    params: Address,
    moments: Address,
    gradient: Address,
    report: Address,
    squares: Address,
    rates: Address,
    report_len: i32,
    parts: i32,
    count: i32,
    rule: i32,
    decay1: f32,
    gain1: f32,
    decay2: f32,
    gain2: f32,
    epsilon: f32,
    centred: i32,
}

/// The device memory of updates.
#[derive(Default)]
pub struct UpdateBuffers {
    squares: Buffer<f64>,
}

/// `UpdateRates` of `kernels/update.cu`, as uploaded words; `t` is the number of this update, from
/// 1.
pub fn rates_words(optimiser: &Optimiser, rate: f64, t: u64) -> Vec<u32> {
    let correction = |beta: f64| (1.0 / (1.0 - beta.powf(t as f64))) as f32;
    let (correction1, correction2) = match optimiser.rule {
        Rule::Adam { beta1, beta2, .. } => (correction(beta1), correction(beta2)),
        Rule::RmsProp { .. } | Rule::AdaDelta { .. } => (1.0, 1.0),
    };
    let clip = optimiser.clip.to_bits();
    let mut words = vec![clip as u32, (clip >> 32) as u32];
    let shrink = (1.0 - rate * optimiser.weight_decay) as f32;
    let rates = [optimiser.l2 as f32, rate as f32, correction1, correction2, shrink];
    words.extend(rates.map(f32::to_bits));
    words
}

impl UpdateBuffers {
    /// Writes the squared gradient norm to `report[0]` and updates the parameters, unless a
    /// reported value is not finite.
    pub fn update(
        &mut self,
        stream: &GpuStream,
        optimiser: &Optimiser,
        (params, moments, gradient): (Address, Address, Address),
        count: usize,
        (report, report_len): (Address, usize),
        rates: Address,
    ) -> Result<(), CudaError> {
        let parts = count.div_ceil(EACH * THREADS).clamp(1, BLOCKS * stream.gpu.processors);
        let squares = self.squares.reserve(stream, parts)?;
        let (fours, tail_count) = (count / EACH, count % EACH);
        let tail = gradient + 4 * (fours * EACH) as u64;
        launch!(stream, &stream.gpu.kernels.square_parts, LaunchConfig::linear(parts, THREADS);
            gradient, tail, fours as i32, tail_count as i32, squares)?;
        // Decay rates of the first and the second moment.
        let (rule, decay1, decay2, epsilon, centred) = match optimiser.rule {
            Rule::RmsProp { decay, momentum, epsilon, centred } => {
                (0, decay, momentum, epsilon, centred)
            }
            Rule::Adam { beta1, beta2, epsilon } => (1, beta1, beta2, epsilon, false),
            Rule::AdaDelta { decay, epsilon } => (2, decay, decay, epsilon, false),
        };
        let args = UpdateArgs {
            params,
            moments,
            gradient,
            report,
            squares,
            rates,
            report_len: report_len as i32,
            parts: parts as i32,
            count: count as i32,
            rule,
            decay1: decay1 as f32,
            gain1: (1.0 - decay1) as f32,
            decay2: decay2 as f32,
            gain2: (1.0 - decay2) as f32,
            epsilon: epsilon as f32,
            centred: centred as i32,
        };
        launch!(stream, &stream.gpu.kernels.update, LaunchConfig::linear(parts, THREADS); args)?;
        Ok(())
    }
}
