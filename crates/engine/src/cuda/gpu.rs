//! The GPU: its context, its compiled kernels, and kernel launches.

use super::CudaError;
pub use super::buffer::{Buffer, PinnedBuffer};
use super::common_kernels::{CommonKernels, common_source};
use super::compile::{self, ScanSource};
use super::layer_types::Define;
pub use super::stream::{GpuStream, STREAMS, StreamId};
use cudarc::driver::sys::{
    CUdevice_attribute as Attribute, CUevent_flags, CUfunction_attribute_enum, cuDriverGetVersion,
};
use cudarc::driver::{
    CudaContext, CudaEvent, CudaFunction, CudaModule, CudaStream, DriverError, result,
};
use std::collections::HashMap;
use std::ffi::c_void;
use std::sync::{Arc, Mutex};

/// Least compute capabilities: for reducing a warp in one instruction (`kernels/warp.cuh`), and for
/// clusters of thread blocks (`kernels/cluster.cuh`).
const MIN_CAPABILITY: (i32, i32) = (8, 0);
const CLUSTERS: (i32, i32) = (9, 0);
/// The compute capability whose warpgroups multiply together (`kernels/warpgroup.cu`).
const WARPGROUPS: (i32, i32) = (9, 0);

/// The first driver version with launch completion events.
const LAUNCH_COMPLETION_EVENTS: i32 = 12_030;

/// An address in device memory; 0 is null.
pub type Address = u64;

/// A GPU and its kernels. Engines share it.
pub struct Gpu {
    pub(super) context: Arc<CudaContext>,
    pub(super) kernels: CommonKernels<CudaFunction>,
    /// Number of multiprocessors.
    pub(super) processors: usize,
    /// Largest shared memory of a block, in bytes.
    pub(super) shared: usize,
    /// Whether thread block clusters are supported.
    pub(super) clusters: bool,
    /// Whether warpgroup products (`wgmma`) are supported.
    pub(super) warpgroups: bool,
    /// Whether a stream can wait for the start of a kernel in another stream.
    pub(super) launch_completion_events: bool,
    /// For example `sm_90`.
    target: String,
    /// Scan kernels that are compiled for a layer, by source and macro definitions.
    compiled: Mutex<HashMap<String, [CudaFunction; 2]>>,
}

impl Gpu {
    /// Opens the first GPU of this machine and compiles the common kernels, or loads them from the
    /// cache.
    pub fn open() -> Result<Arc<Gpu>, CudaError> {
        // SAFETY: only checks whether a library can be loaded.
        if !unsafe { cudarc::driver::sys::is_culib_present() } {
            return Err(CudaError::NoDriver);
        }
        let context = CudaContext::new(0).map_err(|error| CudaError::NoGpu { error })?;
        // SAFETY: engines order work across streams explicitly. Automatic event tracking would
        // break graph capture.
        unsafe { context.disable_event_tracking() };
        let (major, minor) = context.compute_capability()?;
        if (major, minor) < MIN_CAPABILITY {
            return Err(CudaError::TooOld {
                name: context.name()?,
                has: (major, minor),
                needs: MIN_CAPABILITY,
            });
        }
        let (target, clusters) = (format!("sm_{major}{minor}"), (major, minor) >= CLUSTERS);
        let attribute = |attribute| context.attribute(attribute).map(|value| value as usize);
        let processors = attribute(Attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)?;
        let shared = attribute(Attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)?;
        let warpgroups = (major, minor) == WARPGROUPS;
        // Tested only on these GPUs.
        let launch_completion_events = warpgroups && driver_version()? >= LAUNCH_COMPLETION_EVENTS;
        // Warpgroup instructions exist only in the architecture-specific target.
        let common_target = if warpgroups { format!("{target}a") } else { target.clone() };
        let source = common_source(warpgroups);
        let module = KernelModule::load(&context, &common_target, shared, &source, &[])?;
        let kernels = CommonKernels::by_name(warpgroups, |name| module.kernel(name))?;
        let compiled = Mutex::default();
        Ok(Arc::new(Gpu {
            context,
            kernels,
            processors,
            shared,
            clusters,
            warpgroups,
            launch_completion_events,
            target,
            compiled,
        }))
    }

    /// The product name, for example `NVIDIA H200`.
    pub fn name(&self) -> String {
        self.context.name().unwrap_or_else(|_| "unnamed GPU".into())
    }

    /// A new event without timing, not yet recorded.
    pub(super) fn event(&self) -> Result<CudaEvent, DriverError> {
        self.context.new_event(Some(CUevent_flags::CU_EVENT_DISABLE_TIMING))
    }

    /// The forward and the backward kernel of a layer; each combination of a source and macro
    /// definitions is compiled once.
    pub(super) fn scan_kernels(
        &self,
        scan: &ScanSource,
        defines: &[Define],
    ) -> Result<[CudaFunction; 2], CudaError> {
        let defines_key = defines.iter().map(|(name, value)| format!(" {name}={value}"));
        let key = format!("{}{}", scan.forward, defines_key.collect::<String>());
        let mut compiled = self.compiled.lock().expect("no thread panics while it compiles");
        if let Some(kernels) = compiled.get(&key) {
            return Ok(kernels.clone());
        }
        let (source, shared) = (scan.files.concat(), self.shared);
        let module = KernelModule::load(&self.context, &self.target, shared, &source, defines)?;
        let kernels = [module.kernel(scan.forward)?, module.kernel(scan.backward)?];
        compiled.insert(key, kernels.clone());
        Ok(kernels)
    }
}

/// Grid size, block size and dynamic shared memory (in bytes) of a launch.
#[derive(Clone, Copy)]
pub struct LaunchConfig {
    pub blocks: (u32, u32, u32),
    pub threads: (u32, u32, u32),
    pub shared: u32,
}

impl LaunchConfig {
    pub fn linear(blocks: usize, threads: usize) -> LaunchConfig {
        LaunchConfig { blocks: (blocks as u32, 1, 1), threads: (threads as u32, 1, 1), shared: 0 }
    }

    pub fn grid_3d(x: usize, y: usize, z: usize, threads: usize) -> LaunchConfig {
        LaunchConfig { blocks: (x as u32, y as u32, z as u32), ..LaunchConfig::linear(1, threads) }
    }

    pub fn shared(self, bytes: usize) -> LaunchConfig {
        LaunchConfig { shared: bytes as u32, ..self }
    }
}

/// Launches a kernel; an empty grid launches nothing.
///
/// # Safety
/// The arguments match the kernel's parameters in order and type. Every address points to memory
/// that is large enough and outlives the launch.
pub unsafe fn launch_kernel(
    stream: &CudaStream,
    kernel: &CudaFunction,
    config: LaunchConfig,
    args: &mut [*mut c_void],
) -> Result<(), DriverError> {
    let LaunchConfig { blocks, threads, shared } = config;
    if blocks.0 == 0 || blocks.1 == 0 || blocks.2 == 0 {
        return Ok(());
    }
    // SAFETY: the caller's.
    unsafe {
        result::launch_kernel(
            kernel.cu_function(),
            blocks,
            threads,
            shared,
            stream.cu_stream(),
            args,
        )
    }
}

/// `launch!(stream, kernel, config; arguments…)` launches a kernel.
macro_rules! launch {
    ($stream:expr, $kernel:expr, $config:expr; $($argument:expr),+ $(,)?) => {
        // SAFETY: callers pass the arguments in the order and types of the `.cu` file. Buffers are
        // reserved before the launch and live in the engine.
        unsafe {
            $crate::cuda::gpu::launch_kernel(
                &$stream.raw,
                $kernel,
                $config,
                &mut [$(&$argument as *const _ as *mut std::ffi::c_void),+],
            )
        }
    };
}
pub(super) use launch;

/// `launch!` in `$stream`; `$other` then waits until all blocks have started. See
/// `GpuStream::launch_with_completion_event`.
macro_rules! launch_with_completion_event {
    ($stream:expr, $other:expr, $kernel:expr, $config:expr; $($argument:expr),+ $(,)?) => {
        // SAFETY: as above.
        unsafe {
            $stream.launch_with_completion_event(
                $other,
                $kernel,
                $config,
                &mut [$(&$argument as *const _ as *mut std::ffi::c_void),+],
            )
        }
    };
}
pub(super) use launch_with_completion_event;

/// Compiled code on the GPU, of which kernels are looked up by name.
struct KernelModule {
    module: Arc<CudaModule>,
    /// Largest shared memory of a block, in bytes.
    shared: usize,
}

impl KernelModule {
    fn load(
        context: &Arc<CudaContext>,
        target: &str,
        shared: usize,
        source: &str,
        defines: &[Define],
    ) -> Result<KernelModule, CudaError> {
        let code = compile::compiled(source, defines, target)?;
        let module = context.load_module(cudarc::nvrtc::Ptx::from_binary(code))?;
        Ok(KernelModule { module, shared })
    }

    /// A kernel, with all shared memory that its static variables leave.
    fn kernel(&self, name: &str) -> Result<CudaFunction, CudaError> {
        let limit = CUfunction_attribute_enum::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
        let kernel = self.module.load_function(name)?;
        let static_bytes = kernel.shared_size_bytes()?;
        kernel.set_attribute(limit, self.shared as i32 - static_bytes)?;
        Ok(kernel)
    }
}

/// The CUDA version of the driver: 1000 · major + 10 · minor.
fn driver_version() -> Result<i32, DriverError> {
    let mut version = 0;
    // SAFETY: writes one integer.
    unsafe { cuDriverGetVersion(&mut version) }.result()?;
    Ok(version)
}

/// The GPU for tests, or `None` where there is none. `SRNN_REQUIRE_CUDA=1` makes its absence a
/// failure.
#[cfg(test)]
pub fn gpu_for_tests() -> Option<Arc<Gpu>> {
    match Gpu::open() {
        Ok(gpu) => Some(gpu),
        Err(error) if std::env::var("SRNN_REQUIRE_CUDA").is_ok_and(|value| value == "1") => {
            panic!("SRNN_REQUIRE_CUDA=1, but {error}")
        }
        Err(error) => {
            println!("skipped: {error}");
            None
        }
    }
}
