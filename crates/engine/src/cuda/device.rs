//! The GPU: its context, the kernels compiled for it, launches and memory.

pub use super::room::{Pinned, Room};
pub use super::track::{Device, TRACKS, Track};
use super::{CudaError, compile};
use cudarc::driver::sys::{
    CUdevice_attribute as Attribute, CUevent_flags, CUfunction_attribute_enum, cuDriverGetVersion,
};
use cudarc::driver::{CudaContext, CudaEvent, CudaFunction, CudaStream, DriverError, result};
use std::collections::HashMap;
use std::ffi::c_void;
use std::sync::{Arc, Mutex};

/// The compute capabilities from which on warps can be reduced in one instruction, as
/// `kernels/few.cuh` does, and blocks can work as clusters (`kernels/cluster.cuh`).
const OLDEST: (i32, i32) = (8, 0);
const CLUSTERS: (i32, i32) = (9, 0);
/// The one whose warps multiply by fours (`kernels/warpgroup.cu`).
const WARPGROUPS: (i32, i32) = (9, 0);

/// The first driver that tells when the blocks of a kernel have begun.
const TELLS_BEGINNINGS: i32 = 12_030;

/// An address on the device; 0 is nothing.
pub type Address = u64;

/// A GPU with the kernels that need no compiling for a shape. Engines share it.
pub struct Gpu {
    pub(super) context: Arc<CudaContext>,
    pub(super) kernels: Kernels,
    /// Multiprocessors.
    pub(super) processors: usize,
    /// Bytes of shared memory that a block may have.
    pub(super) shared: usize,
    /// Whether blocks can work as clusters, which read each other's shared memory.
    pub(super) clusters: bool,
    /// Whether four warps multiply together.
    pub(super) warpgroups: bool,
    /// Whether one track can wait until a kernel of another has begun.
    pub(super) tells_beginnings: bool,
    /// `sm_90`, say.
    target: String,
    /// What was compiled for a shape, by the names of its kernels and its definitions.
    compiled: Mutex<HashMap<String, Vec<CudaFunction>>>,
}

/// Kernels for every shape.
pub struct Kernels {
    pub product: CudaFunction,
    pub products: CudaFunction,
    pub sums: CudaFunction,
    pub await_all: CudaFunction,
    /// By the columns of B, at most: 1, 4, 16; then for rows at any address.
    pub product_thin: [CudaFunction; 4],
    /// By tile, large and small, and by the lines of both operands.
    pub product_large: [[CudaFunction; 3]; 2],
    pub sum_parts: CudaFunction,
    pub sum_by_token: CudaFunction,
    pub sum_rows: CudaFunction,
    pub sum_columns: CudaFunction,
    pub transpose: CudaFunction,
    pub pull_centroids: CudaFunction,
    pub read_out: CudaFunction,
    pub cross_entropy: CudaFunction,
    pub classify: CudaFunction,
    pub classify_back: CudaFunction,
    pub square_parts: CudaFunction,
    pub update: CudaFunction,
    pub copy_words: CudaFunction,
    /// By rows a block: one, four.
    pub forward: [CudaFunction; 2],
    pub backward: [CudaFunction; 2],
    /// Where four warps multiply together.
    pub product_in_chunks: Option<CudaFunction>,
}

impl Gpu {
    /// The first GPU of this machine.
    pub fn open() -> Result<Arc<Gpu>, CudaError> {
        // SAFETY: only asks whether a library can be loaded.
        if !unsafe { cudarc::driver::sys::is_culib_present() } {
            return Err(CudaError::NoDriver);
        }
        let context = CudaContext::new(0).map_err(|error| CudaError::NoGpu { error })?;
        // SAFETY: an engine does everything in one stream, or says what waits for what; events would
        // be in the way of captured graphs.
        unsafe { context.disable_event_tracking() };
        let (major, minor) = context.compute_capability()?;
        if (major, minor) < OLDEST {
            return Err(CudaError::TooOld {
                name: context.name()?,
                has: (major, minor),
                needs: OLDEST,
            });
        }
        let (target, clusters) = (format!("sm_{major}{minor}"), (major, minor) >= CLUSTERS);
        let attribute = |attribute| context.attribute(attribute).map(|value| value as usize);
        let processors = attribute(Attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)?;
        let shared = attribute(Attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)?;
        let warpgroups = (major, minor) == WARPGROUPS;
        // Tried on these GPUs alone.
        let tells_beginnings = warpgroups && driver_version()? >= TELLS_BEGINNINGS;
        let kernels = Kernels::load(&context, &target, shared, warpgroups)?;
        let compiled = Mutex::default();
        Ok(Arc::new(Gpu {
            context,
            kernels,
            processors,
            shared,
            clusters,
            warpgroups,
            tells_beginnings,
            target,
            compiled,
        }))
    }

    /// What it is called.
    pub fn name(&self) -> String {
        self.context.name().unwrap_or_else(|_| "a GPU without a name".into())
    }

    /// What a stream or the host can wait for; nothing yet.
    pub(super) fn event(&self) -> Result<CudaEvent, DriverError> {
        self.context.new_event(Some(CUevent_flags::CU_EVENT_DISABLE_TIMING))
    }

    /// The kernels of sources compiled with definitions of their own; compiled once.
    pub(super) fn compiled(
        &self,
        sources: &[&str],
        definitions: &[(&str, String)],
        names: &[&str],
    ) -> Result<Vec<CudaFunction>, CudaError> {
        let name = |(name, value): &(&str, String)| format!("{name}={value}");
        // Two sources may have the same definitions; their kernels have different names.
        let key: Vec<String> =
            names.iter().map(|name| name.to_string()).chain(definitions.iter().map(name)).collect();
        let key = key.join(" ");
        let mut compiled = self.compiled.lock().expect("nobody panics while compiling");
        if let Some(kernels) = compiled.get(&key) {
            return Ok(kernels.clone());
        }
        let source = sources.concat();
        let kernels = load(&self.context, &self.target, self.shared, &source, definitions, names)?;
        compiled.insert(key, kernels.clone());
        Ok(kernels)
    }
}

/// Blocks and threads of a launch, and bytes of shared memory.
#[derive(Clone, Copy)]
pub struct Grid {
    pub blocks: (u32, u32, u32),
    pub threads: (u32, u32, u32),
    pub shared: u32,
}

impl Grid {
    pub fn of(blocks: usize, threads: usize) -> Grid {
        Grid { blocks: (blocks as u32, 1, 1), threads: (threads as u32, 1, 1), shared: 0 }
    }

    pub fn over(x: usize, y: usize, z: usize, threads: usize) -> Grid {
        Grid { blocks: (x as u32, y as u32, z as u32), ..Grid::of(1, threads) }
    }

    pub fn shared(self, bytes: usize) -> Grid {
        Grid { shared: bytes as u32, ..self }
    }
}

/// Asks the device to run a kernel.
///
/// # Safety
/// The arguments are the kernel's, in order and of its types, and every address is of memory that
/// is large enough and outlives the launch.
pub unsafe fn start(
    stream: &CudaStream,
    kernel: &CudaFunction,
    grid: Grid,
    arguments: &mut [*mut c_void],
) -> Result<(), DriverError> {
    let Grid { blocks, threads, shared } = grid;
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
            arguments,
        )
    }
}

/// `launch!(device, kernel, grid; arguments…)`: a kernel of the device, run with these.
macro_rules! launch {
    ($device:expr, $kernel:expr, $grid:expr; $($argument:expr),+ $(,)?) => {
        // SAFETY: every call is beside the kernel it calls in this module's reading order, its
        // arguments checked against the .cu file; rooms are fitted before, and live in the engine.
        unsafe {
            $crate::cuda::device::start(
                &$device.stream,
                $kernel,
                $grid,
                &mut [$(&$argument as *const _ as *mut std::ffi::c_void),+],
            )
        }
    };
}
pub(super) use launch;

/// The same as a kernel for whose blocks another track waits until they have begun.
macro_rules! begin {
    ($device:expr, $other:expr, $kernel:expr, $grid:expr; $($argument:expr),+ $(,)?) => {
        // SAFETY: as above.
        unsafe {
            $device.begin(
                $other,
                $kernel,
                $grid,
                &mut [$(&$argument as *const _ as *mut std::ffi::c_void),+],
            )
        }
    };
}
pub(super) use begin;

impl Kernels {
    fn load(
        context: &Arc<CudaContext>,
        target: &str,
        shared: usize,
        warpgroups: bool,
    ) -> Result<Self, CudaError> {
        let (target, warpgroup, large, low) = match warpgroups {
            true => (
                format!("{target}a"),
                compile::WARPGROUP,
                ["wide_mn", "wide_kn", "wide_kk"],
                "turned_mn",
            ),
            false => {
                (target.into(), "", ["large_128_mn", "large_128_kn", "large_128_kk"], "large_64_mn")
            }
        };
        let source = [
            compile::WARP,
            compile::CELL,
            compile::SCAN_ARGUMENTS,
            compile::MATRIX,
            compile::MANY,
            compile::TENSOR,
            warpgroup,
            compile::HEAD,
            compile::UPDATE,
            compile::SCAN,
        ]
        .concat();
        #[rustfmt::skip]
        let names = [
            "product_128", "products", "sums", "await_all", "thin_1", "thin_4", "thin_16", "thin_any", large[0], large[1], large[2],
            low, "large_64_kn", "large_64_kk", "sum_parts", "sum_by_token", "sum_rows", "sum_columns", "transpose",
            "pull_centroids", "read_out", "cross_entropy",
            "classify", "classify_back", "square_parts", "update", "copy_words", "forward_1", "forward_4", "backward_1", "backward_4", "wide_in_chunks",
        ];
        let names = if warpgroups { &names[..] } else { &names[..names.len() - 1] };
        let all = load(context, &target, shared, &source, &[], names)?;
        let mut all = all.into_iter();
        let mut next = || all.next().expect("one for each name");
        Ok(Kernels {
            product: next(),
            products: next(),
            sums: next(),
            await_all: next(),
            product_thin: [next(), next(), next(), next()],
            product_large: [[next(), next(), next()], [next(), next(), next()]],
            sum_parts: next(),
            sum_by_token: next(),
            sum_rows: next(),
            sum_columns: next(),
            transpose: next(),
            pull_centroids: next(),
            read_out: next(),
            cross_entropy: next(),
            classify: next(),
            classify_back: next(),
            square_parts: next(),
            update: next(),
            copy_words: next(),
            forward: [next(), next()],
            backward: [next(), next()],
            product_in_chunks: warpgroups.then(next),
        })
    }
}

fn load(
    context: &Arc<CudaContext>,
    target: &str,
    shared: usize,
    source: &str,
    definitions: &[(&str, String)],
    names: &[&str],
) -> Result<Vec<CudaFunction>, CudaError> {
    let code = compile::compiled(source, definitions, target)?;
    let module = context.load_module(cudarc::nvrtc::Ptx::from_binary(code))?;
    let most = CUfunction_attribute_enum::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
    let function = |name: &&str| {
        let function = module.load_function(name)?;
        let static_bytes = function.shared_size_bytes()?;
        function.set_attribute(most, shared as i32 - static_bytes)?;
        Ok(function)
    };
    names.iter().map(function).collect()
}

/// 1000 times the major and 10 times the minor version of CUDA.
fn driver_version() -> Result<i32, DriverError> {
    let mut version = 0;
    // SAFETY: writes a number.
    unsafe { cuDriverGetVersion(&mut version) }.result()?;
    Ok(version)
}

/// The GPU for tests, if there is one; `SRNN_REQUIRE_CUDA=1` demands it.
#[cfg(test)]
pub fn gpu_for_tests() -> Option<Arc<Gpu>> {
    match Gpu::open() {
        Ok(gpu) => Some(gpu),
        Err(error) if std::env::var("SRNN_REQUIRE_CUDA").is_ok_and(|value| value == "1") => {
            panic!("SRNN_REQUIRE_CUDA=1, but {error}")
        }
        Err(error) => {
            println!("left out: {error}");
            None
        }
    }
}
