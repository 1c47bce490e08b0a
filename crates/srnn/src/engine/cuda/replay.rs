//! Work that comes again is captured as a graph, and replayed: one launch instead of thirty.

use super::CudaError;
use super::device::Device;
use super::layer::Call;
use super::upload::Placed;
use cudarc::driver::CudaGraph;
use cudarc::driver::sys::{CUgraphInstantiate_flags, CUstreamCaptureMode};

/// Everything that decides what is launched, and with which arguments.
#[derive(Clone, Debug, PartialEq)]
pub struct Work {
    pub placed: Placed,
    pub call: Call,
    pub updates: bool,
    /// How often rooms had moved.
    pub moves: u64,
}

/// The last work, and its graph if it was captured.
#[derive(Default)]
pub struct Replay {
    last: Option<Work>,
    graph: Option<CudaGraph>,
}

// SAFETY: CUDA forbids that two threads use a graph at the same time, not that another thread uses it
// afterwards. This is the only one who has it, and it is not `Sync`.
unsafe impl Send for Replay {}

/// Whether the last work was this.
pub enum Seen<'a> {
    Never,
    /// It was, and will come again.
    Once,
    Captured(&'a CudaGraph),
}

impl Replay {
    pub fn of(&self, work: &Work) -> Seen<'_> {
        match (&self.last, &self.graph) {
            (Some(last), Some(graph)) if last == work => Seen::Captured(graph),
            (Some(last), None) if last == work => Seen::Once,
            _ => Seen::Never,
        }
    }

    pub fn saw(&mut self, work: Work) {
        (self.last, self.graph) = (Some(work), None);
    }

    pub fn keep(&mut self, work: Work, graph: CudaGraph) {
        (self.last, self.graph) = (Some(work), Some(graph));
    }
}

/// From here on, launches are noted down instead of made.
pub fn begin(device: &Device) -> Result<(), CudaError> {
    let mode = CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
    Ok(device.stream.begin_capture(mode)?)
}

/// What was noted down.
pub fn end(device: &Device) -> Result<CudaGraph, CudaError> {
    let graph = device.stream.end_capture(CUgraphInstantiate_flags(0))?;
    Ok(graph.expect("a stream that was capturing"))
}
