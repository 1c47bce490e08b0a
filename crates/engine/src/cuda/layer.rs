//! One layer on the device: its parameters in the form the scan reads them, the scan forward and
//! backward, and the adjoint of the preparation.

use super::CudaError;
pub use super::call::{Call, Keep, Outside, Reads, Rooms, Shape};
use super::device::{Address, Device, Grid, launch};
use super::few::Input;
use super::gradients::Weighed;
use super::many::{Sum, sums};
use super::matrix::Products;
use super::scan::{MEASURED, SUMS, Scan, by_fours};
use super::upload::Placed;
use super::{cluster, few, plain};
use crate::Transition;
use crate::form::{Recurrence, recurrence, state_blocks};
use crate::model::{Cell, Gate, Reset, Score};
use std::cell::RefCell;
use std::sync::Arc;

/// Kernels for a layer and a call.
pub enum Kernels {
    /// Few centroids.
    Few(few::Compiled),
    /// A plain cell of few units.
    Plain(plain::Compiled),
    /// Many centroids, or a plain cell of many units.
    Cluster(cluster::Compiled),
    /// Those for any layer.
    Any,
}

impl Kernels {
    /// Whether they multiply the input by W themselves.
    pub fn multiply_inputs(&self) -> bool {
        let input = match self {
            Kernels::Few(few) => few.input,
            Kernels::Cluster(cluster) => cluster.input,
            Kernels::Plain(_) | Kernels::Any => Input::Rows,
        };
        input == Input::Vectors
    }
}

/// Bytes of a block's shared memory that kernels have besides what they are given.
pub const FIXED: usize = 1024;

/// Bytes of shared memory of a block of `backward` in `kernels/scan.cu`, which needs more than
/// `forward` does.
fn backward_bytes(scan: &Scan, together: usize) -> usize {
    let (n, d, k, ns) = (scan.n as usize, scan.d as usize, scan.k as usize, scan.ns as usize);
    4 * (together * (n + (4 + ns) * d + 3 * k) + SUMS * d)
}

/// What the choice of kernels depends on.
#[derive(PartialEq)]
struct Chosen {
    call: Call,
    distinct: usize,
    bottom: bool,
}

/// One layer on the device.
pub struct OnDevice {
    pub shape: Shape,
    pub rooms: Rooms,
    /// The last choice: the same is asked for several times a step.
    chosen: RefCell<Option<(Chosen, Arc<Kernels>)>>,
}

impl OnDevice {
    pub fn new(shape: Shape) -> OnDevice {
        OnDevice { shape, rooms: Rooms::default(), chosen: RefCell::default() }
    }

    pub fn cell(&self) -> i32 {
        match self.shape.layer.cell {
            Cell::Lstm { .. } => 0,
            Cell::Gru { reset: Reset::AfterMatrix } => 1,
            Cell::Gru { reset: Reset::BeforeMatrix } => 2,
        }
    }

    pub fn k(&self) -> usize {
        self.shape.layer.centroids.map_or(0, |centroids| centroids.k)
    }

    fn scan(
        &mut self,
        device: &Device,
        params: Address,
        placed: &Placed,
        reads: Reads,
        call: Call,
        draws: Address,
    ) -> Result<Scan, CudaError> {
        let form = recurrence(&self.shape.layer, call.lambda);
        let (d, k, cell) = (self.shape.layer.units, self.k(), self.cell());
        let Shape { layer, slots, end, .. } = &self.shape;
        let n = if form == Recurrence::LowRank { k } else { d };
        let (ns, ni) = (state_blocks(layer.cell, form), layer.cell.blocks());
        let steps = placed.steps;
        let rooms = &mut self.rooms;
        let wanted = |wanted: bool, at: Address| if wanted { at } else { 0 };
        let at = |range: &std::ops::Range<usize>, first: usize| {
            wanted(!range.is_empty(), params + 4 * (range.start + first) as u64)
        };
        let memory = layer.cell.has_memory();
        Ok(Scan {
            cell,
            hard: (layer.gate == Gate::HardSigmoid) as i32,
            euclidean: layer.centroids.is_some_and(|s| s.score == Score::Euclidean) as i32,
            low_rank: (form == Recurrence::LowRank) as i32,
            d: d as i32,
            k: k as i32,
            n: n as i32,
            ns: ns as i32,
            ni: ni as i32,
            rows: placed.rows as i32,
            end: *end as i32,
            transition: match call.transition {
                Transition::Mixture => 0,
                Transition::Sample(_) => 1,
                Transition::Argmax => 2,
            },
            commits: (call.commits && k > 0) as i32,
            weighs_entropy: (call.weighs_entropy && k > 0) as i32,
            presses: call.presses as i32,
            offsets: placed.offsets,
            order: placed.order,
            press: call.press,
            x: rooms.x.address(device),
            places: wanted(matches!(reads, Reads::Tokens { .. }), placed.places),
            m: rooms.m.address(device),
            candidate: rooms.candidate.address(device),
            q_bias: wanted(cell == 1, at(&slots.b_hh, 2 * d)),
            peephole: at(&slots.peephole, 0),
            s: at(&slots.centroids, 0),
            draws,
            carry_in: if call.learns {
                rooms.carry_in.fit(device, steps * by_fours(n))?
            } else {
                0
            },
            gates: rooms.gates.fit(device, steps * 4 * d)?,
            extra: if memory { 0 } else { rooms.extra.fit(device, steps * d)? },
            c: if memory { rooms.c.fit(device, steps * d)? } else { 0 },
            u: rooms.u.fit(device, steps * d)?,
            alpha: rooms.alpha.fit(device, steps * k)?,
            h: if call.keep_h > Keep::Never { rooms.h.fit(device, steps * d)? } else { 0 },
            ..Scan::default()
        })
    }

    /// Kernels for this layer and call: those made for its shape, where there are some.
    pub fn kernels(
        &self,
        device: &Device,
        placed: &Placed,
        reads: Reads,
        call: Call,
    ) -> Result<Arc<Kernels>, CudaError> {
        let keep = if call.keeps_every_step() { Keep::Always } else { Keep::Never };
        let chosen = Chosen {
            call: Call { press: 0, learns: true, ..call.keeping([keep; 3]) },
            distinct: placed.distinct,
            bottom: matches!(reads, Reads::Vectors { bottom: true, .. }),
        };
        if let Some((by, kernels)) = &*self.chosen.borrow()
            && *by == chosen
        {
            return Ok(kernels.clone());
        }
        let kernels = Arc::new(self.choose(device, placed, reads, call)?);
        self.chosen.replace(Some((chosen, kernels.clone())));
        Ok(kernels)
    }

    fn choose(
        &self,
        device: &Device,
        placed: &Placed,
        reads: Reads,
        call: Call,
    ) -> Result<Kernels, CudaError> {
        if !self.shape.special {
            return Ok(Kernels::Any);
        }
        if let Some(few) = few::compiled(device, &self.shape, placed, reads, call)? {
            return Ok(Kernels::Few(few));
        }
        if let Some(plain) = plain::compiled(device, &self.shape)? {
            return Ok(Kernels::Plain(plain));
        }
        let cluster = cluster::compiled(device, &self.shape, reads, call)?;
        Ok(cluster.map_or(Kernels::Any, Kernels::Cluster))
    }

    /// Blocks that go on with another row when one is done.
    pub fn row_blocks(&self, device: &Device, placed: &Placed) -> usize {
        // Two blocks fit a multiprocessor where the units are few.
        let each = if self.shape.layer.units <= 128 { 2 } else { 1 };
        placed.rows.min(each * device.gpu.processors)
    }

    /// Rows a block of the kernels for any layer carries, and its threads.
    fn together(&self, device: &Device, scan: &Scan) -> (usize, usize) {
        // Rows that share a block share what is read of M.
        let streams = scan.low_rank == 0 && 4 * scan.n as usize * scan.ns as usize > 1000;
        let rows = scan.rows as usize;
        let many = rows > 2 * device.gpu.processors || (streams && rows >= 16);
        let fits = backward_bytes(scan, 4) + FIXED <= device.gpu.shared;
        (if many && fits { 4 } else { 1 }, if scan.d > 256 { 512 } else { 256 })
    }

    /// Runs the layer over all rows.
    #[allow(clippy::too_many_arguments)]
    pub fn forward(
        &mut self,
        device: &Device,
        products: &mut Products,
        params: Address,
        placed: &Placed,
        reads: Reads,
        call: Call,
        draws: Address,
    ) -> Result<(), CudaError> {
        let kernels = self.kernels(device, placed, reads, call)?;
        let mut jobs = self.prepare(device, params, recurrence(&self.shape.layer, call.lambda))?;
        let read = self.read(device, params, placed, reads, &kernels)?;
        if let (Kernels::Few(few), Reads::Tokens { .. }, true) =
            (&*kernels, reads, placed.chunks.is_cut())
        {
            let scan = self.scan(device, params, placed, reads, call, draws)?;
            let arguments = self.few(device, params, scan, placed, reads, call)?;
            return self.few_forward_cut(device, products, placed, (&jobs, read), few, arguments);
        }
        jobs.push(read);
        products.make(device, &jobs)?;
        let scan = self.scan(device, params, placed, reads, call, draws)?;
        match &*kernels {
            Kernels::Few(few) => self.few_forward(device, params, placed, reads, call, few, scan),
            Kernels::Cluster(cluster) => {
                let arguments =
                    self.cluster_arguments(device, params, placed, reads, call, scan)?;
                cluster.forward(device, placed, arguments)
            }
            Kernels::Plain(plain) => {
                let grid = Grid::of(self.row_blocks(device, placed), plain.threads);
                Ok(launch!(device, &plain.forward, grid; scan)?)
            }
            Kernels::Any => {
                let (together, threads) = self.together(device, &scan);
                let floats = together * (scan.n + 3 * scan.d + scan.k) as usize;
                let grid = Grid::of(placed.rows.div_ceil(together), threads).shared(4 * floats);
                self.fits(device, grid)?;
                let kernel = &device.gpu.kernels.forward[(together > 1) as usize];
                Ok(launch!(device, kernel, grid; scan)?)
            }
        }
    }

    fn fits(&self, device: &Device, grid: Grid) -> Result<(), CudaError> {
        let (need, have) = (grid.shared as usize, device.gpu.shared);
        if need + FIXED > have { Err(CudaError::TooWide { need, have }) } else { Ok(()) }
    }

    /// The adjoint of [`forward`](OnDevice::forward): adds to `grads`, and leaves what the terms
    /// measure in `report` `[MEASURED]`.
    #[allow(clippy::too_many_arguments)]
    pub fn backward(
        &mut self,
        device: &Device,
        products: &mut Products,
        both: (Address, Address),
        placed: &Placed,
        reads: Reads,
        call: Call,
        out: Outside,
        report: Address,
    ) -> Result<(), CudaError> {
        let (params, grads) = both;
        let mut scan = self.scan(device, params, placed, reads, call, 0)?;
        (scan.dh_out, scan.du_out, scan.dc_out) = (out.dh, out.du, out.dc);
        (scan.out_stride, scan.out_every) = (out.stride as i64, out.every_step as i32);
        let kernels = self.kernels(device, placed, reads, call)?;
        if let Kernels::Few(few) = &*kernels {
            return self
                .few_backward(device, products, both, placed, reads, call, few, scan, report);
        }
        let pulled = scan.k > 0 && (scan.low_rank == 0 || out.dh != 0 || scan.commits != 0);
        // A cluster pulls at last steps by itself.
        let last = matches!(*kernels, Kernels::Cluster(_)) && !out.every_step;
        let (together, threads) = self.together(device, &scan);
        // Blocks that leave sums of their own, and blocks that measure.
        let (summed, measured) = match &*kernels {
            Kernels::Plain(_) => [self.row_blocks(device, placed); 2].into(),
            Kernels::Cluster(cluster) => {
                let clusters = cluster.clusters(device, placed);
                (clusters, clusters * cluster.blocks())
            }
            Kernels::Few(_) | Kernels::Any => [placed.rows.div_ceil(together); 2].into(),
        };
        self.fit_backward(device, &mut scan, placed.steps, pulled && !last, summed, measured)?;
        match &*kernels {
            Kernels::Plain(plain) => {
                launch!(device, &plain.backward, Grid::of(summed, plain.threads); scan)?;
            }
            Kernels::Cluster(cluster) => {
                let arguments =
                    self.cluster_arguments(device, params, placed, reads, call, scan)?;
                cluster.backward(device, placed, arguments)?;
                if pulled && last {
                    self.last_pull(device, products, grads, placed, &scan)?;
                }
            }
            Kernels::Few(_) | Kernels::Any => {
                let grid = Grid::of(summed, threads).shared(backward_bytes(&scan, together));
                self.fits(device, grid)?;
                let kernel = &device.gpu.kernels.backward[(together > 1) as usize];
                launch!(device, kernel, grid; scan)?;
            }
        }
        let weighed = match &*kernels {
            Kernels::Cluster(cluster) if cluster.weighs_input(self.shape.width) => Weighed::ByScan,
            _ => Weighed::ByProduct,
        };
        let mut left = self.sums(grads, &scan, summed, weighed);
        left.push(Sum::of_doubles(scan.measured, measured, MEASURED, report));
        sums(device, &left)?;
        let mut jobs = self.recurrent_gradients(device, products, both, &scan, placed.steps)?;
        if weighed == Weighed::ByProduct {
            jobs.extend(self.input_gradients(device, products, both, placed, &scan, reads)?);
        }
        products.make(device, &jobs)
    }

    /// Room for what backward leaves of every step, and for the sums of its blocks.
    fn fit_backward(
        &mut self,
        device: &Device,
        scan: &mut Scan,
        steps: usize,
        pulled: bool,
        summed: usize,
        measured: usize,
    ) -> Result<(), CudaError> {
        let (d, k) = (scan.d as usize, scan.k as usize);
        let (ns, ni) = (scan.ns as usize, scan.ni as usize);
        let rooms = &mut self.rooms;
        scan.da_in = rooms.da_in.fit(device, steps * ni * d)?;
        scan.da_state =
            if scan.cell == 0 { 0 } else { rooms.da_state.fit(device, steps * ns * d)? };
        scan.d_scores = rooms.d_scores.fit(device, steps * by_fours(k))?;
        scan.d_mixture = if pulled { rooms.d_mixture.fit(device, steps * d)? } else { 0 };
        scan.sums = rooms.sums.fit(device, summed * SUMS * d)?;
        scan.measured = rooms.measured.fit(device, measured * MEASURED)?;
        Ok(())
    }
}
