//! What an engine on a GPU does with a batch: the network forward and backward, captured and replayed
//! where it comes again.

use super::ahead::Prefetched;
use super::chunks::{Chunks, Cut};
use super::device::{Address, Room};
use super::few::Input as FewInput;
use super::head::{self, Top};
use super::layer::{Call, Keep, Kernels, OnDevice, Outside, Reads};
use super::met::{Met, longest_first};
use super::replay::{self, Half, Seen, Work};
use super::scan::{MEASURED, Press};
use super::upload::{self, Placed, Sorting};
use super::{CudaError, CudaTrainer, LAYERS, SAID, update};
use crate::model::{Layer, When};
use crate::objective::StepShare;
use crate::{Batch, Fields, NextBatch, Regime, Transition};
use cudarc::driver::CudaGraph;

impl CudaTrainer {
    /// What layer l reads.
    fn reads(&self, l: usize, placed: &Placed) -> Reads {
        match l {
            0 if placed.distinct > 0 => {
                let at = self.params.address(&self.device);
                Reads::Tokens { embedding: at + 4 * self.layout.embedding.start as u64 }
            }
            0 => Reads::Vectors { at: placed.real, bottom: true },
            l => {
                let at = self.layers[l - 1].rooms.h.address(&self.device);
                Reads::Vectors { at, bottom: false }
            }
        }
    }

    /// The call of layer l: when its h, u and c are read by others.
    fn call_of(&self, l: usize, placed: &Placed, call: Call, fields: Fields) -> Call {
        let (top, from) = (l + 1 == self.layers.len(), self.arch.readout.from);
        let when = match self.arch.readout.when {
            When::Last => Keep::AtLast,
            When::EveryStep => Keep::Always,
        };
        let keep = |always: bool, read: bool| match (always, top && read) {
            (true, _) => Keep::Always,
            (false, true) => when,
            (false, false) => Keep::Never,
        };
        let (keep_h, keep_u) = (keep(fields.h || !top, from.h()), keep(fields.u, from.u()));
        let keep_c = keep(fields.c, from.c());
        Call { press: placed.presses[l], ..call.keeping([keep_h, keep_u, keep_c]) }
    }

    pub(super) fn layer_forward(
        &mut self,
        l: usize,
        placed: &Placed,
        call: Call,
        fields: Fields,
        draws: Address,
    ) -> Result<(), CudaError> {
        if placed.steps == 0 {
            return Ok(());
        }
        let params = self.params.address(&self.device);
        let (reads, call) = (self.reads(l, placed), self.call_of(l, placed, call, fields));
        let (device, products) = (&self.device, &mut self.products);
        self.layers[l].forward(device, products, params, placed, reads, call, draws)
    }

    /// The classifier; `press` is 0 where nothing is learned.
    pub(super) fn say(&mut self, placed: &Placed, press: Address) -> Result<(), CudaError> {
        let rooms = &self.layers[self.layers.len() - 1].rooms;
        let from = self.arch.readout.from;
        // A batch without a step has no rooms; what is read is still told from what is not.
        let at = |wanted: bool, room: &Room<f32>| {
            if wanted { room.address(&self.device).max(1) } else { 0 }
        };
        let top =
            Top { h: at(from.h(), &rooms.h), u: at(from.u(), &rooms.u), c: at(from.c(), &rooms.c) };
        let params = self.params.address(&self.device);
        let (device, products) = (&self.device, &mut self.products);
        self.head.say(device, products, &self.arch, &self.layout, params, placed, top, press)
    }

    /// Copies a batch and what may change with every update to the device, if they do not wait there.
    /// Returns the work, and the half that the device has not begun with.
    pub(super) fn send(
        &mut self,
        batch: &Batch,
        regime: &Regime,
    ) -> Result<(Work, Half), CudaError> {
        let update = self.updates + 1;
        match self.waiting.take() {
            Some(waiting) if waiting.is_for(batch, regime, update) => {
                Ok((waiting.work, waiting.from))
            }
            _ => Ok((self.place(batch, regime, update)?, Half::Forward)),
        }
    }

    /// The same for the update after the one under way, which is believed not to be lost; begins with
    /// what it does not change.
    pub(super) fn send_ahead(&mut self, ahead: NextBatch) -> Result<(), CudaError> {
        let update = self.updates + 2;
        let work = self.place(&ahead.batch, &ahead.regime, update)?;
        let from = match self.replay.of(&work) {
            Seen::Captured([forward, _]) => {
                forward.launch()?;
                Half::Backward
            }
            Seen::Once | Seen::Never => Half::Forward,
        };
        self.waiting = Some(Prefetched { ahead, update, work, from });
        Ok(())
    }

    /// Copies a batch and what may change with every update to where the last one was, when
    /// everything asked so far is done.
    fn place(&mut self, batch: &Batch, regime: &Regime, update: u64) -> Result<Work, CudaError> {
        let share = StepShare::of(batch, &self.arch);
        let press = |layer: &OnDevice| press(&layer.shape.layer, share, regime).words();
        let mut presses: Vec<Vec<u32>> = self.layers.iter().map(press).collect();
        presses.push(head::press(regime.margin, batch.total_weight()));
        presses.push(update::press(&self.optimiser, regime.learning_rate, update));
        let call = Call {
            transition: Transition::Mixture,
            lambda: if regime.lambda == 1.0 { 1.0 } else { 0.0 },
            commits: regime.commitment != 0.0,
            weighs_entropy: regime.entropy != 0.0,
            presses: regime.saturation != 0.0 || regime.writing != 0.0,
            learns: true,
            press: 0,
            keep_h: Keep::Never,
            keep_u: Keep::Never,
            keep_c: Keep::Never,
        };
        let order = longest_first(batch);
        let met = Met::of(batch, &order, self.arch.input.vocabulary());
        let input = self.input_of_few(upload::padded(met.tokens.distinct.len()), call)?;
        let sorting = match input {
            Some(FewInput::FewTokens) => Sorting::Not,
            _ => Sorting::ByToken,
        };
        let chunks = match input {
            Some(FewInput::ListedRows) => self.chunks(batch, met.tokens.distinct.len()),
            _ => Chunks::default(),
        };
        let (tokens, chunks) = ((&met.tokens, sorting), (chunks, &met.before[..]));
        let device = &self.device;
        let mut placed = self.upload.write(device, batch, &order, tokens, chunks, &presses)?;
        // Whether no kernel is told how many steps there are: then batches of about the same size are
        // the same work.
        let counts = input.is_none_or(|input| input == FewInput::Rows) || self.layers.len() > 1;
        if !counts && self.arch.readout.when == When::Last && placed.steps > 0 {
            placed.steps = placed.steps.next_power_of_two();
        }
        Ok(Work { placed, call, updates: true, moves: self.device.moves() })
    }

    /// How the scan of the bottom layer is cut.
    fn chunks(&self, batch: &Batch, distinct: usize) -> Chunks {
        let layer = &self.layers[0].shape.layer;
        let longest = (0..batch.rows()).map(|b| batch.row(b).len()).max().unwrap_or(0);
        let (distinct, processors) = (upload::padded(distinct), self.device.gpu.processors);
        let tokens = (distinct, layer.cell.blocks() * layer.units);
        match self.layers[0].shape.cut {
            Cut::WhereItPays if !self.device.gpu.tells_beginnings => Chunks::default(),
            Cut::WhereItPays => Chunks::of((batch.rows(), longest), tokens, processors),
            Cut::Always => Chunks::always(batch.rows(), distinct, processors),
        }
    }

    /// How the bottom layer reads, where it has the kernels for few centroids.
    fn input_of_few(&self, distinct: usize, call: Call) -> Result<Option<FewInput>, CudaError> {
        let placed = Placed { distinct, ..Placed::default() };
        let kernels =
            self.layers[0].kernels(&self.device, &placed, self.reads(0, &placed), call)?;
        Ok(match &*kernels {
            Kernels::Few(few) => Some(few.input),
            Kernels::Plain(_) | Kernels::Cluster(_) | Kernels::Any => None,
        })
    }

    /// Half of what a batch teaches.
    fn learn(&mut self, half: Half, work: &Work) -> Result<(), CudaError> {
        match half {
            Half::Forward => self.learn_forward(&work.placed, work.call),
            Half::Backward => self.learn_backward(&work.placed, work.call, work.updates),
        }
    }

    /// The network forward and what it says; beside that, `grads` and the report are cleared.
    fn learn_forward(&mut self, placed: &Placed, call: Call) -> Result<(), CudaError> {
        let (beside, reported) = (self.device.fork()?, self.reported());
        for l in 0..self.layers.len() {
            self.layer_forward(l, placed, call, Fields::default(), 0)?;
        }
        // After what scans wait for there.
        self.grads.clear(&beside, self.layout.len)?;
        self.report.clear(&beside, reported)?;
        self.say(placed, placed.presses[self.layers.len()])?;
        self.device.join()
    }

    /// The gradients of a batch, into `grads`; the parts of the loss into the report; and, where
    /// it is asked for, an update.
    fn learn_backward(
        &mut self,
        placed: &Placed,
        call: Call,
        updates: bool,
    ) -> Result<(), CudaError> {
        let params = self.params.address(&self.device);
        let (grads, report) = (self.grads.address(&self.device), self.report.address(&self.device));
        let (reported, press) = (self.reported(), placed.presses[self.layers.len()]);
        let beside = self.device.fork()?;
        let (arch, layout, both) = (&self.arch, &self.layout, (params, grads));
        let (device, products) = (&self.device, &mut self.products);
        let said = report + 8 * SAID as u64;
        let devices = (device, &beside);
        let mut out =
            self.head.learn(devices, products, arch, layout, both, placed, press, said)?;
        for l in (0..self.layers.len()).rev().filter(|_| placed.steps > 0) {
            let (reads, call) =
                (self.reads(l, placed), self.call_of(l, placed, call, Fields::default()));
            let measured = report + 8 * (LAYERS + l * MEASURED) as u64;
            let (device, products) = (&self.device, &mut self.products);
            let layer = &mut self.layers[l];
            layer.backward(device, products, both, placed, reads, call, out, measured)?;
            if l > 0 {
                let dh = layer.d_below(device, products, params, placed.steps)?;
                let stride = self.arch.width_below(l);
                out = Outside { dh, stride, every_step: true, ..Outside::default() };
            }
        }
        self.device.join()?;
        if updates {
            let count = self.layout.len;
            let rooms = (params, self.moments.address(&self.device), grads);
            let rates = placed.presses[self.layers.len() + 1];
            let report = (report, reported);
            self.update.update(&self.device, &self.optimiser, rooms, count, report, rates)?;
        }
        self.told.ask(&self.device, report, reported)
    }

    /// [`learn`](CudaTrainer::learn), replayed from a half on where it was captured, else from the first on.
    pub(super) fn learn_again(&mut self, work: Work, from: Half) -> Result<(), CudaError> {
        match self.replay.of(&work) {
            Seen::Captured(graphs) => {
                graphs[from as usize..].iter().try_for_each(|graph| graph.launch())?;
            }
            Seen::Once => {
                let graphs =
                    [self.capture(Half::Forward, &work)?, self.capture(Half::Backward, &work)?];
                graphs.iter().try_for_each(|graph| graph.launch())?;
                self.replay.keep(graphs);
            }
            Seen::Never => {
                self.learn(Half::Forward, &work)?;
                self.learn(Half::Backward, &work)?;
                // Rooms may have moved while they grew.
                self.replay.saw(Work { moves: self.device.moves(), ..work });
            }
        }
        // Not in the graph: the host waits for it.
        self.told.asked(&self.device)
    }

    fn capture(&mut self, half: Half, work: &Work) -> Result<CudaGraph, CudaError> {
        replay::begin(&self.device)?;
        let learned = self.learn(half, work);
        let graph = replay::end(&self.device);
        learned?;
        graph
    }
}

/// What of a regime acts on a layer.
fn press(layer: &Layer, share: StepShare, regime: &Regime) -> Press {
    let d = layer.units as f64;
    let tau = layer.centroids.map_or(1.0, |centroids| centroids.tau.get()) * regime.tau;
    Press {
        lambda: if layer.centroids.is_some() { regime.lambda as f32 } else { 0.0 },
        inv_tau: (1.0 / tau) as f32,
        commitment: (share.stochastic * regime.commitment / d) as f32,
        entropy: (share.stochastic * regime.entropy) as f32,
        saturation: (share.all * regime.saturation / d) as f32,
        writing: (share.all * regime.writing / d) as f32,
    }
}
