//! Steps that repeat are captured as two CUDA graphs, forward and backward, and replayed: two
//! launches instead of thirty.

use super::CudaError;
use super::gpu::GpuStream;
use super::layer::LayerCall;
use super::upload::DeviceBatch;
use cudarc::driver::sys::{CUgraphInstantiate_flags, CUresult, CUstreamCaptureMode};
use cudarc::driver::{CudaGraph, DriverError};

/// Everything that determines which kernels a step launches, and with which arguments.
#[derive(Clone, Debug, PartialEq)]
pub struct StepSpec {
    pub device_batch: DeviceBatch,
    pub call: LayerCall,
    pub updates: bool,
    /// The number of buffer reallocations when the step was planned.
    pub reallocations: u64,
}

/// The two passes of a step. The forward pass of the next batch can start before that step is
/// requested.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pass {
    Forward,
    Backward,
}

/// Largest number of remembered steps.
const MAX_REMEMBERED: usize = 8;

/// The last steps and, where captured, their graphs; the most recent last.
#[derive(Default)]
pub struct GraphCache {
    known: Vec<(StepSpec, Option<[CudaGraph; 2]>)>,
}

// SAFETY: CUDA forbids concurrent use of a graph by two threads, not use by another thread later.
// This is the only owner, and it is not `Sync`.
unsafe impl Send for GraphCache {}

/// Whether a step was run before.
pub enum Seen<'a> {
    Never,
    /// Run before, without capture: likely to repeat.
    Once,
    Captured(&'a [CudaGraph; 2]),
}

impl GraphCache {
    pub fn lookup(&mut self, spec: &StepSpec) -> Seen<'_> {
        let Some(at) = self.known.iter().position(|(known, _)| known == spec) else {
            return Seen::Never;
        };
        self.known[at..].rotate_left(1);
        match self.known.last() {
            Some((_, Some(graphs))) => Seen::Captured(graphs),
            _ => Seen::Once,
        }
    }

    /// Remembers a step. Steps from before the last reallocation are dropped: they cannot repeat.
    pub fn remember(&mut self, spec: StepSpec) {
        self.known.retain(|(known, _)| known.reallocations == spec.reallocations && *known != spec);
        let most = self.known.len().min(MAX_REMEMBERED - 1);
        self.known.drain(..self.known.len() - most);
        self.known.push((spec, None));
    }

    /// Stores the graphs of the step that was looked up last.
    pub fn keep(&mut self, graphs: [CudaGraph; 2]) {
        self.known.last_mut().expect("a remembered step").1 = Some(graphs);
    }
}

/// Starts a capture: launches are recorded instead of executed.
pub fn begin_capture(stream: &GpuStream) -> Result<(), CudaError> {
    let mode = CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
    Ok(stream.raw.begin_capture(mode)?)
}

/// Ends the capture and returns its graph.
pub fn end_capture(stream: &GpuStream) -> Result<CudaGraph, CudaError> {
    let graph = stream.raw.end_capture(CUgraphInstantiate_flags(0))?;
    let ended = CUresult::CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    Ok(graph.ok_or(DriverError(ended))?)
}
