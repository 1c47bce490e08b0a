//! A GPU as an engine sees it: tracks, in each of which one thing is done after the other.

use super::CudaError;
use super::device::{Address, Gpu, Grid, Room, launch, start};
use cudarc::driver::sys::{
    CUlaunchAttribute, CUlaunchAttributeID, CUlaunchAttributeValue,
    CUlaunchAttributeValue_union__bindgen_ty_3 as LaunchCompletion, CUlaunchConfig,
    cuLaunchKernelEx,
};
use cudarc::driver::{CudaEvent, CudaFunction, CudaStream, DeviceRepr, PinnedHostSlice};
use std::ffi::c_void;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The tracks of an engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Track {
    /// The one in which it works.
    Main,
    /// The one beside it.
    Beside,
    /// Beside a scan backward: where gradients are summed by their tokens, and where they become those of
    /// W and of the tokens' embeddings.
    Summing,
    Weighing,
    Embedding,
}

/// So many.
pub const TRACKS: usize = Track::Embedding as usize + 1;

/// A GPU, and the track of an engine in which what is asked of it is done.
#[derive(Clone)]
pub struct Device {
    pub gpu: Arc<Gpu>,
    pub stream: Arc<CudaStream>,
    /// Which it is: each track has rooms of its own.
    pub track: Track,
    tracks: Arc<[Arc<CudaStream>]>,
    /// What one track waits for in another.
    event: Arc<CudaEvent>,
    /// How often a room was moved: what was captured before that is of no use.
    moves: Arc<AtomicU64>,
}

impl Device {
    /// With tracks of its own.
    pub fn new(gpu: &Arc<Gpu>) -> Result<Device, CudaError> {
        Device::with(gpu, TRACKS)
    }

    /// The same with nothing beside the first track.
    pub fn alone(gpu: &Arc<Gpu>) -> Result<Device, CudaError> {
        Device::with(gpu, 1)
    }

    fn with(gpu: &Arc<Gpu>, tracks: usize) -> Result<Device, CudaError> {
        let tracks =
            (0..tracks).map(|_| gpu.context.new_stream()).collect::<Result<Arc<[_]>, _>>()?;
        let (stream, event) = (tracks[Track::Main as usize].clone(), Arc::new(gpu.event()?));
        let (gpu, moves) = (gpu.clone(), Arc::default());
        Ok(Device { gpu, stream, track: Track::Main, tracks, event, moves })
    }

    /// Another track.
    pub fn on(&self, track: Track) -> Device {
        Device { stream: self.tracks[track as usize].clone(), track, ..self.clone() }
    }

    /// The track beside the first: what is asked of it begins when everything asked so far is done,
    /// and nothing waits for it until it is [`join`](Device::join)ed.
    pub fn fork(&self) -> Result<Device, CudaError> {
        let beside = self.on(Track::Beside);
        beside.follow(self)?;
        Ok(beside)
    }

    /// From here on everything waits for what was asked of the track beside this one.
    pub fn join(&self) -> Result<(), CudaError> {
        self.follow(&self.on(Track::Beside))
    }

    /// From here on everything waits for what was asked of another so far.
    pub fn follow(&self, other: &Device) -> Result<(), CudaError> {
        other.event.record(&other.stream)?;
        Ok(self.stream.wait(&other.event)?)
    }

    /// Asks the device to run a kernel; from here on everything in another track waits until all blocks
    /// of the kernel have begun, or are done. So a kernel of the other track may wait for what those
    /// blocks count: it does not take the room that they need to begin, nor is it run before them by a
    /// tool that runs one kernel after the other.
    ///
    /// # Safety
    /// As [`start`]'s.
    // PERF: in a graph that is captured, the next kernel of the other track waits until the blocks are done
    // if it waits for another kernel too (as CUDA 13.0 does it, where no kernel comes before both).
    pub unsafe fn begin(
        &self,
        other: &Device,
        kernel: &CudaFunction,
        grid: Grid,
        arguments: &mut [*mut c_void],
    ) -> Result<(), CudaError> {
        if !self.gpu.tells_beginnings {
            // SAFETY: the caller's.
            unsafe { start(&self.stream, kernel, grid, arguments) }?;
            return other.follow(self);
        }
        let completion = LaunchCompletion { event: self.event.cu_event(), flags: 0 };
        let mut attribute = CUlaunchAttribute {
            id: CUlaunchAttributeID::CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT,
            pad: [0; 4],
            value: CUlaunchAttributeValue { launchCompletionEvent: completion },
        };
        let Grid { blocks, threads, shared } = grid;
        let config = CUlaunchConfig {
            gridDimX: blocks.0,
            gridDimY: blocks.1,
            gridDimZ: blocks.2,
            blockDimX: threads.0,
            blockDimY: threads.1,
            blockDimZ: threads.2,
            sharedMemBytes: shared,
            hStream: self.stream.cu_stream(),
            attrs: &mut attribute,
            numAttrs: 1,
        };
        let (arguments, none) = (arguments.as_mut_ptr(), std::ptr::null_mut());
        // SAFETY: the caller's, and the attribute is there until the call returns.
        unsafe { cuLaunchKernelEx(&config, kernel.cu_function(), arguments, none) }.result()?;
        Ok(other.stream.wait(&self.event)?)
    }

    /// Waits until everything asked of this track is done.
    pub fn wait(&self) -> Result<(), CudaError> {
        Ok(self.stream.synchronize()?)
    }

    /// A room moves: waits for everything that may still be at work in it.
    pub fn moving(&self) -> Result<(), CudaError> {
        self.tracks.iter().try_for_each(|track| track.synchronize())?;
        self.moves.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    /// How often a room was moved.
    pub fn moves(&self) -> u64 {
        self.moves.load(Ordering::Relaxed)
    }

    /// Memory of the host that the device reaches by itself.
    pub fn pin<T: DeviceRepr>(&self, count: usize) -> Result<PinnedHostSlice<T>, CudaError> {
        // No flag: memory that bypasses caches is slower to write.
        // SAFETY: it is filled before anything reads it.
        Ok(unsafe { self.gpu.context.alloc_pinned_with_flags(count, 0) }?)
    }

    /// Copies so many bytes, a multiple of four, by a kernel.
    // PERF: what copies beside the multiprocessors begins some 7 µs after them, and they after it.
    pub fn copy(&self, to: Address, from: Address, bytes: usize) -> Result<(), CudaError> {
        let words = bytes / 4;
        let blocks = words.div_ceil(COPIED).min(4 * self.gpu.processors);
        launch!(self, &self.gpu.kernels.copy_words, Grid::of(blocks, COPIED); to, from, words as u64)?;
        Ok(())
    }

    /// Copies numbers to the host, and waits for them.
    pub fn read<T: DeviceRepr + Default + Clone>(
        &self,
        from: &Room<T>,
        count: usize,
    ) -> Result<Vec<T>, CudaError> {
        let mut values = vec![T::default(); count];
        if count > 0 {
            from.copy(self, &mut values)?;
            self.wait()?;
        }
        Ok(values)
    }
}

/// Threads of a block that copies.
const COPIED: usize = 256;
