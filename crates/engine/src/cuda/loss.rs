//! The loss of a batch without its gradients. Logits stay on the device.

use super::{CudaError, CudaTrainer, READOUTS_AT};
use crate::{Batch, BatchLoss, Mode, Regime};

impl CudaTrainer {
    /// The loss of a batch in the network with mixtures.
    pub(super) fn try_loss(&mut self, batch: &Batch, mode: Mode) -> Result<BatchLoss, CudaError> {
        let Mode { lambda, tau, .. } = mode;
        let regime = Regime { lambda, tau, ..Regime::plain(0.0) };
        let (spec, _) = self.take_prefetched_or_upload(batch, &regime)?;
        let device_batch = &spec.device_batch;
        self.forward_pass(device_batch, spec.call)?;
        let scale = device_batch.coefficients[self.layers.len()];
        let report = self.report.address(&self.stream);
        let sums = report + 8 * READOUTS_AT as u64;
        self.head.loss(&self.stream, &self.arch, device_batch, scale, sums)?;
        self.host_report.copy_from_device(&self.stream, report, self.report_len())?;
        self.host_report.record_copies(&self.stream)?;
        let (loss, _) = self.read_report(batch, &regime)?;
        Ok((loss, self.try_last_states()?))
    }
}
