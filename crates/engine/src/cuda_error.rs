//! Errors of the engine for GPUs.

use cudarc::driver::DriverError;
use cudarc::driver::sys::CUresult;
use cudarc::nvrtc::result::NvrtcError;

/// Why no engine could be created, or why it failed.
#[derive(Debug, thiserror::Error)]
pub enum CudaError {
    /// The NVIDIA driver is missing.
    #[error("no NVIDIA driver on this machine: use --device cpu")]
    NoDriver,
    /// The driver finds no usable GPU.
    #[error("no usable NVIDIA GPU ({error}): use --device cpu")]
    NoGpu {
        /// The driver error.
        error: DriverError,
    },
    /// The compute capability of the GPU is too low.
    #[error(
        "{name} has compute capability {}.{}, but {}.{} is needed: use --device cpu",
        has.0, has.1, needs.0, needs.1
    )]
    TooOld {
        /// The name of the GPU.
        name: String,
        /// Its compute capability.
        has: (i32, i32),
        /// The least supported compute capability.
        needs: (i32, i32),
    },
    /// The run-time compiler is missing.
    #[error(
        "the CUDA run-time compiler (libnvrtc) is not on this machine: install the CUDA toolkit, \
         or use --device cpu"
    )]
    NoCompiler,
    /// A kernel does not compile for this GPU.
    #[error("a kernel does not compile for this GPU ({error:?}); please report this:\n{log}")]
    Compile {
        /// The compiler error.
        error: NvrtcError,
        /// The compiler log.
        log: String,
    },
    /// The compiler failed for another reason.
    #[error("the CUDA run-time compiler failed: {0:?}")]
    Compiler(#[from] NvrtcError),
    /// The GPU is out of memory.
    #[error("out of GPU memory: {} MiB requested ({error}): use smaller batches, or --device cpu", bytes >> 20)]
    Memory {
        /// Requested bytes.
        bytes: usize,
        /// The driver error.
        error: DriverError,
    },
    /// The state of a layer does not fit in a multiprocessor's shared memory.
    #[error(
        "a layer needs {need} bytes of shared memory, and a block has {have}: use fewer units, or --device cpu"
    )]
    TooWide {
        /// Required bytes.
        need: usize,
        /// Available bytes.
        have: usize,
    },
    /// Another driver error.
    #[error("the GPU failed ({0}): {remedy}", remedy = remedy(.0))]
    Driver(#[from] DriverError),
}

fn remedy(error: &DriverError) -> &'static str {
    match error.0 {
        CUresult::CUDA_ERROR_OUT_OF_MEMORY => {
            "free memory of the GPU or use smaller batches; a run that was begun can be resumed"
        }
        _ => "run again, or use --device cpu; a run that was begun can be resumed",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_name_a_remedy() {
        // Driver errors are not displayed here: that needs a driver.
        let errors = [
            CudaError::NoDriver,
            CudaError::TooOld { name: "GPU".into(), has: (7, 0), needs: (8, 0) },
            CudaError::NoCompiler,
            CudaError::TooWide { need: 2, have: 1 },
        ];
        for error in errors {
            assert!(error.to_string().contains("--device cpu"), "{error}");
        }
        let full = remedy(&DriverError(CUresult::CUDA_ERROR_OUT_OF_MEMORY));
        assert!(full.contains("smaller batches") && full.contains("resumed"), "{full}");
    }
}
