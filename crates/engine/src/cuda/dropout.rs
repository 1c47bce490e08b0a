//! Dropout: masks on the device, and the kernel that applies them.

use super::gpu::{Address, GpuStream, LaunchConfig, launch};
use super::upload::DeviceBatch;
use super::{CudaError, CudaTrainer};
use crate::dropout::DropoutMask;

/// Dropout on the device: addresses, 0 where nothing is dropped.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct DeviceDropout {
    /// `DropoutMask` of the classifier's features.
    pub readout: Address,
    /// `DropoutMask` of the embedding.
    pub embedding: Address,
    /// The embedding with dropped numbers set to zero, `[V,E]`. Only rows of the batch are valid.
    pub masked_embedding: Address,
}

/// `DropoutMask` of `kernels/dropout.cuh`, as uploaded words.
pub fn mask_words(mask: DropoutMask) -> Vec<u32> {
    vec![mask.seed as u32, (mask.seed >> 32) as u32, mask.threshold, mask.kept.to_bits()]
}

impl CudaTrainer {
    /// The address of the embedding in the parameters at `params`, or of its gradient.
    pub(super) fn embedding(&self, params: Address) -> Address {
        params + 4 * self.layout.embedding.start as u64
    }

    /// Writes the rows of the batch's tokens to `to`, with dropped numbers set to zero.
    pub(super) fn drop_embedding(
        &self,
        device_batch: &DeviceBatch,
        (from, to): (Address, Address),
    ) -> Result<(), CudaError> {
        let rows = (device_batch.ids, device_batch.distinct, self.arch.input.width());
        let mask = device_batch.dropout.embedding;
        if mask == 0 { Ok(()) } else { drop_out(&self.stream, (from, to), rows, mask) }
    }

    /// The addresses of the masks that drop something.
    pub(super) fn device_dropout(
        &mut self,
        device_batch: &DeviceBatch,
        masks: [DropoutMask; 2],
    ) -> Result<DeviceDropout, CudaError> {
        let first = self.layers.len() + 2;
        let addresses = [0, 1].map(|i| match masks[i].is_active() {
            true => device_batch.coefficients[first + i],
            false => 0,
        });
        let [readout, embedding] = addresses;
        if embedding == 0 || device_batch.distinct == 0 {
            return Ok(DeviceDropout { readout, ..DeviceDropout::default() });
        }
        let masked_embedding =
            self.masked_embedding.reserve(&self.stream, self.layout.embedding.len())?;
        Ok(DeviceDropout { readout, embedding, masked_embedding })
    }
}

/// Multiplies `count` rows of `width` numbers by the factors of a mask. `rows` lists the rows; 0 means
/// the first `count`.
pub fn drop_out(
    stream: &GpuStream,
    (from, to): (Address, Address),
    (rows, count, width): (Address, usize, usize),
    mask: Address,
) -> Result<(), CudaError> {
    launch!(stream, &stream.gpu.kernels.drop_out, LaunchConfig::linear(count, 128);
        from, to, rows, width as i32, mask)?;
    Ok(())
}
