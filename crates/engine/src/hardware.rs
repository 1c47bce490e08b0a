//! The device that trains, chosen at run time.
//!
//! Only training uses it. Automata are extracted from, and proofs hold for, the engine `cpu`.

use super::Trainer;
use super::cpu::{CpuTrainer, SimdLevel};
#[cfg(feature = "cuda")]
use super::cuda::{CudaTrainer, Gpu};
use crate::device_error::DeviceError;
use crate::model::Model;
use crate::optimiser::Optimiser;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;
#[cfg(feature = "cuda")]
use std::sync::Arc;

/// A device with its number of threads.
#[derive(Clone, Debug)]
pub struct Hardware {
    /// The device that computes updates.
    pub device: Device,
    /// Number of CPU threads. It changes the speed and no result.
    pub threads: usize,
}

/// A device that computes updates.
#[derive(Clone)]
pub enum Device {
    /// The CPU.
    Cpu,
    /// An NVIDIA GPU, shared by all engines that use it.
    #[cfg(feature = "cuda")]
    Cuda(Arc<Gpu>),
}

/// A device by its name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DeviceName {
    /// The CPU: the same bits on every machine with the same instruction set.
    #[default]
    Cpu,
    /// An NVIDIA GPU.
    Cuda,
    /// A GPU if there is one, else the CPU.
    Auto,
}

/// A name that is none of the devices.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown device {0:?}: cpu, cuda or auto")]
pub struct UnknownDevice(pub String);

impl Hardware {
    /// The CPU with `threads` threads.
    pub const fn cpu(threads: usize) -> Hardware {
        Hardware { device: Device::Cpu, threads }
    }

    /// A trainer that starts from `model`.
    pub fn trainer(
        &self,
        model: &Model<f32>,
        optimiser: Optimiser,
    ) -> Result<Box<dyn Trainer<f32> + Send>, DeviceError> {
        match &self.device {
            Device::Cpu => Ok(Box::new(CpuTrainer::new(model, optimiser, self.threads))),
            #[cfg(feature = "cuda")]
            Device::Cuda(gpu) => Ok(Box::new(CudaTrainer::new(gpu, model, optimiser)?)),
        }
    }

    /// The same device with the threads divided among `workers` concurrent trainings.
    pub fn shared_by(&self, workers: usize) -> Hardware {
        Hardware { device: self.device.clone(), threads: (self.threads / workers).max(1) }
    }
}

impl Device {
    /// The name that opens this device.
    pub fn name(&self) -> DeviceName {
        match self {
            Device::Cpu => DeviceName::Cpu,
            #[cfg(feature = "cuda")]
            Device::Cuda(_) => DeviceName::Cuda,
        }
    }
}

impl DeviceName {
    /// Opens the device.
    pub fn open(self) -> Result<Device, DeviceError> {
        match self {
            DeviceName::Cpu => Ok(Device::Cpu),
            DeviceName::Cuda => gpu(),
            DeviceName::Auto => match gpu() {
                Err(error) if error.means_no_device() => Ok(Device::Cpu),
                found => found,
            },
        }
    }
}

#[cfg(feature = "cuda")]
fn gpu() -> Result<Device, DeviceError> {
    Ok(Device::Cuda(Gpu::open()?))
}

#[cfg(not(feature = "cuda"))]
fn gpu() -> Result<Device, DeviceError> {
    Err(DeviceError::NotBuilt)
}

/// What decides the bits: `cpu, avx-512`, or `cuda, NVIDIA H200`.
impl fmt::Display for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Device::Cpu => write!(f, "cpu, {}", SimdLevel::best()),
            #[cfg(feature = "cuda")]
            Device::Cuda(gpu) => write!(f, "cuda, {}", gpu.name()),
        }
    }
}

impl fmt::Debug for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// All of it: `cpu, avx-512, 2 threads`, or `cuda, NVIDIA H200`.
impl fmt::Display for Hardware {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Hardware { device, threads } = self;
        match device {
            Device::Cpu if *threads == 1 => write!(f, "{device}, 1 thread"),
            Device::Cpu => write!(f, "{device}, {threads} threads"),
            #[cfg(feature = "cuda")]
            Device::Cuda(_) => device.fmt(f),
        }
    }
}

impl fmt::Display for DeviceName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            DeviceName::Cpu => "cpu",
            DeviceName::Cuda => "cuda",
            DeviceName::Auto => "auto",
        })
    }
}

impl FromStr for DeviceName {
    type Err = UnknownDevice;

    fn from_str(text: &str) -> Result<DeviceName, UnknownDevice> {
        let all = [DeviceName::Cpu, DeviceName::Cuda, DeviceName::Auto];
        let named = all.into_iter().find(|choice| choice.to_string() == text);
        named.ok_or_else(|| UnknownDevice(text.into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_is_chosen_by_its_name_and_no_other() {
        for (text, choice) in
            [("cpu", DeviceName::Cpu), ("cuda", DeviceName::Cuda), ("auto", DeviceName::Auto)]
        {
            assert_eq!(text.parse(), Ok(choice));
            assert_eq!(serde_json::to_string(&choice).unwrap(), format!("\"{choice}\""));
        }
        for text in ["", "CPU", "gpu", "cuda:0"] {
            let error = text.parse::<DeviceName>().unwrap_err();
            assert_eq!(error.to_string(), format!("unknown device {text:?}: cpu, cuda or auto"));
        }
    }

    #[test]
    fn auto_opens_the_gpu_or_else_the_cpu() {
        let auto = DeviceName::Auto.open().unwrap();
        match DeviceName::Cuda.open() {
            Ok(device) => assert_eq!(auto.to_string(), device.to_string()),
            Err(error) => {
                assert_eq!(auto.name(), DeviceName::Cpu);
                let line = error.to_string();
                assert!(line.contains("use --device cpu") && !line.contains('\n'), "{line}");
            }
        }
    }

    #[test]
    fn hardware_is_displayed_with_its_share_of_the_threads() {
        let level = SimdLevel::best();
        let hardware = Hardware::cpu(5);
        assert_eq!(hardware.to_string(), format!("cpu, {level}, 5 threads"));
        assert_eq!(hardware.shared_by(2).to_string(), format!("cpu, {level}, 2 threads"));
        assert_eq!(hardware.shared_by(8).to_string(), format!("cpu, {level}, 1 thread"));
        assert_eq!(hardware.device.to_string(), format!("cpu, {level}"));
    }
}
