//! Failures of a device.

#[cfg(feature = "cuda")]
use crate::cuda_error::CudaError;

/// A device is missing or has failed.
#[derive(Debug, thiserror::Error)]
pub enum DeviceError {
    /// The program was built without the CUDA engine.
    #[error(
        "this program was built without CUDA: build it with `--features cuda`, or use --device cpu"
    )]
    NotBuilt,
    /// There is no usable GPU, or it failed.
    #[cfg(feature = "cuda")]
    #[error(transparent)]
    Cuda(#[from] CudaError),
}

impl DeviceError {
    /// Whether there is no device, rather than one that failed.
    pub(crate) fn means_no_device(&self) -> bool {
        match self {
            DeviceError::NotBuilt => true,
            #[cfg(feature = "cuda")]
            DeviceError::Cuda(error) => matches!(
                error,
                CudaError::NoDriver
                    | CudaError::NoGpu { .. }
                    | CudaError::TooOld { .. }
                    | CudaError::NoCompiler
            ),
        }
    }
}
