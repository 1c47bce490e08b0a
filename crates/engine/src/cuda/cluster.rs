//! Kernels for many centroids, for many units without centroids, and for few centroids at λ < 1
//! (`kernels/cluster.cuh`), compiled for each layer.

use super::CudaError;
use super::compile::CLUSTER;
use super::gpu::{Address, GpuStream, LaunchConfig, launch};
use super::layer::{CudaLayer, LayerCall, LayerInput, LayerShape, STATIC_SHARED};
use super::layer_types::{CarriedVector, Define, flag};
use super::scan_args::{SUMS, ScanArgs};
use super::small_k::{InputMode, REGISTERS};
use super::upload::DeviceBatch;
use crate::Transition;
use crate::form::{Recurrence, recurrence};
use crate::model::{Layer, Score};
use cudarc::driver::CudaFunction;

/// Largest number of registers per thread.
const MOST_REGISTERS: usize = 248;
/// Registers of a thread that hold neither weights nor sums: without centroids, and with centroids
/// forward and backward. With fewer, weights would spill to local memory.
const VANILLA_OTHER_REGISTERS: usize = 56;
const FORWARD_OTHER_REGISTERS: usize = 68;
const BACKWARD_OTHER_REGISTERS: usize = 80;
/// The same at λ < 1.
const MIXED_FORWARD_OTHER_REGISTERS: usize = 72;
const MIXED_BACKWARD_OTHER_REGISTERS: usize = 96;
/// Largest number of centroids at λ < 1: every block computes all of α.
const MOST_MIXED: usize = 32;
/// Broadcast sums that a lane computes at a time: with eight, a step of 100 centroids takes longer
/// (4.07 ms instead of 3.60 on an H200).
const SUMS_PER_LANE: usize = 4;
/// Lanes of a warp, and schedulers of a multiprocessor, which divide warps and registers.
const LANES: usize = 32;
const SCHEDULERS: usize = 4;

/// Cluster sizes and rows per cluster, best first. Pairs use all multiprocessors; larger clusters
/// leave some out: of an H200's 132, seventeen clusters of six can run at a time, thirty of four,
/// fifteen of eight.
// PERF: clusters of four are twice as fast a step as clusters of six, so 121 to 128 rows, which take
// two turns, cost the same in both (256 units without centroids: 7.30 and 7.45 ms at 784 steps).
const SIZES: [(usize, usize); 4] = [(2, 2), (4, 4), (6, 8), (8, 8)];

/// What the rows of a cluster carry: the macros K and MIXED.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct CarriedCentroids {
    /// Number of centroids whose probabilities are carried instead of u.
    k: usize,
    /// Number of centroids whose probabilities are carried beside u.
    mixed: usize,
}

/// How a layer is mapped to a cluster; the letters are those of `kernels/cluster.cuh`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct ClusterPlan {
    blocks: usize,
    rows: usize,
    threads: usize,
    /// Lanes that share the sums of a unit, and lanes that share a broadcast sum, forward and
    /// backward.
    gather_lanes: usize,
    score_lanes: usize,
    back_lanes: usize,
    /// Groups of weights that a lane holds in registers; the others are in shared memory.
    gather_registers: usize,
    back_registers: usize,
    /// Floats of shared memory, forward and backward.
    forward_floats: usize,
    backward_floats: usize,
}

/// Bytes of shared memory for `floats` floats, with a margin for alignment.
fn bytes(floats: usize) -> usize {
    4 * floats + 512
}

/// The largest power of two, up to a warp, of which `count` fit into `threads`; 0 if none does.
fn sharing(count: usize, threads: usize) -> usize {
    (0..6).map(|bit| 1 << bit).take_while(|share| count * share <= threads).last().unwrap_or(0)
}

/// Registers available to each thread of a block of `threads` threads.
fn registers(threads: usize) -> usize {
    let warps = threads.div_ceil(LANES).div_ceil(SCHEDULERS);
    (REGISTERS / SCHEDULERS / warps / LANES / 8 * 8).min(MOST_REGISTERS)
}

impl ClusterPlan {
    /// The best cluster that holds the weights, with at most `shared` bytes of shared memory per
    /// block.
    fn of(layer: &Layer, carried: CarriedCentroids, shared: usize) -> Option<ClusterPlan> {
        let sizes = SIZES.into_iter().flat_map(|size| [128, 256, 352, 512].map(|t| (size, t)));
        sizes.into_iter().find_map(|(size, threads)| {
            let fits =
                |plan: &ClusterPlan| bytes(plan.forward_floats.max(plan.backward_floats)) <= shared;
            ClusterPlan::with(layer, carried, size, threads).filter(fits)
        })
    }

    fn with(
        layer: &Layer,
        CarriedCentroids { k, mixed }: CarriedCentroids,
        (c, r): (usize, usize),
        threads: usize,
    ) -> Option<ClusterPlan> {
        let u = layer.units.div_ceil(c);
        let nb = if k > 0 || layer.cell.has_memory() { 4 } else { 3 };
        let (carried, pair) = (if k > 0 { k } else { c * u }, (4 / r).max(1));
        let q = SUMS_PER_LANE;
        // With more lanes per sum, rows would be rotated by more than a lane can undo.
        let most = if k > 0 && r <= 4 { LANES / 4 } else { LANES };
        let gather_lanes = sharing(u, threads).min(most);
        let back_lanes = sharing(carried.div_ceil(q), threads);
        let score_lanes = if k > 0 { back_lanes } else { 1 };
        // Each row needs a lane of each unit, and a warp for its softmax.
        if gather_lanes < r || back_lanes < q || LANES * r > threads {
            return None;
        }
        let parts = |count: usize, lanes: usize| count.div_ceil(pair * lanes) * pair;
        let (part, scored) = (parts(carried, gather_lanes), parts(u, score_lanes));
        let (backed, outer) = (parts(nb * u, back_lanes), parts(u, back_lanes));
        // Units whose gradients are gathered together.
        let pulling = if most < LANES { most / gather_lanes } else { 1 };
        let pulled = parts(carried, gather_lanes * pulling) * pulling;
        let states = |floats: usize| if k > 0 { floats } else { 0 };
        let held = |count: usize, each: usize, others: usize| {
            Some((registers(threads).checked_sub(others)? / each).min(count))
        };
        let [forward_others, backward_others] = match (k, mixed) {
            (0, 0) => [VANILLA_OTHER_REGISTERS; 2],
            (0, _) => [MIXED_FORWARD_OTHER_REGISTERS, MIXED_BACKWARD_OTHER_REGISTERS],
            _ => [FORWARD_OTHER_REGISTERS, BACKWARD_OTHER_REGISTERS],
        };
        let gather_registers = held(part, nb, forward_others + states(q * scored) + nb * r)?;
        let back_registers = held(backed, q, backward_others + states(pulled) + q * r)?;
        let spread = carried.div_ceil(q) * q;
        let vector = part * gather_lanes * r;
        let buffers = if k > 0 {
            vector + scored * score_lanes * r + 2 * c * spread * r
        } else {
            2 * vector + parts(u, 1) * r
        };
        // Scores, the copy of α of each warp, and a block's rows of M and S.
        let (padded, copies) = (|count: usize| count.next_multiple_of(pair), threads / LANES);
        let forward_mixture = mixed * (padded(c * u) + 4 * u + (1 + copies) * r);
        let backward_mixture = mixed * (padded(4 * u) + padded(u) + (1 + 2 * copies) * r)
            + if mixed > 0 { padded(u) * r + 8 } else { 0 };
        let forward_floats = buffers + (part - gather_registers) * threads * nb + forward_mixture;
        let sent = 2 * c * r * (if k > 0 { spread } else { u } + mixed);
        let da = (backed * back_lanes).max(if mixed > 0 { 4 * u + pair } else { 0 });
        let backward_floats = sent
            + backward_mixture
            + da * r
            + states(2 * pulled * gather_lanes * r + outer * back_lanes * r)
            + (backed - back_registers) * threads * q;
        let backward_floats = backward_floats.max(SUMS * u * r);
        Some(ClusterPlan {
            blocks: c,
            rows: r,
            threads,
            gather_lanes,
            score_lanes,
            back_lanes,
            gather_registers,
            back_registers,
            forward_floats,
            backward_floats,
        })
    }
}

/// `ClusterArgs` of `kernels/cluster.cuh`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct ClusterArgs {
    scan: ScanArgs,
    vectors: Address,
    w: Address,
    bias: Address,
    gates: Address,
    alpha_last: Address,
    store_h: i32,
}

/// The compiled kernels of a layer.
pub struct ClusterKernels {
    pub input: InputMode,
    carried: CarriedCentroids,
    plan: ClusterPlan,
    forward: CudaFunction,
    backward: CudaFunction,
}

impl ClusterKernels {
    /// The vector that the kernels carry.
    pub fn carried(&self) -> CarriedVector {
        match self.carried {
            CarriedCentroids { k: 0, mixed: 0 } => CarriedVector::H,
            CarriedCentroids { k: 0, .. } => CarriedVector::UAndAlpha,
            CarriedCentroids { .. } => CarriedVector::Alpha,
        }
    }

    /// Blocks per cluster.
    pub fn blocks(&self) -> usize {
        self.plan.blocks
    }

    /// Whether the backward scan also sums the gradient of W; as in `kernels/cluster.cuh`.
    pub fn sums_input_weights(&self, width: usize) -> bool {
        self.input == InputMode::Vectors && width == 1
    }

    /// Number of clusters; each processes one group of rows after another.
    pub fn clusters(&self, stream: &GpuStream, batch: &DeviceBatch) -> usize {
        let most = (stream.gpu.processors / self.plan.blocks).max(1);
        batch.rows.div_ceil(self.plan.rows).min(most)
    }

    fn config(&self, stream: &GpuStream, batch: &DeviceBatch, floats: usize) -> LaunchConfig {
        let blocks = self.clusters(stream, batch) * self.plan.blocks;
        LaunchConfig::linear(blocks, self.plan.threads).shared(bytes(floats))
    }

    /// Launches the forward scan.
    pub fn forward(
        &self,
        stream: &GpuStream,
        batch: &DeviceBatch,
        args: ClusterArgs,
    ) -> Result<(), CudaError> {
        let config = self.config(stream, batch, self.plan.forward_floats);
        Ok(launch!(stream, &self.forward, config; args)?)
    }

    /// Launches the backward scan.
    pub fn backward(
        &self,
        stream: &GpuStream,
        batch: &DeviceBatch,
        args: ClusterArgs,
    ) -> Result<(), CudaError> {
        let config = self.config(stream, batch, self.plan.backward_floats);
        Ok(launch!(stream, &self.backward, config; args)?)
    }
}

/// The kernels for this call, or `None` where the GPU, the layer or the call does not suit them.
pub fn cluster_kernels(
    stream: &GpuStream,
    shape: &LayerShape,
    layer_input: LayerInput,
    call: LayerCall,
) -> Result<Option<ClusterKernels>, CudaError> {
    let layer = &shape.layer;
    let Some(carried) = carried_centroids(layer, call) else { return Ok(None) };
    if !stream.gpu.clusters {
        return Ok(None);
    }
    let Some(plan) = ClusterPlan::of(layer, carried, stream.gpu.shared - STATIC_SHARED) else {
        return Ok(None);
    };
    let input = InputMode::of(layer_input, shape.width);
    let Some(defines) = cluster_defines(shape, carried, &plan, (input, call)) else {
        return Ok(None);
    };
    let [forward, backward] = stream.gpu.scan_kernels(&CLUSTER, &defines)?;
    Ok(Some(ClusterKernels { input, carried, plan, forward, backward }))
}

/// What the kernels carry in this call; `None` where they do not support it.
fn carried_centroids(layer: &Layer, call: LayerCall) -> Option<CarriedCentroids> {
    let Some(centroids) = layer.centroids else {
        return Some(CarriedCentroids { k: 0, mixed: 0 });
    };
    if call.transition != Transition::Mixture || centroids.score != Score::Dot {
        return None;
    }
    let k = centroids.k;
    match recurrence(layer, call.lambda, call.start) {
        Recurrence::LowRank if !call.has_commitment => Some(CarriedCentroids { k, mixed: 0 }),
        Recurrence::Direct if call.lambda < 1.0 && k <= MOST_MIXED => {
            Some(CarriedCentroids { k: 0, mixed: k })
        }
        _ => None,
    }
}

/// The macro definitions of the kernels; `None` where they do not support the cell.
fn cluster_defines(
    shape: &LayerShape,
    CarriedCentroids { k, mixed }: CarriedCentroids,
    plan: &ClusterPlan,
    (input, call): (InputMode, LayerCall),
) -> Option<Vec<Define>> {
    let mut defines = shape.defines()?;
    defines.extend([
        ("K", k.to_string()),
        ("MIXED", mixed.to_string()),
        ("END", flag(shape.end)),
        ("COMMITMENT", flag(call.has_commitment && mixed > 0)),
        ("ENTROPY", flag(call.has_entropy && k + mixed > 0)),
        ("GATE_PENALTY", flag(call.gate_penalty)),
        ("C", plan.blocks.to_string()),
        ("R", plan.rows.to_string()),
        ("THREADS", plan.threads.to_string()),
        ("GATHER_LANES", plan.gather_lanes.to_string()),
        ("SCORE_LANES", plan.score_lanes.to_string()),
        ("BACK_LANES", plan.back_lanes.to_string()),
        ("Q", SUMS_PER_LANE.to_string()),
        ("GATHER_REGISTERS", plan.gather_registers.to_string()),
        ("BACK_REGISTERS", plan.back_registers.to_string()),
    ]);
    defines.extend(input.defines(shape.width));
    Some(defines)
}

impl CudaLayer {
    /// The kernel arguments.
    pub fn cluster_arguments(
        &mut self,
        stream: &GpuStream,
        params: Address,
        batch: &DeviceBatch,
        layer_input: LayerInput,
        call: LayerCall,
        scan: ScanArgs,
    ) -> Result<ClusterArgs, CudaError> {
        let LayerShape { layer, slots, .. } = &self.shape;
        let last =
            scan.k > 0 && scan.dh_out != 0 && scan.out_every_step == 0 && scan.d_mixture == 0;
        let rows = if last { batch.rows * scan.k as usize } else { 0 };
        Ok(ClusterArgs {
            scan,
            vectors: match layer_input {
                LayerInput::Vectors { at, .. } => at,
                LayerInput::Tokens { .. } => 0,
            },
            w: params + 4 * slots.w_ih.start as u64,
            bias: if layer.bias { self.buffers.bias.address(stream) } else { 0 },
            // Only the backward scan reads them.
            gates: if call.saves_for_backward { scan.gates } else { 0 },
            // A product also reads the rows of empty sequences.
            alpha_last: if last {
                self.buffers.alpha_last.reserve_zeroed(stream, rows)?
            } else {
                0
            },
            store_h: call.store_h as i32,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::compile::assert_uses_defines;
    use super::super::layer_types::testing::{CALL, shape};
    use super::*;
    use crate::model::{Cell, Centroids, Gate, Temperature};

    /// Largest shared memory of a block on a Hopper GPU, in bytes.
    const HOPPER: usize = 227 << 10;

    fn lstm(units: usize, k: usize) -> Layer {
        let centroids =
            (k > 0).then_some(Centroids { k, score: Score::Dot, tau: Temperature::ONE });
        let cell = Cell::Lstm { peephole: true };
        Layer { cell, units, gate: Gate::Sigmoid, bias: true, centroids }
    }

    fn carried(k: usize, mixed: usize) -> CarriedCentroids {
        CarriedCentroids { k: k - mixed, mixed }
    }

    fn plan(layer: &Layer, mixed: usize, shared: usize) -> Option<ClusterPlan> {
        let k = layer.centroids.map_or(0, |centroids| centroids.k);
        ClusterPlan::of(layer, carried(k, mixed), shared)
    }

    #[test]
    fn pairs_of_blocks_are_preferred_while_they_hold_the_weights() {
        let size = |units, k| plan(&lstm(units, k), 0, HOPPER).map(|plan| (plan.blocks, plan.rows));
        assert_eq!(size(256, 50), Some((2, 2)));
        assert_eq!(size(256, 100), Some((2, 2)));
        assert_eq!(size(256, 200), Some((4, 4)));
        assert_eq!(size(128, 0), Some((2, 2)));
        assert_eq!(size(256, 0), Some((4, 4)));
        assert_eq!(size(1024, 0), None);
    }

    #[test]
    fn no_cluster_needs_more_shared_memory_than_there_is() {
        let need = |plan: ClusterPlan| bytes(plan.forward_floats.max(plan.backward_floats));
        let large = lstm(249, 256);
        assert!(need(plan(&large, 0, HOPPER).unwrap()) <= HOPPER);
        // Consumer GPUs have clusters too, but only 99 KiB per block.
        let small = 99 << 10;
        assert!(plan(&large, 0, small).is_none_or(|plan| need(plan) <= small));
        assert!(plan(&lstm(64, 50), 0, small).is_some());
        assert!(need(plan(&lstm(256, 10), 10, HOPPER).unwrap()) <= HOPPER);
    }

    #[test]
    fn the_kernels_use_every_macro_that_is_defined() {
        let shape = shape(lstm(256, 50));
        for carried in [carried(50, 0), carried(50, 50)] {
            let plan = ClusterPlan::of(&shape.layer, carried, HOPPER).unwrap();
            let call = (InputMode::Vectors, CALL);
            let defines = cluster_defines(&shape, carried, &plan, call).unwrap();
            assert_uses_defines(&CLUSTER, &defines);
        }
    }
}
