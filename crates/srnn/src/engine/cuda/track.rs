//! A GPU as an engine sees it: tracks, in each of which one thing is done after the other.

use super::CudaError;
use super::device::{Address, Gpu, Grid, Room, launch};
use cudarc::driver::{CudaEvent, CudaStream, DeviceRepr, PinnedHostSlice};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Tracks of an engine: the one in which it works, which is the first, and those beside it.
pub const TRACKS: usize = 4;
const MAIN: usize = 0;
pub const BESIDE: usize = 1;

/// A GPU, and the track of an engine in which what is asked of it is done.
#[derive(Clone)]
pub struct Device {
    pub gpu: Arc<Gpu>,
    pub stream: Arc<CudaStream>,
    /// Its number: each track has rooms of its own.
    pub track: usize,
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
        let (stream, event) = (tracks[MAIN].clone(), Arc::new(gpu.event()?));
        let (gpu, moves) = (gpu.clone(), Arc::default());
        Ok(Device { gpu, stream, track: MAIN, tracks, event, moves })
    }

    /// Another track.
    pub fn on(&self, track: usize) -> Device {
        Device { stream: self.tracks[track].clone(), track, ..self.clone() }
    }

    /// The track beside the first: what is asked of it begins when everything asked so far is done,
    /// and nothing waits for it until it is [`join`](Device::join)ed.
    pub fn fork(&self) -> Result<Device, CudaError> {
        let beside = self.on(BESIDE);
        beside.follow(self)?;
        Ok(beside)
    }

    /// From here on everything waits for what was asked of the track beside this one.
    pub fn join(&self) -> Result<(), CudaError> {
        self.follow(&self.on(BESIDE))
    }

    /// From here on everything waits for what was asked of another so far.
    pub fn follow(&self, other: &Device) -> Result<(), CudaError> {
        other.event.record(&other.stream)?;
        Ok(self.stream.wait(&other.event)?)
    }

    /// Waits until everything asked for is done.
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
