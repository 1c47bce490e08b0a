//! The states of a layer after the last step of each row.

use super::CudaError;
use super::gpu::{Address, GpuStream, LaunchConfig, launch};
use super::layer::CudaLayer;
use super::upload::DeviceBatch;
use crate::LayerState;

impl CudaLayer {
    /// Numbers of a row's state: h, and c of a cell that has one.
    fn state_width(&self) -> usize {
        let layer = &self.shape.layer;
        layer.units * (1 + layer.cell.has_memory() as usize)
    }

    /// Copies the state after the last step of each row to `buffers.last` `[B, h and c]`.
    pub fn gather_last(
        &mut self,
        stream: &GpuStream,
        batch: &DeviceBatch,
    ) -> Result<(), CudaError> {
        let (width, d) = (self.state_width(), self.shape.layer.units);
        let h = self.buffers.h.address(stream);
        let c = if width > d { self.buffers.c.address(stream) } else { 0 };
        let into = self.buffers.last.reserve(stream, batch.rows * width)?;
        let (no_u, no_mask, last): (Address, Address, i32) = (0, 0, 1);
        let config = LaunchConfig::linear(batch.rows, 128);
        Ok(launch!(stream, &stream.gpu.kernels.read_out, config;
            h, no_u, c, batch.offsets, no_mask, last, d as i32, width as i32, into)?)
    }

    /// The states that [`gather_last`](CudaLayer::gather_last) copied.
    pub fn last_state(&self, stream: &GpuStream, rows: usize) -> Result<LayerState, CudaError> {
        let (width, d) = (self.state_width(), self.shape.layer.units);
        let all = stream.read(&self.buffers.last, rows * width)?;
        let part = |from: usize, to: usize| {
            all.chunks_exact(width).flat_map(|row| &row[from..to]).copied().collect()
        };
        Ok(LayerState { h: part(0, d), c: part(d, width) })
    }
}
