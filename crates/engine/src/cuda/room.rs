//! Memory that is used again: on the device, and on the host where the device reaches it.

use super::CudaError;
use super::device::{Address, Device};
use cudarc::driver::{
    CudaEvent, CudaSlice, DevicePtr, DeviceRepr, PinnedHostSlice, ValidAsZeroBits,
};

/// Memory on the device that grows to what is needed and is used again.
pub struct Room<T> {
    slice: Option<CudaSlice<T>>,
}

impl<T> Default for Room<T> {
    fn default() -> Self {
        Room { slice: None }
    }
}

impl<T: DeviceRepr> Room<T> {
    /// Makes room for `count` numbers; what was in it may be lost. Returns where it is.
    pub fn fit(&mut self, device: &Device, count: usize) -> Result<Address, CudaError> {
        let have = self.slice.as_ref().map_or(0, |slice| slice.len());
        if count > have {
            // A graph or a kernel may still be at work in the old room.
            device.moving()?;
            self.slice = None;
            let bytes = count * size_of::<T>();
            // SAFETY: every kernel writes what it or another reads, or the room is cleared.
            let slice = unsafe { device.stream.alloc(count.next_power_of_two().max(256)) };
            self.slice = Some(slice.map_err(|error| CudaError::Memory { bytes, error })?);
            // Another stream may be the first to use it.
            device.wait()?;
        }
        Ok(self.address(device))
    }

    /// Where it is; nothing where it was never fitted.
    pub fn address(&self, device: &Device) -> Address {
        self.slice.as_ref().map_or(0, |slice| slice.device_ptr(&device.stream).0)
    }

    /// Copies its first numbers to the host.
    pub fn copy(&self, device: &Device, to: &mut [T]) -> Result<(), CudaError> {
        let slice = self.slice.as_ref().expect("a room that was fitted");
        Ok(device.stream.memcpy_dtoh(&slice.slice(0..to.len()), to)?)
    }

    /// Copies numbers to its beginning.
    pub fn write(&mut self, device: &Device, values: &[T]) -> Result<Address, CudaError> {
        let address = self.fit(device, values.len())?;
        if !values.is_empty() {
            let slice = self.slice.as_mut().expect("fitted just now");
            device.stream.memcpy_htod(values, &mut slice.slice_mut(0..values.len()))?;
        }
        Ok(address)
    }

    /// Copies the first numbers of another room to its beginning.
    pub fn take(
        &mut self,
        device: &Device,
        from: &Room<T>,
        count: usize,
    ) -> Result<Address, CudaError> {
        let address = self.fit(device, count)?;
        device.copy(address, from.address(device), count * size_of::<T>())?;
        Ok(address)
    }
}

impl<T: DeviceRepr + ValidAsZeroBits> Room<T> {
    /// Makes room for `count` zeros.
    pub fn clear(&mut self, device: &Device, count: usize) -> Result<Address, CudaError> {
        let address = self.fit(device, count)?;
        if count > 0 {
            let slice = self.slice.as_mut().expect("fitted just now");
            device.stream.memset_zeros(&mut slice.slice_mut(0..count))?;
        }
        Ok(address)
    }
}

/// Memory of the host that the device reads and writes by itself; it grows to what is needed and is
/// used again.
pub struct Pinned<T> {
    slice: Option<PinnedHostSlice<T>>,
    /// Where it is: asking the slice would wait for the device.
    at: usize,
    /// Comes when the copies asked for last are done.
    copied: Option<CudaEvent>,
}

impl<T> Default for Pinned<T> {
    fn default() -> Self {
        Pinned { slice: None, at: 0, copied: None }
    }
}

impl<T> Pinned<T> {
    /// Copies from it or to it have been asked for: whoever touches it next waits for them, and for
    /// nothing that is asked for later.
    pub fn asked(&mut self, device: &Device) -> Result<(), CudaError> {
        let copied = match self.copied.take() {
            Some(copied) => copied,
            None => device.gpu.event()?,
        };
        copied.record(&device.stream)?;
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

impl<T> Drop for Pinned<T> {
    fn drop(&mut self) {
        // A GPU that fails has been reported where it failed, and copies no more.
        let _ = self.wait();
    }
}

impl<T: DeviceRepr + ValidAsZeroBits + Clone + Default> Pinned<T> {
    /// Room for `count` numbers, once the device has read what was in it.
    pub fn fit(&mut self, device: &Device, count: usize) -> Result<&mut [T], CudaError> {
        self.wait()?;
        if self.slice.as_ref().is_none_or(|slice| slice.len() < count) {
            let mut slice = device.pin::<T>(count.next_power_of_two().max(256))?;
            slice.as_mut_slice()?.fill(T::default());
            self.at = slice.as_mut_ptr()? as usize;
            self.slice = Some(slice);
        }
        let slice = self.slice.as_mut().expect("allocated just now");
        Ok(&mut slice.as_mut_slice()?[..count])
    }

    /// Asks the device to copy numbers to its beginning, of what was [`fit`](Pinned::fit)ted; the
    /// caller says when that is [`asked`](Pinned::asked), because in a graph it is not yet.
    pub fn ask(&mut self, device: &Device, from: Address, count: usize) -> Result<(), CudaError> {
        let have = self.slice.as_ref().map_or(0, |slice| slice.len());
        assert!(count <= have, "room for {count} numbers where there is some for {have}");
        // Its owner reads it when the device is done; an address of the host is one of the device's.
        device.copy(self.at as Address, from, count * size_of::<T>())
    }

    /// The first numbers, once the device has written them.
    pub fn told(&self, count: usize) -> Result<Vec<T>, CudaError> {
        self.wait()?;
        let slice = self.slice.as_ref().expect("a room that was fitted");
        Ok(slice.as_slice()?[..count].to_vec())
    }
}
