//! Kernels for cells without centroids and with few units (`kernels/vanilla.cu`), compiled for each
//! layer.

use super::CudaError;
use super::compile::VANILLA;
use super::gpu::GpuStream;
use super::layer::LayerShape;
use cudarc::driver::CudaFunction;

/// Largest number of units: a thread holds one weight per unit in registers.
const MAX_UNITS: usize = 112;

/// The compiled kernels of a layer.
pub struct VanillaKernels {
    pub threads: usize,
    pub forward: CudaFunction,
    pub backward: CudaFunction,
}

/// The kernels for this layer, or `None` where it has centroids or too many units.
pub fn vanilla_kernels(
    stream: &GpuStream,
    shape: &LayerShape,
) -> Result<Option<VanillaKernels>, CudaError> {
    let layer = &shape.layer;
    if layer.centroids.is_some() || layer.units > MAX_UNITS {
        return Ok(None);
    }
    let Some(defines) = shape.defines() else { return Ok(None) };
    let [forward, backward] = stream.gpu.scan_kernels(&VANILLA, &defines)?;
    let threads = (layer.cell.blocks() * layer.units).next_multiple_of(32);
    Ok(Some(VanillaKernels { threads, forward, backward }))
}
