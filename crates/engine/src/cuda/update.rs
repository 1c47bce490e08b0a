//! Updates on the device: the rules of `train/optimiser.rs`.

use super::CudaError;
use super::device::{Address, Device, Grid, Room, launch};
use crate::optimiser::{Optimiser, Rule};

/// Blocks a multiprocessor, and their threads.
const BLOCKS: usize = 4;
const THREADS: usize = 256;
/// Numbers a thread takes at a time.
const EACH: usize = 4;

/// `Update` of `kernels/update.cu`.
#[repr(C)]
#[derive(Clone, Copy)]
struct Arguments {
    params: Address,
    moments: Address,
    gradient: Address,
    report: Address,
    squares: Address,
    rates: Address,
    reported: i32,
    parts: i32,
    count: i32,
    rule: i32,
    keep1: f32,
    take1: f32,
    keep2: f32,
    take2: f32,
    epsilon: f32,
    centred: i32,
}

/// The memory of updates.
#[derive(Default)]
pub struct Updates {
    squares: Room<f64>,
}

/// What changes with every update: `Rates` of `kernels/update.cu`; `t` is this update's number,
/// from 1.
pub fn press(optimiser: &Optimiser, rate: f64, t: u64) -> Vec<u32> {
    let fix = |beta: f64| (1.0 / (1.0 - beta.powf(t as f64))) as f32;
    let (fix1, fix2) = match optimiser.rule {
        Rule::Adam { beta1, beta2, .. } => (fix(beta1), fix(beta2)),
        Rule::RmsProp { .. } | Rule::AdaDelta { .. } => (1.0, 1.0),
    };
    let clip = optimiser.clip.to_bits();
    let mut words = vec![clip as u32, (clip >> 32) as u32];
    words.extend([optimiser.l2 as f32, rate as f32, fix1, fix2].map(f32::to_bits));
    words
}

impl Updates {
    /// The square of the gradient's norm, into `report[0]`, and one update, unless something
    /// reported is not a number.
    pub fn update(
        &mut self,
        device: &Device,
        optimiser: &Optimiser,
        (params, moments, gradient): (Address, Address, Address),
        count: usize,
        (report, reported): (Address, usize),
        rates: Address,
    ) -> Result<(), CudaError> {
        let parts = count.div_ceil(EACH * THREADS).clamp(1, BLOCKS * device.gpu.processors);
        let squares = self.squares.fit(device, parts)?;
        let (fours, left) = (count / EACH, count % EACH);
        let rest = gradient + 4 * (fours * EACH) as u64;
        launch!(device, &device.gpu.kernels.square_parts, Grid::of(parts, THREADS);
            gradient, rest, fours as i32, left as i32, squares)?;
        // keep and take of the first and the second memory.
        let (rule, keep1, keep2, epsilon, centred) = match optimiser.rule {
            Rule::RmsProp { decay, momentum, epsilon, centred } => {
                (0, decay, momentum, epsilon, centred)
            }
            Rule::Adam { beta1, beta2, epsilon } => (1, beta1, beta2, epsilon, false),
            Rule::AdaDelta { decay, epsilon } => (2, decay, decay, epsilon, false),
        };
        let arguments = Arguments {
            params,
            moments,
            gradient,
            report,
            squares,
            rates,
            reported: reported as i32,
            parts: parts as i32,
            count: count as i32,
            rule,
            keep1: keep1 as f32,
            take1: (1.0 - keep1) as f32,
            keep2: keep2 as f32,
            take2: (1.0 - keep2) as f32,
            epsilon: epsilon as f32,
            centred: centred as i32,
        };
        launch!(device, &device.gpu.kernels.update, Grid::of(parts, THREADS); arguments)?;
        Ok(())
    }
}
