//! The kernels for many centroids, and for plain cells of many units (`kernels/cluster.cuh`), compiled
//! for each layer.

use super::CudaError;
use super::call::flag;
use super::compile::{CELL, CLUSTER, SCAN_ARGUMENTS, WARP};
use super::device::{Address, Device, Grid, launch};
use super::few::{Input, REGISTERS};
use super::layer::{Call, FIXED, OnDevice, Reads, Shape};
use super::scan::{SUMS, Scan};
use super::upload::Placed;
use crate::Transition;
use crate::form::{Recurrence, recurrence};
use crate::model::{Layer, Score};
use cudarc::driver::CudaFunction;

/// Registers of a thread, at most.
const MOST_REGISTERS: usize = 248;
/// Registers of a thread that hold neither weights nor sums: of plain cells, and with centroids
/// forward and backward. With fewer a weight that should be held would be in local memory.
const PLAIN_OTHERS: usize = 56;
const FORWARD_OTHERS: usize = 68;
const BACKWARD_OTHERS: usize = 80;
/// Sums that a lane makes at a time for all blocks: with eight, a step of 100 centroids takes
/// longer (4.07 ms instead of 3.60 on an H200).
const TOGETHER: usize = 4;
/// Lanes of a warp, and schedulers that share the warps of a block and the registers between them.
const LANES: usize = 32;
const SCHEDULERS: usize = 4;

/// Blocks of a cluster and the rows it carries, the best first. All processors are in pairs; larger
/// clusters leave some out: of an H200's 132, seventeen clusters of six can run at a time, thirty of
/// four, fifteen of eight.
const SIZES: [(usize, usize); 4] = [(2, 2), (6, 8), (4, 4), (8, 8)];

/// How a layer is laid onto a cluster; as in `kernels/cluster.cuh`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Plan {
    blocks: usize,
    rows: usize,
    threads: usize,
    /// Lanes that share the sums of a unit, and those that go to all blocks, forward and backward.
    gather: usize,
    scorers: usize,
    backers: usize,
    /// Weights that a lane holds, a few at a time; the others are in shared memory.
    gathered_held: usize,
    backed_held: usize,
    /// Floats of shared memory, forward and backward.
    forward_room: usize,
    backward_room: usize,
}

/// Bytes of shared memory for so many floats: a little more, for what aligns the parts.
fn bytes(floats: usize) -> usize {
    4 * floats + 512
}

/// The largest power of two, up to a warp, of which `count` fit into `threads`; 0 where none does.
fn sharing(count: usize, threads: usize) -> usize {
    (0..6).map(|bit| 1 << bit).take_while(|share| count * share <= threads).last().unwrap_or(0)
}

/// Registers that each of so many threads may have.
fn registers(threads: usize) -> usize {
    let warps = threads.div_ceil(LANES).div_ceil(SCHEDULERS);
    (REGISTERS / SCHEDULERS / warps / LANES / 8 * 8).min(MOST_REGISTERS)
}

impl Plan {
    /// The best cluster that can hold the weights, with no more than `shared` bytes of shared memory
    /// a block.
    fn of(layer: &Layer, shared: usize) -> Option<Plan> {
        let k = layer.centroids.map_or(0, |centroids| centroids.k);
        let sizes = SIZES.into_iter().flat_map(|size| [128, 256, 352, 512].map(|t| (size, t)));
        sizes.into_iter().find_map(|(size, threads)| {
            let fits = |plan: &Plan| bytes(plan.forward_room.max(plan.backward_room)) <= shared;
            Plan::with(layer, k, size, threads).filter(fits)
        })
    }

    fn with(layer: &Layer, k: usize, (c, r): (usize, usize), threads: usize) -> Option<Plan> {
        let u = layer.units.div_ceil(c);
        let nb = if k > 0 || layer.cell.has_memory() { 4 } else { 3 };
        let (carried, pair) = (if k > 0 { k } else { c * u }, (4 / r).max(1));
        let q = TOGETHER;
        // Rows are turned by more than a lane knows of where more lanes share a sum.
        let most = if k > 0 && r <= 4 { LANES / 4 } else { LANES };
        let gather = sharing(u, threads).min(most);
        let backers = sharing(carried.div_ceil(q), threads);
        let scorers = if k > 0 { backers } else { 1 };
        // A lane a row at least, and a warp a row that chooses.
        if gather < r || backers < q || LANES * r > threads {
            return None;
        }
        let parts = |count: usize, lanes: usize| count.div_ceil(pair * lanes) * pair;
        let (part, scored) = (parts(carried, gather), parts(u, scorers));
        let (backed, outer) = (parts(nb * u, backers), parts(u, backers));
        // Units whose gradients lanes gather together.
        let pulling = if most < LANES { most / gather } else { 1 };
        let pulled = parts(carried, gather * pulling) * pulling;
        let states = |floats: usize| if k > 0 { floats } else { 0 };
        let held = |count: usize, each: usize, others: usize| {
            Some((registers(threads).checked_sub(others)? / each).min(count))
        };
        let others = |mixing: usize| if k > 0 { mixing } else { PLAIN_OTHERS };
        let gathered_held = held(part, nb, others(FORWARD_OTHERS) + states(q * scored) + nb * r)?;
        let backed_held = held(backed, q, others(BACKWARD_OTHERS) + states(pulled) + q * r)?;
        let spread = carried.div_ceil(q) * q;
        let vector = part * gather * r;
        let rooms = if k > 0 {
            vector + scored * scorers * r + 2 * c * spread * r
        } else {
            2 * vector + parts(u, 1) * r
        };
        let forward_room = rooms + (part - gathered_held) * threads * nb;
        let sent = 2 * c * r * if k > 0 { spread } else { u };
        let backward_room = sent
            + backed * backers * r
            + states(2 * pulled * gather * r + outer * backers * r)
            + (backed - backed_held) * threads * q;
        let backward_room = backward_room.max(SUMS * u * r);
        Some(Plan {
            blocks: c,
            rows: r,
            threads,
            gather,
            scorers,
            backers,
            gathered_held,
            backed_held,
            forward_room,
            backward_room,
        })
    }
}

/// `Cluster` of `kernels/cluster.cuh`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Arguments {
    scan: Scan,
    vectors: Address,
    w: Address,
    bias: Address,
    gates: Address,
    alpha_last: Address,
    keep_h: i32,
}

/// Kernels for a layer and a call.
pub struct Compiled {
    pub input: Input,
    plan: Plan,
    forward: CudaFunction,
    backward: CudaFunction,
}

impl Compiled {
    /// Blocks of a cluster.
    pub fn blocks(&self) -> usize {
        self.plan.blocks
    }

    /// Whether backward makes the gradient of W besides; as in `kernels/cluster.cuh`.
    pub fn weighs_input(&self, width: usize) -> bool {
        self.input == Input::Vectors && width == 1
    }

    /// Clusters: they go on with other rows when some are done.
    pub fn clusters(&self, device: &Device, placed: &Placed) -> usize {
        let most = (device.gpu.processors / self.plan.blocks).max(1);
        placed.rows.div_ceil(self.plan.rows).min(most)
    }

    fn grid(&self, device: &Device, placed: &Placed, floats: usize) -> Grid {
        let blocks = self.clusters(device, placed) * self.plan.blocks;
        Grid::of(blocks, self.plan.threads).shared(bytes(floats))
    }

    /// The scan forward.
    pub fn forward(
        &self,
        device: &Device,
        placed: &Placed,
        arguments: Arguments,
    ) -> Result<(), CudaError> {
        let grid = self.grid(device, placed, self.plan.forward_room);
        Ok(launch!(device, &self.forward, grid; arguments)?)
    }

    /// The scan backward.
    pub fn backward(
        &self,
        device: &Device,
        placed: &Placed,
        arguments: Arguments,
    ) -> Result<(), CudaError> {
        let grid = self.grid(device, placed, self.plan.backward_room);
        Ok(launch!(device, &self.backward, grid; arguments)?)
    }
}

/// Kernels for a layer, where the GPU has clusters and it fits one.
pub fn compiled(
    device: &Device,
    shape: &Shape,
    reads: Reads,
    call: Call,
) -> Result<Option<Compiled>, CudaError> {
    let layer = &shape.layer;
    let Some(mut definitions) = shape.definitions() else { return Ok(None) };
    let mixes = call.transition == Transition::Mixture && !call.commits;
    let suits = layer.centroids.is_none_or(|centroids| {
        let low_rank = recurrence(layer, call.lambda) == Recurrence::LowRank;
        mixes && low_rank && centroids.score == Score::Dot
    });
    if !device.gpu.clusters || !suits {
        return Ok(None);
    }
    let Some(plan) = Plan::of(layer, device.gpu.shared - FIXED) else { return Ok(None) };
    let input = Input::of(reads, shape.width);
    let k = layer.centroids.map_or(0, |centroids| centroids.k);
    definitions.extend([
        ("K", k.to_string()),
        ("END", flag(shape.end)),
        ("ENTROPY", flag(call.weighs_entropy && k > 0)),
        ("PRESSES", flag(call.presses)),
        ("C", plan.blocks.to_string()),
        ("R", plan.rows.to_string()),
        ("THREADS", plan.threads.to_string()),
        ("GATHER", plan.gather.to_string()),
        ("SCORERS", plan.scorers.to_string()),
        ("BACKERS", plan.backers.to_string()),
        ("Q", TOGETHER.to_string()),
        ("GATHERED_HELD", plan.gathered_held.to_string()),
        ("BACKED_HELD", plan.backed_held.to_string()),
    ]);
    definitions.extend(input.definitions(shape.width));
    let sources = [&[WARP, CELL, SCAN_ARGUMENTS][..], &CLUSTER].concat();
    let names = ["cluster_forward", "cluster_backward"];
    let kernels = device.gpu.compiled(&sources, &definitions, &names)?;
    let [forward, backward] = kernels.try_into().expect("two kernels");
    Ok(Some(Compiled { input, plan, forward, backward }))
}

impl OnDevice {
    /// What the kernels of a cluster are given.
    pub fn cluster_arguments(
        &mut self,
        device: &Device,
        params: Address,
        placed: &Placed,
        reads: Reads,
        call: Call,
        scan: Scan,
    ) -> Result<Arguments, CudaError> {
        let Shape { layer, slots, .. } = &self.shape;
        let last = scan.k > 0 && scan.dh_out != 0 && scan.out_every == 0;
        let rows = if last { placed.rows * scan.k as usize } else { 0 };
        Ok(Arguments {
            scan,
            vectors: match reads {
                Reads::Vectors { at, .. } => at,
                Reads::Tokens { .. } => 0,
            },
            w: params + 4 * slots.w_ih.start as u64,
            bias: if layer.bias { self.rooms.bias.address(device) } else { 0 },
            // Only backward reads them.
            gates: if call.learns { scan.gates } else { 0 },
            // Rows without a step have none, but a product reads it.
            alpha_last: if last { self.rooms.alpha_last.clear(device, rows)? } else { 0 },
            keep_h: call.keep_h as i32,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Cell, Centroids, Gate, Temperature};

    /// Bytes of shared memory that a block of a Hopper GPU may have.
    const HOPPER: usize = 227 << 10;

    fn lstm(units: usize, k: usize) -> Layer {
        let centroids =
            (k > 0).then_some(Centroids { k, score: Score::Dot, tau: Temperature::ONE });
        let cell = Cell::Lstm { peephole: true };
        Layer { cell, units, gate: Gate::Sigmoid, bias: true, centroids }
    }

    #[test]
    fn pairs_are_taken_as_long_as_they_can_hold_the_weights() {
        let size =
            |units, k| Plan::of(&lstm(units, k), HOPPER).map(|plan| (plan.blocks, plan.rows));
        assert_eq!(size(256, 50), Some((2, 2)));
        assert_eq!(size(256, 100), Some((2, 2)));
        assert_eq!(size(256, 200), Some((4, 4)));
        assert_eq!(size(128, 0), Some((2, 2)));
        assert_eq!(size(256, 0), Some((6, 8)));
        assert_eq!(size(1024, 0), None);
    }

    #[test]
    fn no_cluster_needs_more_shared_memory_than_there_is() {
        let need = |plan: Plan| bytes(plan.forward_room.max(plan.backward_room));
        let large = lstm(249, 256);
        assert!(need(Plan::of(&large, HOPPER).unwrap()) <= HOPPER);
        // Consumer GPUs have clusters too, and 99 KiB a block.
        let small = 99 << 10;
        assert!(Plan::of(&large, small).is_none_or(|plan| need(plan) <= small));
        assert!(Plan::of(&lstm(64, 50), small).is_some());
    }
}
