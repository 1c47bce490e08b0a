//! Work that comes again is captured as two graphs, forward and backward, and replayed: two launches
//! instead of thirty.

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

/// Half of what a batch teaches: the device begins with the first while it is told of the second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Half {
    Forward,
    Backward,
}

/// Work that is remembered, at most.
const MOST: usize = 8;

/// The last works, and their graphs where they were captured; the last one at the end.
#[derive(Default)]
pub struct Replay {
    known: Vec<(Work, Option<[CudaGraph; 2]>)>,
}

// SAFETY: CUDA forbids that two threads use a graph at the same time, not that another thread uses it
// afterwards. This is the only one who has it, and it is not `Sync`.
unsafe impl Send for Replay {}

/// Whether work was done before.
pub enum Seen<'a> {
    Never,
    /// It was, and will come again.
    Once,
    Captured(&'a [CudaGraph; 2]),
}

impl Replay {
    pub fn of(&mut self, work: &Work) -> Seen<'_> {
        let Some(at) = self.known.iter().position(|(known, _)| known == work) else {
            return Seen::Never;
        };
        self.known[at..].rotate_left(1);
        match self.known.last() {
            Some((_, Some(graphs))) => Seen::Captured(graphs),
            _ => Seen::Once,
        }
    }

    /// Remembers work; what was done before rooms moved will not come again.
    pub fn saw(&mut self, work: Work) {
        self.known.retain(|(known, _)| known.moves == work.moves && *known != work);
        let most = self.known.len().min(MOST - 1);
        self.known.drain(..self.known.len() - most);
        self.known.push((work, None));
    }

    /// Keeps the graphs of the work that was asked for last.
    pub fn keep(&mut self, graphs: [CudaGraph; 2]) {
        self.known.last_mut().expect("work that was seen").1 = Some(graphs);
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
