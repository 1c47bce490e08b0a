//! The kernels for plain cells of few units (`kernels/plain.cu`), compiled for each layer.

use super::CudaError;
use super::compile::{CELL, PLAIN, SCAN_ARGUMENTS, WARP};
use super::device::Device;
use super::layer::Shape;
use cudarc::driver::CudaFunction;

/// Units that are few: a thread holds as many weights in registers.
const MOST: usize = 112;

/// Kernels for a layer.
pub struct Compiled {
    pub threads: usize,
    pub forward: CudaFunction,
    pub backward: CudaFunction,
}

/// Kernels for a layer, where it is plain and its units are few.
pub fn compiled(device: &Device, shape: &Shape) -> Result<Option<Compiled>, CudaError> {
    let layer = &shape.layer;
    if layer.centroids.is_some() || layer.units > MOST {
        return Ok(None);
    }
    let Some(definitions) = shape.definitions() else { return Ok(None) };
    let sources = [WARP, CELL, SCAN_ARGUMENTS, PLAIN];
    let names = ["plain_forward", "plain_backward"];
    let kernels = device.gpu.compiled(&sources, &definitions, &names)?;
    let [forward, backward] = kernels.try_into().expect("two kernels");
    let threads = (layer.cell.blocks() * layer.units).next_multiple_of(32);
    Ok(Some(Compiled { threads, forward, backward }))
}
