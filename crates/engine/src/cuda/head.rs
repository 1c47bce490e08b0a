//! The classifier on the device.

use super::CudaError;
use super::dropout::drop_out;
use super::gpu::{Address, Buffer, GpuStream, LaunchConfig, launch};
use super::layer::{OutputGrads, ParamAddresses};
use super::matrix::{Addend, DeviceMatrix, MatrixOps, ProductSpec, WriteMode};
use super::upload::DeviceBatch;
use crate::model::{Arch, Layout, When};

/// Sums per read-out: weighted loss, correct, counted.
pub const READOUT_SUMS: usize = 3;

/// Largest numbers of classes and read-outs for the kernels that do all at once.
const MAX_CLASSES: usize = 64;
const MAX_READOUTS: usize = 4096;
/// Warps per block there, and the largest shared memory of its weights, in bytes.
const READOUT_WARPS: usize = 8;
const MAX_SHARED: usize = 96 << 10;
/// Threads of the block that computes the cross-entropy of a read-out of many classes.
const CROSS_ENTROPY_THREADS: usize = 512;

/// `ClassifyArgs` of `kernels/head.cu`.
#[repr(C)]
#[derive(Clone, Copy)]
struct ClassifyArgs {
    h: Address,
    u: Address,
    c: Address,
    v: Address,
    bias: Address,
    class_weights: Address,
    offsets: Address,
    targets: Address,
    scale: Address,
    mask: Address,
    features_of: Address,
    logits: Address,
    d_features: Address,
    readout_sums: Address,
    readouts: i32,
    last: i32,
    d: i32,
    features: i32,
    classes: i32,
}

/// The device memory of the classifier.
#[derive(Default)]
pub struct Classifier {
    features: Buffer<f32>,
    pub logits: Buffer<f32>,
    d_features: Buffer<f32>,
    readout_sums: Buffer<f64>,
    parts: Buffer<f64>,
    /// Gradients of the weights where they are the embedding.
    tied_grads: Buffer<f32>,
}

/// Addresses of h, u and c of the top layer; 0 where the classifier does not read them.
#[derive(Clone, Copy)]
pub struct TopStates {
    pub h: Address,
    pub u: Address,
    pub c: Address,
}

/// `LossScale` of `kernels/head.cu`, as uploaded words: what may change with every update.
pub fn loss_scale_words(margin: f64, total: f64) -> Vec<u32> {
    let total = total.to_bits();
    vec![total as u32, (total >> 32) as u32, (margin as f32).to_bits()]
}

/// Number of read-outs of a batch.
pub fn readouts(arch: &Arch, batch: &DeviceBatch) -> usize {
    match arch.readout.when {
        When::Last => batch.rows,
        When::EveryStep => batch.steps,
    }
}

impl Classifier {
    /// Whether one kernel can compute features, logits and gradients of a read-out.
    fn is_small(arch: &Arch) -> bool {
        arch.classes <= MAX_CLASSES && Classifier::bytes(arch) <= MAX_SHARED
    }

    /// Dynamic shared memory of a block of that kernel, in bytes.
    fn bytes(arch: &Arch) -> usize {
        let (width, classes) = (arch.features(), arch.classes);
        4 * (classes * width + READOUT_WARPS * (width + classes))
    }

    /// Features and logits in one kernel, with gradients and sums if `scale` is given.
    #[allow(clippy::too_many_arguments)]
    fn classify(
        &mut self,
        stream: &GpuStream,
        arch: &Arch,
        layout: &Layout,
        params: Address,
        batch: &DeviceBatch,
        top: TopStates,
        scale: Address,
    ) -> Result<(), CudaError> {
        let (count, width, classes) = (readouts(arch, batch), arch.features(), arch.classes);
        let trains = scale != 0;
        let args = ClassifyArgs {
            h: top.h,
            u: top.u,
            c: top.c,
            v: params + 4 * layout.head_weight.start as u64,
            bias: params + 4 * layout.head_bias.start as u64,
            class_weights: batch.class_weights,
            offsets: batch.offsets,
            targets: batch.targets,
            scale,
            mask: batch.dropout.readout,
            features_of: self.features.reserve(stream, count * width)?,
            logits: self.logits.reserve(stream, count * classes)?,
            d_features: self.d_features.reserve(stream, count * width)?,
            // Non-null even without read-outs.
            readout_sums: if trains {
                self.readout_sums.reserve(stream, count.max(1) * READOUT_SUMS)?
            } else {
                0
            },
            readouts: count as i32,
            last: (arch.readout.when == When::Last) as i32,
            d: arch.top().units as i32,
            features: width as i32,
            classes: classes as i32,
        };
        let blocks = count.div_ceil(READOUT_WARPS).min(4 * stream.gpu.processors);
        let config =
            LaunchConfig::linear(blocks, 32 * READOUT_WARPS).shared(Classifier::bytes(arch));
        launch!(stream, &stream.gpu.kernels.classify, config; args)?;
        Ok(())
    }

    /// Zeroes the gradients of weights that are the embedding. They have a buffer of their own, because
    /// the gradients of the inputs overwrite whole rows of the embedding's gradient.
    pub fn zero_tied_grads(&mut self, stream: &GpuStream, arch: &Arch) -> Result<(), CudaError> {
        let count = if arch.is_tied() { arch.classes * arch.features() } else { 0 };
        self.tied_grads.reserve_zeroed(stream, count).map(|_| ())
    }

    /// The sum that adds the gradients of weights that are the embedding to those of the embedding.
    pub fn tied_sum(
        &self,
        stream: &GpuStream,
        arch: &Arch,
        d_embedding: Address,
    ) -> Option<ProductSpec> {
        let (rows, width) = (arch.classes, arch.features());
        let own = Addend::rows(self.tied_grads.address(stream), width, width);
        let other = Addend::rows(d_embedding, width, width);
        let into = DeviceMatrix::rows(d_embedding, width);
        arch.is_tied().then(|| ProductSpec::sum((rows, width), [own, other], into))
    }

    /// Logits `[readouts][C]`. If `scale` is given, a small classifier computes the gradients too.
    #[allow(clippy::too_many_arguments)]
    pub fn forward(
        &mut self,
        stream: &GpuStream,
        ops: &mut MatrixOps,
        arch: &Arch,
        layout: &Layout,
        params: Address,
        batch: &DeviceBatch,
        top: TopStates,
        scale: Address,
    ) -> Result<(), CudaError> {
        if Classifier::is_small(arch) {
            return self.classify(stream, arch, layout, params, batch, top, scale);
        }
        let (count, width, classes) = (readouts(arch, batch), arch.features(), arch.classes);
        let d = arch.top().units as i32;
        let features = self.features.reserve(stream, count * width)?;
        let last = (arch.readout.when == When::Last) as i32;
        launch!(stream, &stream.gpu.kernels.read_out, LaunchConfig::linear(count, 128);
            top.h, top.u, top.c, batch.offsets, batch.dropout.readout, last, d, width as i32,
            features)?;
        let logits = self.logits.reserve(stream, count * classes)?;
        let v =
            DeviceMatrix::rows(params + 4 * layout.head_weight.start as u64, width).transposed();
        let bias = Addend::to_all(params + 4 * layout.head_bias.start as u64, classes);
        let (features, into) =
            (DeviceMatrix::rows(features, width), DeviceMatrix::rows(logits, classes));
        let product =
            ProductSpec::new((count, width, classes), features, v, into, WriteMode::Overwrite);
        ops.run_all(stream, &[product.plus([bias, Addend::NONE])])
    }

    /// The cross-entropy: writes [`READOUT_SUMS`] sums to `report`. Logits are overwritten.
    pub fn loss(
        &mut self,
        stream: &GpuStream,
        arch: &Arch,
        batch: &DeviceBatch,
        scale: Address,
        report: Address,
    ) -> Result<(), CudaError> {
        let count = readouts(arch, batch);
        let sums = self.readout_sums.reserve(stream, count.max(1) * READOUT_SUMS)?;
        if !Classifier::is_small(arch) {
            self.cross_entropy(stream, arch, batch, scale, sums)?;
        }
        sum_columns(stream, &mut self.parts, sums, (count, READOUT_SUMS), report)
    }

    /// The sums of each read-out. Replaces logits by their gradients.
    fn cross_entropy(
        &self,
        stream: &GpuStream,
        arch: &Arch,
        batch: &DeviceBatch,
        scale: Address,
        readout_sums: Address,
    ) -> Result<(), CudaError> {
        let (count, logits) = (readouts(arch, batch), self.logits.address(stream));
        let config = LaunchConfig::linear(count, CROSS_ENTROPY_THREADS);
        Ok(launch!(stream, &stream.gpu.kernels.cross_entropy, config;
            logits, batch.targets, batch.class_weights, scale, arch.classes as i32,
            readout_sums)?)
    }

    /// The cross-entropy and its gradients: adds to `grads`, writes [`READOUT_SUMS`] sums to
    /// `report` and returns the gradients of the top layer's outputs. Logits are overwritten by
    /// their gradients. Work that no layer waits for runs in `side`.
    #[allow(clippy::too_many_arguments)]
    pub fn backward(
        &mut self,
        (stream, side): (&GpuStream, &GpuStream),
        ops: &mut MatrixOps,
        arch: &Arch,
        layout: &Layout,
        ParamAddresses { params, grads }: ParamAddresses,
        batch: &DeviceBatch,
        scale: Address,
        report: Address,
    ) -> Result<OutputGrads, CudaError> {
        let (count, width, classes) = (readouts(arch, batch), arch.features(), arch.classes);
        let readout_sums = self.readout_sums.reserve(stream, count.max(1) * READOUT_SUMS)?;
        let logits = self.logits.address(stream);
        let features = self.features.address(stream);
        let d_features = self.d_features.reserve(stream, count * width)?;
        let at = |range: &std::ops::Range<usize>| 4 * range.start as u64;
        let v = params + at(&layout.head_weight);
        let d_v = match arch.is_tied() {
            true => self.tied_grads.address(stream),
            false => grads + at(&layout.head_weight),
        };
        let bias = grads + at(&layout.head_bias);
        if Classifier::is_small(arch) && count <= MAX_READOUTS {
            sum_columns(side, &mut self.parts, readout_sums, (count, READOUT_SUMS), report)?;
            let config = LaunchConfig::grid_3d((width + 1).div_ceil(32), classes, 1, 256);
            launch!(side, &stream.gpu.kernels.classify_backward, config;
                features, logits, count as i32, classes as i32, width as i32, d_v, bias)?;
        } else {
            let d_logits = DeviceMatrix::rows(logits, classes);
            let (v, d_v) = (DeviceMatrix::rows(v, width), DeviceMatrix::rows(d_v, width));
            if !Classifier::is_small(arch) {
                self.cross_entropy(stream, arch, batch, scale, readout_sums)?;
                let into = DeviceMatrix::rows(d_features, width);
                ops.run(stream, (count, classes, width), d_logits, v, into, WriteMode::Overwrite)?;
                if batch.dropout.readout != 0 {
                    let mask = batch.dropout.readout;
                    drop_out(stream, (d_features, d_features), (0, count, width), mask)?;
                }
            }
            // After the cross-entropy.
            sum_columns(stream, &mut self.parts, readout_sums, (count, READOUT_SUMS), report)?;
            let features = DeviceMatrix::rows(features, width);
            let size = (classes, count, width);
            ops.run(stream, size, d_logits.transposed(), features, d_v, WriteMode::Accumulate)?;
            ops.sum_rows(stream, logits, (count, classes), bias)?;
        }
        let from = arch.readout.from;
        let part = 4 * arch.top().units as u64;
        let at = |wanted: bool, before: u64| if wanted { d_features + before * part } else { 0 };
        Ok(OutputGrads {
            dh: at(from.h(), 0),
            du: at(from.u(), 0),
            dc: at(from.c(), (from.h() || from.u()) as u64),
            stride: width,
            every_step: arch.readout.when == When::EveryStep,
        })
    }
}

/// Largest number of rows that one block sums per column.
const FEW_ROWS: usize = 4096;
/// Number of partial sums for more rows.
const PARTS: usize = 32;

/// `into[j]` = sum of column j, in double precision. Many rows are summed in parts first, in
/// `buffer`.
fn sum_columns(
    stream: &GpuStream,
    buffer: &mut Buffer<f64>,
    rows: Address,
    (count, width): (usize, usize),
    into: Address,
) -> Result<(), CudaError> {
    let sum = |rows: Address, count: usize, parts: usize, into: Address| {
        let config = LaunchConfig::grid_3d(width, parts, 1, 256);
        launch!(stream, &stream.gpu.kernels.sum_columns, config;
            rows, count as i32, width as i32, into)
    };
    if count <= FEW_ROWS {
        return Ok(sum(rows, count, 1, into)?);
    }
    let parts = buffer.reserve(stream, PARTS * width)?;
    sum(rows, count, PARTS, parts)?;
    Ok(sum(parts, PARTS, 1, into)?)
}
