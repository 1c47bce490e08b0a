//! One training step: upload, forward and backward pass, update; captured as graphs and replayed
//! where steps repeat.

use super::chunks::{ChunkPolicy, TimeChunks};
use super::dropout::mask_words;
use super::gpu::{Address, Buffer};
use super::graphs::{self, Pass, Seen, StepSpec};
use super::head::{self, TopStates};
use super::layer::{
    CudaLayer, FirstState, LayerCall, LayerInput, LayerKernels, OutputGrads, ParamAddresses,
    StoreWhen,
};
use super::prefetch::Prefetched;
use super::scan_args::{LOSS_TERMS, LayerCoefficients};
use super::small_k::InputMode;
use super::token_order::{TokensByFirstUse, longest_first};
use super::upload::{self, DeviceBatch, TokenSort};
use super::{CudaError, CudaTrainer, LAYERS_AT, READOUTS_AT, update};
use crate::layer_state::RowStart;
use crate::model::{Layer, When};
use crate::objective::StepShare;
use crate::{Batch, Fields, NextBatch, Regime, Transition};
use cudarc::driver::CudaGraph;

impl CudaTrainer {
    /// The input of layer l.
    fn layer_input(&self, l: usize, device_batch: &DeviceBatch) -> LayerInput {
        match l {
            0 if device_batch.distinct > 0 => {
                let embedding = match device_batch.dropout.masked_embedding {
                    0 => self.embedding(self.params.address(&self.stream)),
                    masked => masked,
                };
                LayerInput::Tokens { embedding }
            }
            0 => LayerInput::Vectors { at: device_batch.real, bottom: true },
            l => {
                let at = self.layers[l - 1].buffers.h.address(&self.stream);
                LayerInput::Vectors { at, bottom: false }
            }
        }
    }

    /// The call of layer l, with the steps at which its h, u and c are stored.
    fn call_of(
        &self,
        l: usize,
        device_batch: &DeviceBatch,
        call: LayerCall,
        fields: Fields,
    ) -> LayerCall {
        let (top, from) = (l + 1 == self.layers.len(), self.arch.readout.from);
        let when = match self.arch.readout.when {
            When::Last => StoreWhen::LastStep,
            When::EveryStep => StoreWhen::EveryStep,
        };
        let store = |always: bool, read: bool| match (always, top && read) {
            (true, _) => StoreWhen::EveryStep,
            (false, true) => when,
            (false, false) => StoreWhen::Never,
        };
        let (keeps_last, first) = (call.start == RowStart::Given, device_batch.first_states.get(l));
        let store_h = store(fields.h || !top || keeps_last, from.h());
        let (store_u, store_c) = (store(fields.u, from.u()), store(fields.c, from.c()));
        LayerCall {
            coefficients: device_batch.coefficients[l],
            first: first.copied().unwrap_or_default(),
            ..call.storing([store_h, store_u, store_c])
        }
    }

    pub(super) fn layer_forward(
        &mut self,
        l: usize,
        device_batch: &DeviceBatch,
        call: LayerCall,
        fields: Fields,
        draws: Address,
    ) -> Result<(), CudaError> {
        if device_batch.steps == 0 {
            return Ok(());
        }
        let params = self.params.address(&self.stream);
        let (layer_input, call) =
            (self.layer_input(l, device_batch), self.call_of(l, device_batch, call, fields));
        let (stream, ops) = (&self.stream, &mut self.ops);
        let layer = &mut self.layers[l];
        layer.forward(stream, ops, params, device_batch, layer_input, call, draws)?;
        if call.start == RowStart::Given { layer.gather_last(stream, device_batch) } else { Ok(()) }
    }

    /// Runs the classifier. `scale` is 0 where no gradients are needed.
    pub(super) fn run_classifier(
        &mut self,
        device_batch: &DeviceBatch,
        scale: Address,
    ) -> Result<(), CudaError> {
        let buffers = &self.layers[self.layers.len() - 1].buffers;
        let from = self.arch.readout.from;
        // Without steps nothing is reserved; a non-null address still marks a vector that is read.
        let at = |wanted: bool, buffer: &Buffer<f32>| {
            if wanted { buffer.address(&self.stream).max(1) } else { 0 }
        };
        let top = TopStates {
            h: at(from.h(), &buffers.h),
            u: at(from.u(), &buffers.u),
            c: at(from.c(), &buffers.c),
        };
        let params = self.params.address(&self.stream);
        let (stream, ops) = (&self.stream, &mut self.ops);
        self.head.forward(stream, ops, &self.arch, &self.layout, params, device_batch, top, scale)
    }

    /// Uses the prefetched batch if it is this one, else uploads the batch. Returns the step and
    /// its first pass that is not yet queued.
    pub(super) fn take_prefetched_or_upload(
        &mut self,
        batch: &Batch,
        regime: &Regime,
    ) -> Result<(StepSpec, Pass), CudaError> {
        let update = self.updates + 1;
        self.rows_with_states =
            if batch.row_start(&self.arch) == RowStart::Given { batch.rows() } else { 0 };
        match self.prefetched.take() {
            Some(prefetched) if prefetched.is_for(batch, regime, update) => {
                Ok((prefetched.spec, prefetched.from))
            }
            _ => Ok((self.upload_batch(batch, regime, update)?, Pass::Forward)),
        }
    }

    /// Uploads the batch of the next update, assuming that the current update is applied. Queues
    /// its forward pass if that is captured.
    pub(super) fn prefetch(&mut self, next: NextBatch) -> Result<(), CudaError> {
        let update = self.updates + 2;
        let spec = self.upload_batch(&next.batch, &next.regime, update)?;
        let from = match self.graphs.lookup(&spec) {
            Seen::Captured([forward, _]) => {
                forward.launch()?;
                Pass::Backward
            }
            Seen::Once | Seen::Never => Pass::Forward,
        };
        self.prefetched = Some(Prefetched { next, update, spec, from });
        Ok(())
    }

    /// Uploads a batch and the coefficients of this update. The copy runs after all work queued so
    /// far.
    fn upload_batch(
        &mut self,
        batch: &Batch,
        regime: &Regime,
        update: u64,
    ) -> Result<StepSpec, CudaError> {
        let share = StepShare::of(batch, &self.arch);
        let words =
            |layer: &CudaLayer| layer_coefficients(&layer.shape.layer, share, regime).words();
        let mut coefficients: Vec<Vec<u32>> = self.layers.iter().map(words).collect();
        coefficients.push(head::loss_scale_words(regime.margin, batch.total_weight()));
        coefficients.push(update::rates_words(&self.optimiser, regime.learning_rate, update));
        let masks = [regime.dropout.readout_mask(), regime.dropout.embedding_mask()];
        coefficients.extend(masks.map(mask_words));
        let call = LayerCall {
            transition: Transition::Mixture,
            lambda: if regime.lambda == 1.0 { 1.0 } else { 0.0 },
            has_commitment: regime.commitment != 0.0,
            has_entropy: regime.entropy != 0.0,
            gate_penalty: regime.saturation != 0.0 || regime.writing != 0.0,
            saves_for_backward: true,
            start: batch.row_start(&self.arch),
            coefficients: 0,
            first: FirstState::default(),
            store_h: StoreWhen::Never,
            store_u: StoreWhen::Never,
            store_c: StoreWhen::Never,
        };
        let order = longest_first(batch);
        let first_use = TokensByFirstUse::of(batch, &order, self.arch.input.vocabulary());
        let input = self.small_k_input(upload::padded(first_use.tokens.distinct.len()), call)?;
        let sorting = match input {
            Some(InputMode::FewTokens) => TokenSort::Skip,
            _ => TokenSort::ByToken,
        };
        let chunks = match input {
            Some(InputMode::TokenRows) => self.chunks(batch, first_use.tokens.distinct.len()),
            _ => TimeChunks::default(),
        };
        let (tokens, chunks) = ((&first_use.tokens, sorting), (chunks, &first_use.before[..]));
        let stream = &self.stream;
        let mut device_batch =
            self.upload.send(stream, batch, &order, tokens, chunks, &coefficients)?;
        device_batch.dropout = self.device_dropout(&device_batch, masks)?;
        // If no kernel argument depends on the number of steps, round it up: then batches of
        // similar size are the same step.
        let depends_on_steps =
            input.is_none_or(|input| input == InputMode::StepRows) || self.layers.len() > 1;
        if !depends_on_steps && self.arch.readout.when == When::Last && device_batch.steps > 0 {
            device_batch.steps = device_batch.steps.next_power_of_two();
        }
        Ok(StepSpec {
            device_batch,
            call,
            updates: true,
            reallocations: self.stream.reallocations(),
        })
    }

    /// The chunks of the bottom layer's scan.
    fn chunks(&self, batch: &Batch, distinct: usize) -> TimeChunks {
        let layer = &self.layers[0].shape.layer;
        let longest = (0..batch.rows()).map(|b| batch.row(b).len()).max().unwrap_or(0);
        let (distinct, processors) = (upload::padded(distinct), self.stream.gpu.processors);
        let tokens = (distinct, layer.cell.blocks() * layer.units);
        match self.layers[0].shape.chunking {
            ChunkPolicy::WhenProfitable if !self.stream.gpu.launch_completion_events => {
                TimeChunks::default()
            }
            ChunkPolicy::WhenProfitable => {
                TimeChunks::of((batch.rows(), longest), tokens, processors)
            }
            ChunkPolicy::Always => TimeChunks::always(batch.rows(), distinct, processors),
        }
    }

    /// How the bottom layer reads its input, if it uses the kernels for few centroids.
    fn small_k_input(
        &self,
        distinct: usize,
        call: LayerCall,
    ) -> Result<Option<InputMode>, CudaError> {
        let device_batch = DeviceBatch { distinct, ..DeviceBatch::default() };
        let kernels = self.layers[0].kernels(
            &self.stream,
            &device_batch,
            self.layer_input(0, &device_batch),
            call,
        )?;
        Ok(match &*kernels {
            LayerKernels::SmallK(small_k) => Some(small_k.input),
            LayerKernels::Vanilla(_)
            | LayerKernels::Cluster(_)
            | LayerKernels::Stepwise
            | LayerKernels::Generic => None,
        })
    }

    /// Launches one pass.
    fn run_pass(&mut self, pass: Pass, spec: &StepSpec) -> Result<(), CudaError> {
        match pass {
            Pass::Forward => self.forward_pass(&spec.device_batch, spec.call),
            Pass::Backward => self.backward_pass(&spec.device_batch, spec.call, spec.updates),
        }
    }

    /// The forward pass of the network and the classifier. The side stream zeroes `grads` and the
    /// report.
    pub(super) fn forward_pass(
        &mut self,
        device_batch: &DeviceBatch,
        call: LayerCall,
    ) -> Result<(), CudaError> {
        let from = self.embedding(self.params.address(&self.stream));
        self.drop_embedding(device_batch, (from, device_batch.dropout.masked_embedding))?;
        let (side, report_len) = (self.stream.fork()?, self.report_len());
        for l in 0..self.layers.len() {
            self.layer_forward(l, device_batch, call, Fields::default(), 0)?;
        }
        // Queued after the producers that scans wait for in the side stream.
        self.grads.reserve_zeroed(&side, self.layout.len)?;
        self.head.zero_tied_grads(&side, &self.arch)?;
        self.report.reserve_zeroed(&side, report_len)?;
        self.run_classifier(device_batch, device_batch.coefficients[self.layers.len()])?;
        self.stream.join()
    }

    /// The backward pass: gradients into `grads`, loss terms into the report and, if `updates`, the
    /// parameter update.
    fn backward_pass(
        &mut self,
        device_batch: &DeviceBatch,
        call: LayerCall,
        updates: bool,
    ) -> Result<(), CudaError> {
        let params = self.params.address(&self.stream);
        let (grads, report) = (self.grads.address(&self.stream), self.report.address(&self.stream));
        let (report_len, scale) = (self.report_len(), device_batch.coefficients[self.layers.len()]);
        let side = self.stream.fork()?;
        let (arch, layout, addresses) =
            (&self.arch, &self.layout, ParamAddresses { params, grads });
        let (stream, ops) = (&self.stream, &mut self.ops);
        let readout_sums = report + 8 * READOUTS_AT as u64;
        let streams = (stream, &side);
        let mut out = self.head.backward(
            streams,
            ops,
            arch,
            layout,
            addresses,
            device_batch,
            scale,
            readout_sums,
        )?;
        for l in (0..self.layers.len()).rev().filter(|_| device_batch.steps > 0) {
            let (layer_input, call) = (
                self.layer_input(l, device_batch),
                self.call_of(l, device_batch, call, Fields::default()),
            );
            let loss_terms = report + 8 * (LAYERS_AT + l * LOSS_TERMS) as u64;
            let (stream, ops) = (&self.stream, &mut self.ops);
            let layer = &mut self.layers[l];
            layer.backward(
                stream,
                ops,
                addresses,
                device_batch,
                layer_input,
                call,
                out,
                loss_terms,
            )?;
            if l > 0 {
                let dh = layer.input_grads_below(stream, ops, params, device_batch.steps)?;
                let stride = self.arch.width_below(l);
                out = OutputGrads { dh, stride, every_step: true, ..OutputGrads::default() };
            }
        }
        self.stream.join()?;
        let d_embedding = self.embedding(grads);
        self.drop_embedding(device_batch, (d_embedding, d_embedding))?;
        if let Some(sum) = self.head.tied_sum(&self.stream, &self.arch, d_embedding) {
            self.ops.run_all(&self.stream, &[sum])?;
        }
        if updates {
            let count = self.layout.len;
            let buffers = (params, self.moments.address(&self.stream), grads);
            let rates = device_batch.coefficients[self.layers.len() + 1];
            let report = (report, report_len);
            self.update.update(&self.stream, &self.optimiser, buffers, count, report, rates)?;
        }
        self.host_report.copy_from_device(&self.stream, report, report_len)
    }

    /// Runs a step from pass `from` on if it is captured, else both passes. A step that was run
    /// once before is captured.
    pub(super) fn run_or_replay(&mut self, spec: StepSpec, from: Pass) -> Result<(), CudaError> {
        match self.graphs.lookup(&spec) {
            Seen::Captured(graphs) => {
                graphs[from as usize..].iter().try_for_each(|graph| graph.launch())?;
            }
            Seen::Once => {
                let graphs =
                    [self.capture(Pass::Forward, &spec)?, self.capture(Pass::Backward, &spec)?];
                graphs.iter().try_for_each(|graph| graph.launch())?;
                self.graphs.keep(graphs);
            }
            Seen::Never => {
                self.run_pass(Pass::Forward, &spec)?;
                self.run_pass(Pass::Backward, &spec)?;
                // Buffers may have grown.
                self.graphs
                    .remember(StepSpec { reallocations: self.stream.reallocations(), ..spec });
            }
        }
        // Outside the graph: the host waits for this event.
        self.host_report.record_copies(&self.stream)
    }

    fn capture(&mut self, pass: Pass, spec: &StepSpec) -> Result<CudaGraph, CudaError> {
        graphs::begin_capture(&self.stream)?;
        let learned = self.run_pass(pass, spec);
        let graph = graphs::end_capture(&self.stream);
        learned?;
        graph
    }
}

/// The coefficients of a regime for one layer.
fn layer_coefficients(layer: &Layer, share: StepShare, regime: &Regime) -> LayerCoefficients {
    let d = layer.units as f64;
    let tau = layer.centroids.map_or(1.0, |centroids| centroids.tau.get()) * regime.tau;
    LayerCoefficients {
        lambda: if layer.centroids.is_some() { regime.lambda as f32 } else { 0.0 },
        inv_tau: (1.0 / tau) as f32,
        commitment: (share.stochastic * regime.commitment / d) as f32,
        entropy: (share.stochastic * regime.entropy) as f32,
        saturation: (share.all * regime.saturation / d) as f32,
        writing: (share.all * regime.writing / d) as f32,
    }
}
