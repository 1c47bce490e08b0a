//! Why there is no engine on a GPU, or why it stopped.

use cudarc::driver::DriverError;
use cudarc::nvrtc::result::NvrtcError;

/// Why there is no engine, or why it stopped.
#[derive(Debug, thiserror::Error)]
pub enum CudaError {
    /// No driver.
    #[error("no NVIDIA driver on this machine: use --device cpu")]
    NoDriver,
    /// A driver, but no GPU.
    #[error("no NVIDIA GPU that can be used ({error}): use --device cpu")]
    NoGpu {
        /// What the driver said.
        error: DriverError,
    },
    /// A GPU whose kind cannot run the kernels.
    #[error(
        "{name} is too old: its compute capability is {}.{}, and {}.{} is needed: use --device cpu",
        has.0, has.1, needs.0, needs.1
    )]
    TooOld {
        /// What the GPU is called.
        name: String,
        /// Its compute capability.
        has: (i32, i32),
        /// The least that will do.
        needs: (i32, i32),
    },
    /// No compiler for kernels.
    #[error(
        "the CUDA run-time compiler (libnvrtc) is not on this machine: install the CUDA toolkit, \
         or use --device cpu"
    )]
    NoCompiler,
    /// A kernel that does not compile.
    #[error("a kernel does not compile for this GPU ({error:?}); please report this:\n{log}")]
    Compile {
        /// What the compiler said.
        error: NvrtcError,
        /// All of it.
        log: String,
    },
    /// The compiler failed otherwise.
    #[error("the CUDA run-time compiler failed: {0:?}")]
    Compiler(#[from] NvrtcError),
    /// No memory left.
    #[error("the GPU has no {} MiB left ({error}): use smaller batches, or --device cpu", bytes >> 20)]
    Memory {
        /// What was asked for.
        bytes: usize,
        /// What the driver said.
        error: DriverError,
    },
    /// A layer whose state does not fit a multiprocessor.
    #[error(
        "a layer needs {need} bytes of a multiprocessor's {have}: use fewer units, or --device cpu"
    )]
    TooWide {
        /// What it needs.
        need: usize,
        /// What there is.
        have: usize,
    },
    /// Anything else the driver said.
    #[error("the GPU failed: {0}")]
    Driver(#[from] DriverError),
}
