//! The CUDA streams of an engine. Work in one stream runs in order; graphs capture streams as
//! branches.

use super::CudaError;
use super::gpu::{Address, Buffer, Gpu, LaunchConfig, launch, launch_kernel};
use cudarc::driver::sys::{
    CUlaunchAttribute, CUlaunchAttributeID, CUlaunchAttributeValue,
    CUlaunchAttributeValue_union__bindgen_ty_3 as LaunchCompletion, CUlaunchConfig,
    cuLaunchKernelEx,
};
use cudarc::driver::{CudaEvent, CudaFunction, CudaStream, DeviceRepr, PinnedHostSlice};
use std::ffi::c_void;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The streams of an engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StreamId {
    /// The main stream.
    Main,
    /// The stream for work that runs beside the main stream.
    Side,
    /// Beside a chunked backward scan: sums of gradients by token, then the gradients of W and of
    /// the embeddings made from these sums.
    TokenSums,
    InputWeights,
    Embeddings,
}

/// Number of streams of an engine.
pub const STREAMS: usize = StreamId::Embeddings as usize + 1;

/// One stream of an engine. Clones refer to the same stream.
#[derive(Clone)]
pub struct GpuStream {
    pub gpu: Arc<Gpu>,
    pub raw: Arc<CudaStream>,
    /// Indexes the buffers that each stream owns.
    pub id: StreamId,
    streams: Arc<[Arc<CudaStream>]>,
    /// Recorded in this stream when another stream has to wait for it.
    event: Arc<CudaEvent>,
    /// Number of buffer reallocations. Captured graphs hold addresses, so an older graph is
    /// invalid.
    reallocations: Arc<AtomicU64>,
}

impl GpuStream {
    /// The main stream of a new engine.
    pub fn new(gpu: &Arc<Gpu>) -> Result<GpuStream, CudaError> {
        GpuStream::with_streams(gpu, STREAMS)
    }

    /// A single stream without side streams.
    pub fn single(gpu: &Arc<Gpu>) -> Result<GpuStream, CudaError> {
        GpuStream::with_streams(gpu, 1)
    }

    fn with_streams(gpu: &Arc<Gpu>, streams: usize) -> Result<GpuStream, CudaError> {
        let streams =
            (0..streams).map(|_| gpu.context.new_stream()).collect::<Result<Arc<[_]>, _>>()?;
        let (raw, event) = (streams[StreamId::Main as usize].clone(), Arc::new(gpu.event()?));
        let (gpu, reallocations) = (gpu.clone(), Arc::default());
        Ok(GpuStream { gpu, raw, id: StreamId::Main, streams, event, reallocations })
    }

    /// Another stream of the same engine.
    pub fn on(&self, id: StreamId) -> GpuStream {
        GpuStream { raw: self.streams[id as usize].clone(), id, ..self.clone() }
    }

    /// The side stream, ordered after all work queued so far. Call [`join`](GpuStream::join) to
    /// wait for its work.
    pub fn fork(&self) -> Result<GpuStream, CudaError> {
        let beside = self.on(StreamId::Side);
        beside.wait_for(self)?;
        Ok(beside)
    }

    /// Orders later work of this stream after the work of the side stream.
    pub fn join(&self) -> Result<(), CudaError> {
        self.wait_for(&self.on(StreamId::Side))
    }

    /// Orders later work of this stream after the work queued in `other` so far.
    pub fn wait_for(&self, other: &GpuStream) -> Result<(), CudaError> {
        other.event.record(&other.raw)?;
        Ok(self.raw.wait(&other.event)?)
    }

    /// Launches a kernel. Later work in `other` starts only after all blocks of the kernel have
    /// started or finished.
    ///
    /// A kernel that spins on another kernel's counter is launched only after that kernel has
    /// started. So it cannot occupy the multiprocessors that the other kernel needs, even under a
    /// tool that serialises kernels.
    ///
    /// # Safety
    /// As for [`launch_kernel`].
    // PERF: in a captured graph, the next kernel of `other` waits until the blocks are done if it
    // also waits for another kernel (as CUDA 13.0 does it, where no kernel comes before both).
    pub unsafe fn launch_with_completion_event(
        &self,
        other: &GpuStream,
        kernel: &CudaFunction,
        config: LaunchConfig,
        args: &mut [*mut c_void],
    ) -> Result<(), CudaError> {
        if !self.gpu.launch_completion_events {
            // SAFETY: the caller's.
            unsafe { launch_kernel(&self.raw, kernel, config, args) }?;
            return other.wait_for(self);
        }
        let completion = LaunchCompletion { event: self.event.cu_event(), flags: 0 };
        let mut attribute = CUlaunchAttribute {
            id: CUlaunchAttributeID::CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT,
            pad: [0; 4],
            value: CUlaunchAttributeValue { launchCompletionEvent: completion },
        };
        let LaunchConfig { blocks, threads, shared } = config;
        let config = CUlaunchConfig {
            gridDimX: blocks.0,
            gridDimY: blocks.1,
            gridDimZ: blocks.2,
            blockDimX: threads.0,
            blockDimY: threads.1,
            blockDimZ: threads.2,
            sharedMemBytes: shared,
            hStream: self.raw.cu_stream(),
            attrs: &mut attribute,
            numAttrs: 1,
        };
        let (args, none) = (args.as_mut_ptr(), std::ptr::null_mut());
        // SAFETY: the caller's, and the attribute lives until the call returns.
        unsafe { cuLaunchKernelEx(&config, kernel.cu_function(), args, none) }.result()?;
        Ok(other.raw.wait(&self.event)?)
    }

    /// Blocks the host until all work of this stream is done.
    pub fn synchronize(&self) -> Result<(), CudaError> {
        Ok(self.raw.synchronize()?)
    }

    /// Blocks the host until no stream uses the buffer that is about to be reallocated, and counts
    /// the reallocation.
    pub fn prepare_reallocation(&self) -> Result<(), CudaError> {
        self.streams.iter().try_for_each(|stream| stream.synchronize())?;
        self.reallocations.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    /// Number of buffer reallocations so far.
    pub fn reallocations(&self) -> u64 {
        self.reallocations.load(Ordering::Relaxed)
    }

    /// Allocates pinned host memory; its contents are undefined.
    pub fn alloc_pinned<T: DeviceRepr>(
        &self,
        count: usize,
    ) -> Result<PinnedHostSlice<T>, CudaError> {
        // No flag: the host writes write-combined memory more slowly.
        // SAFETY: it is filled before anything reads it.
        Ok(unsafe { self.gpu.context.alloc_pinned_with_flags(count, 0) }?)
    }

    /// Copies `bytes` bytes, a multiple of four, with a kernel.
    // PERF: the copy engine starts some 7 µs after the kernel before it, and the next kernel 7 µs
    // after the copy.
    pub fn copy_words(&self, to: Address, from: Address, bytes: usize) -> Result<(), CudaError> {
        let words = bytes / 4;
        let blocks = words.div_ceil(COPY_THREADS).min(4 * self.gpu.processors);
        launch!(self, &self.gpu.kernels.copy_words, LaunchConfig::linear(blocks, COPY_THREADS); to, from, words as u64)?;
        Ok(())
    }

    /// Copies the first `count` elements to the host and waits for them.
    pub fn read<T: DeviceRepr + Default + Clone>(
        &self,
        from: &Buffer<T>,
        count: usize,
    ) -> Result<Vec<T>, CudaError> {
        let mut values = vec![T::default(); count];
        if count > 0 {
            from.read_into(self, &mut values)?;
            self.synchronize()?;
        }
        Ok(values)
    }
}

/// Threads per block of the copy kernel.
const COPY_THREADS: usize = 256;
