//! Growable memory: on the device, and pinned on the host.

use super::CudaError;
use super::gpu::{Address, GpuStream};
use cudarc::driver::{
    CudaEvent, CudaSlice, DevicePtr, DeviceRepr, PinnedHostSlice, ValidAsZeroBits,
};

/// Device memory that grows on demand and is reused.
pub struct Buffer<T> {
    slice: Option<CudaSlice<T>>,
}

impl<T> Default for Buffer<T> {
    fn default() -> Self {
        Buffer { slice: None }
    }
}

impl<T: DeviceRepr> Buffer<T> {
    /// Grows to at least `count` elements and returns the address. Growing discards the contents.
    pub fn reserve(&mut self, stream: &GpuStream, count: usize) -> Result<Address, CudaError> {
        let have = self.slice.as_ref().map_or(0, |slice| slice.len());
        if count > have {
            // A graph or a kernel may still use the old memory.
            stream.prepare_reallocation()?;
            self.slice = None;
            let bytes = count * size_of::<T>();
            // SAFETY: elements are written, or zeroed, before a kernel reads them.
            let slice = unsafe { stream.raw.alloc(count.next_power_of_two().max(256)) };
            self.slice = Some(slice.map_err(|error| CudaError::Memory { bytes, error })?);
            // Another stream may use the memory first.
            stream.synchronize()?;
        }
        Ok(self.address(stream))
    }

    /// The address, or 0 if nothing was reserved.
    pub fn address(&self, stream: &GpuStream) -> Address {
        self.slice.as_ref().map_or(0, |slice| slice.device_ptr(&stream.raw).0)
    }

    /// Starts a copy of the first elements to the host.
    pub fn read_into(&self, stream: &GpuStream, to: &mut [T]) -> Result<(), CudaError> {
        let slice = self.slice.as_ref().expect("a reserved buffer");
        Ok(stream.raw.memcpy_dtoh(&slice.slice(0..to.len()), to)?)
    }

    /// Copies `values` to the start of the buffer.
    pub fn write(&mut self, stream: &GpuStream, values: &[T]) -> Result<Address, CudaError> {
        let address = self.reserve(stream, values.len())?;
        if !values.is_empty() {
            let slice = self.slice.as_mut().expect("reserved just now");
            stream.raw.memcpy_htod(values, &mut slice.slice_mut(0..values.len()))?;
        }
        Ok(address)
    }

    /// Copies the first `count` elements of `from` to the start of this buffer.
    pub fn copy_from(
        &mut self,
        stream: &GpuStream,
        from: &Buffer<T>,
        count: usize,
    ) -> Result<Address, CudaError> {
        let address = self.reserve(stream, count)?;
        stream.copy_words(address, from.address(stream), count * size_of::<T>())?;
        Ok(address)
    }
}

impl<T: DeviceRepr + ValidAsZeroBits> Buffer<T> {
    /// Reserves `count` elements and sets them to zero.
    pub fn reserve_zeroed(
        &mut self,
        stream: &GpuStream,
        count: usize,
    ) -> Result<Address, CudaError> {
        let address = self.reserve(stream, count)?;
        if count > 0 {
            let slice = self.slice.as_mut().expect("reserved just now");
            stream.raw.memset_zeros(&mut slice.slice_mut(0..count))?;
        }
        Ok(address)
    }
}

/// Pinned host memory that the device reads and writes directly; it grows on demand and is reused.
pub struct PinnedBuffer<T> {
    slice: Option<PinnedHostSlice<T>>,
    /// The host address: asking `slice` for it would wait for the device.
    host_address: usize,
    /// Recorded after the last queued copies.
    copied: Option<CudaEvent>,
}

impl<T> Default for PinnedBuffer<T> {
    fn default() -> Self {
        PinnedBuffer { slice: None, host_address: 0, copied: None }
    }
}

impl<T> PinnedBuffer<T> {
    /// Records that copies from or to this buffer are queued. The next access waits for them, and
    /// for nothing queued later.
    pub fn record_copies(&mut self, stream: &GpuStream) -> Result<(), CudaError> {
        let copied = match self.copied.take() {
            Some(copied) => copied,
            None => stream.gpu.event()?,
        };
        copied.record(&stream.raw)?;
        self.copied = Some(copied);
        Ok(())
    }

    fn wait(&self) -> Result<(), CudaError> {
        match &self.copied {
            Some(copied) => Ok(copied.synchronize()?),
            None => Ok(()),
        }
    }
}

impl<T> Drop for PinnedBuffer<T> {
    fn drop(&mut self) {
        // Errors of the GPU were reported where they occurred.
        let _ = self.wait();
    }
}

impl<T: DeviceRepr + ValidAsZeroBits + Clone + Default> PinnedBuffer<T> {
    /// The first `count` elements, once the queued copies are done. Grows on demand.
    pub fn reserve(&mut self, stream: &GpuStream, count: usize) -> Result<&mut [T], CudaError> {
        self.wait()?;
        if self.slice.as_ref().is_none_or(|slice| slice.len() < count) {
            let mut slice = stream.alloc_pinned::<T>(count.next_power_of_two().max(256))?;
            slice.as_mut_slice()?.fill(T::default());
            self.host_address = slice.as_mut_ptr()? as usize;
            self.slice = Some(slice);
        }
        let slice = self.slice.as_mut().expect("allocated just now");
        Ok(&mut slice.as_mut_slice()?[..count])
    }

    /// Queues a copy of `count` elements to the start of this buffer, which must be
    /// [`reserve`](PinnedBuffer::reserve)d. The caller calls
    /// [`record_copies`](PinnedBuffer::record_copies): inside a graph the copy is not yet queued.
    pub fn copy_from_device(
        &mut self,
        stream: &GpuStream,
        from: Address,
        count: usize,
    ) -> Result<(), CudaError> {
        let have = self.slice.as_ref().map_or(0, |slice| slice.len());
        assert!(count <= have, "a copy of {count} elements into a buffer of {have}");
        // The owner reads after `record_copies`. A pinned host address is valid on the device.
        stream.copy_words(self.host_address as Address, from, count * size_of::<T>())
    }

    /// The first `count` elements, once the queued copies are done.
    pub fn read(&self, count: usize) -> Result<Vec<T>, CudaError> {
        self.wait()?;
        let slice = self.slice.as_ref().expect("a reserved buffer");
        Ok(slice.as_slice()?[..count].to_vec())
    }
}
