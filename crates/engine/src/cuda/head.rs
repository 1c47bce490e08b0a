//! The classifier on the device.

use super::CudaError;
use super::device::{Address, Device, Grid, Room, launch};
use super::layer::Outside;
use super::matrix::{Addend, Into, Job, Matrix, Products};
use super::upload::Placed;
use crate::model::{Arch, Layout, When};

/// Numbers the cross-entropy says of each read-out: loss, right, counted.
pub const SAYS: usize = 3;

/// Few classes and read-outs: for these there are kernels that do all at once.
const FEW_CLASSES: usize = 64;
const FEW_READOUTS: usize = 4096;
/// Warps of a block there, and bytes of shared memory that its weights may take.
const READERS: usize = 8;
const SMALL: usize = 96 << 10;

/// `Classify` of `kernels/head.cu`.
#[repr(C)]
#[derive(Clone, Copy)]
struct Classify {
    h: Address,
    u: Address,
    c: Address,
    v: Address,
    bias: Address,
    class_weights: Address,
    offsets: Address,
    targets: Address,
    margin: Address,
    features_of: Address,
    logits: Address,
    d_features: Address,
    says: Address,
    readouts: i32,
    last: i32,
    d: i32,
    features: i32,
    classes: i32,
}

/// The memory of the classifier.
#[derive(Default)]
pub struct Head {
    features: Room<f32>,
    pub logits: Room<f32>,
    d_features: Room<f32>,
    says: Room<f64>,
    parts: Room<f64>,
}

/// Where h, u and c of the top layer are; 0 where they are not read.
#[derive(Clone, Copy)]
pub struct Top {
    pub h: Address,
    pub u: Address,
    pub c: Address,
}

/// What may change with every update: `Margin` of `kernels/head.cu`.
pub fn press(margin: f64, total: f64) -> Vec<u32> {
    let total = total.to_bits();
    vec![total as u32, (total >> 32) as u32, (margin as f32).to_bits()]
}

/// Read-outs of a batch.
pub fn readouts(arch: &Arch, placed: &Placed) -> usize {
    match arch.readout.when {
        When::Last => placed.rows,
        When::EveryStep => placed.steps,
    }
}

impl Head {
    /// Whether one kernel does for a read-out all that there is to do.
    fn is_small(arch: &Arch) -> bool {
        arch.classes <= FEW_CLASSES && Head::bytes(arch) <= SMALL
    }

    /// Bytes of shared memory of its block.
    fn bytes(arch: &Arch) -> usize {
        let (wide, classes) = (arch.features(), arch.classes);
        4 * (classes * wide + READERS * (wide + classes))
    }

    /// Reads, says and, where there is something to learn, learns.
    #[allow(clippy::too_many_arguments)]
    fn classify(
        &mut self,
        device: &Device,
        arch: &Arch,
        layout: &Layout,
        params: Address,
        placed: &Placed,
        top: Top,
        press: Address,
    ) -> Result<(), CudaError> {
        let (count, wide, classes) = (readouts(arch, placed), arch.features(), arch.classes);
        let learns = press != 0;
        let arguments = Classify {
            h: top.h,
            u: top.u,
            c: top.c,
            v: params + 4 * layout.head_weight.start as u64,
            bias: params + 4 * layout.head_bias.start as u64,
            class_weights: placed.class_weights,
            offsets: placed.offsets,
            targets: placed.targets,
            margin: press,
            features_of: self.features.fit(device, count * wide)?,
            logits: self.logits.fit(device, count * classes)?,
            d_features: self.d_features.fit(device, count * wide)?,
            // Not null, even if there is no read-out.
            says: if learns { self.says.fit(device, count.max(1) * SAYS)? } else { 0 },
            readouts: count as i32,
            last: (arch.readout.when == When::Last) as i32,
            d: arch.top().units as i32,
            features: wide as i32,
            classes: classes as i32,
        };
        let blocks = count.div_ceil(READERS).min(4 * device.gpu.processors);
        let grid = Grid::of(blocks, 32 * READERS).shared(Head::bytes(arch));
        launch!(device, &device.gpu.kernels.classify, grid; arguments)?;
        Ok(())
    }

    /// Logits `[readouts][C]`; where `press` is given they may be learned from already.
    #[allow(clippy::too_many_arguments)]
    pub fn say(
        &mut self,
        device: &Device,
        products: &mut Products,
        arch: &Arch,
        layout: &Layout,
        params: Address,
        placed: &Placed,
        top: Top,
        press: Address,
    ) -> Result<(), CudaError> {
        if Head::is_small(arch) {
            return self.classify(device, arch, layout, params, placed, top, press);
        }
        let (count, wide, classes) = (readouts(arch, placed), arch.features(), arch.classes);
        let d = arch.top().units as i32;
        let features = self.features.fit(device, count * wide)?;
        let last = (arch.readout.when == When::Last) as i32;
        launch!(device, &device.gpu.kernels.read_out, Grid::of(count, 128);
            top.h, top.u, top.c, placed.offsets, last, d, wide as i32, features)?;
        let logits = self.logits.fit(device, count * classes)?;
        let v = Matrix::rows(params + 4 * layout.head_weight.start as u64, wide).transposed();
        let bias = Addend::to_all(params + 4 * layout.head_bias.start as u64, classes);
        let (features, into) = (Matrix::rows(features, wide), Matrix::rows(logits, classes));
        let job = Job::new((count, wide, classes), features, v, into, Into::Place);
        products.make(device, &[job.plus([bias, Addend::NONE])])
    }

    /// The cross-entropy and its gradients: adds to `grads`, leaves [`SAYS`] sums in `report`, and
    /// returns what the top layer is sent. Logits are replaced by their gradients. What no layer waits
    /// for is asked of `beside`.
    #[allow(clippy::too_many_arguments)]
    pub fn learn(
        &mut self,
        (device, beside): (&Device, &Device),
        products: &mut Products,
        arch: &Arch,
        layout: &Layout,
        (params, grads): (Address, Address),
        placed: &Placed,
        press: Address,
        report: Address,
    ) -> Result<Outside, CudaError> {
        let (count, wide, classes) = (readouts(arch, placed), arch.features(), arch.classes);
        let says = self.says.fit(device, count.max(1) * SAYS)?;
        let logits = self.logits.address(device);
        let features = self.features.address(device);
        let d_features = self.d_features.fit(device, count * wide)?;
        let at = |range: &std::ops::Range<usize>| 4 * range.start as u64;
        let (v, d_v) = (params + at(&layout.head_weight), grads + at(&layout.head_weight));
        let bias = grads + at(&layout.head_bias);
        if Head::is_small(arch) && count <= FEW_READOUTS {
            sum_columns(beside, &mut self.parts, says, (count, SAYS), report)?;
            let grid = Grid::over((wide + 1).div_ceil(32), classes, 1, 256);
            launch!(beside, &device.gpu.kernels.classify_back, grid;
                features, logits, count as i32, classes as i32, wide as i32, d_v, bias)?;
        } else {
            let d_logits = Matrix::rows(logits, classes);
            let (v, d_v) = (Matrix::rows(v, wide), Matrix::rows(d_v, wide));
            if !Head::is_small(arch) {
                launch!(device, &device.gpu.kernels.cross_entropy, Grid::of(count.div_ceil(4), 128);
                    logits, placed.targets, placed.class_weights, press, count as i32,
                    classes as i32, says)?;
                let into = Matrix::rows(d_features, wide);
                products.product(device, (count, classes, wide), d_logits, v, into, Into::Place)?;
            }
            // After the cross-entropy.
            sum_columns(device, &mut self.parts, says, (count, SAYS), report)?;
            let features = Matrix::rows(features, wide);
            let size = (classes, count, wide);
            products.product(device, size, d_logits.transposed(), features, d_v, Into::Sum)?;
            products.sum_rows(device, logits, (count, classes), bias)?;
        }
        let from = arch.readout.from;
        let part = 4 * arch.top().units as u64;
        let at = |wanted: bool, before: u64| if wanted { d_features + before * part } else { 0 };
        Ok(Outside {
            dh: at(from.h(), 0),
            du: at(from.u(), 0),
            dc: at(from.c(), (from.h() || from.u()) as u64),
            stride: wide,
            every_step: arch.readout.when == When::EveryStep,
        })
    }
}

/// Rows of doubles that a block sums by itself.
const FEW_ROWS: usize = 4096;
/// Parts in which more are summed first.
const PARTS: usize = 32;

/// `into[j] = Σ` of column j, in double precision; many rows are summed in parts first, in `room`.
fn sum_columns(
    device: &Device,
    room: &mut Room<f64>,
    rows: Address,
    (count, width): (usize, usize),
    into: Address,
) -> Result<(), CudaError> {
    let sum = |rows: Address, count: usize, parts: usize, into: Address| {
        let grid = Grid::over(width, parts, 1, 256);
        launch!(device, &device.gpu.kernels.sum_columns, grid;
            rows, count as i32, width as i32, into)
    };
    if count <= FEW_ROWS {
        return Ok(sum(rows, count, 1, into)?);
    }
    let parts = room.fit(device, PARTS * width)?;
    sum(rows, count, PARTS, parts)?;
    Ok(sum(parts, PARTS, 1, into)?)
}
