//! The classifier on the device.

use super::CudaError;
use super::device::{Address, Device, Grid, Room, launch};
use super::layer::Outside;
use super::matrix::{Into, Matrix, Products, sum_columns};
use super::upload::Placed;
use crate::model::{Arch, Layout, When};

/// Numbers the cross-entropy says of each read-out: loss, right, counted.
pub const SAYS: usize = 3;

/// The memory of the classifier.
#[derive(Default)]
pub struct Head {
    features: Room<f32>,
    pub logits: Room<f32>,
    d_features: Room<f32>,
    says: Room<f64>,
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
    /// Logits `[readouts][C]`.
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
    ) -> Result<(), CudaError> {
        let (count, wide, classes) = (readouts(arch, placed), arch.features(), arch.classes);
        let d = arch.top().units as i32;
        let features = self.features.fit(device, count * wide)?;
        let last = (arch.readout.when == When::Last) as i32;
        launch!(device, &device.gpu.kernels.read_out, Grid::of(count, 128);
            top.h, top.u, top.c, placed.offsets, last, d, wide as i32, features)?;
        let logits = self.logits.fit(device, count * classes)?;
        let v = Matrix::rows(params + 4 * layout.head_weight.start as u64, wide).transposed();
        let bias = params + 4 * layout.head_bias.start as u64;
        let into = Matrix::rows(logits, classes);
        let size = (count, wide, classes);
        products.with_bias(device, size, Matrix::rows(features, wide), v, bias, into, Into::Place)
    }

    /// The cross-entropy and its gradients: adds to `grads`, leaves [`SAYS`] sums in `report`, and
    /// returns what the top layer is sent. Logits are replaced by their gradients.
    #[allow(clippy::too_many_arguments)]
    pub fn learn(
        &mut self,
        device: &Device,
        products: &mut Products,
        arch: &Arch,
        layout: &Layout,
        (params, grads): (Address, Address),
        placed: &Placed,
        press: Address,
        report: Address,
    ) -> Result<Outside, CudaError> {
        let (count, wide, classes) = (readouts(arch, placed), arch.features(), arch.classes);
        let says = self.says.fit(device, count * SAYS)?;
        let logits = self.logits.address(device);
        launch!(device, &device.gpu.kernels.cross_entropy, Grid::of(count.div_ceil(4), 128);
            logits, placed.targets, placed.class_weights, press, count as i32, classes as i32,
            says)?;
        sum_columns(device, says, (count, SAYS), report)?;
        let d_logits = Matrix::rows(logits, classes);
        let v = Matrix::rows(params + 4 * layout.head_weight.start as u64, wide);
        let d_v = Matrix::rows(grads + 4 * layout.head_weight.start as u64, wide);
        let features = Matrix::rows(self.features.address(device), wide);
        let size = (classes, count, wide);
        products.product(device, size, d_logits.transposed(), features, d_v, Into::Sum)?;
        let bias = grads + 4 * layout.head_bias.start as u64;
        products.sum_rows(device, logits, (count, classes), bias)?;
        let d_features = self.d_features.fit(device, count * wide)?;
        let into = Matrix::rows(d_features, wide);
        products.product(device, (count, classes, wide), d_logits, v, into, Into::Place)?;
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
