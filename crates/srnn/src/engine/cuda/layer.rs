//! One layer on the device: its parameters in the form the scan reads them, the scan forward and
//! backward, and the adjoint of the preparation.

use super::CudaError;
use super::device::{Address, Device, Grid, Room, launch};
use super::few::{self, Compiled, Few, Input};
use super::matrix::{Into, Matrix, Products, copy_block, sum_columns, sum_parts, transpose};
use super::plain;
use super::scan::{MEASURED, Places, SUM_BIAS, SUM_CANDIDATE, SUM_PEEPHOLE, SUMS, Scan};
use super::upload::Placed;
use crate::engine::Transition;
use crate::engine::form::{Form, form, state_blocks};
use crate::model::{Cell, Gate, Layer, LayerSlots, Reset, Score};

/// A layer's shape, and where its parameters lie in the flat vector.
pub struct Shape {
    pub layer: Layer,
    pub slots: LayerSlots,
    /// E: the width of what it reads.
    pub width: usize,
    pub end: bool,
    /// Whether it may have kernels made for its shape.
    pub special: bool,
}

/// What changes from call to call.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Call {
    pub transition: Transition,
    pub lambda: f64,
    /// Which terms of the loss there are.
    pub commits: bool,
    pub weighs_entropy: bool,
    pub presses: bool,
    /// Whether gradients will be asked for.
    pub learns: bool,
    /// Where what may change with every update is.
    pub press: Address,
    /// When h, u and c are read by others.
    pub keep_h: Keep,
    pub keep_u: Keep,
    pub keep_c: Keep,
}

/// When something is kept for others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Keep {
    Never,
    /// At the last step of each row.
    AtLast,
    Always,
}

/// What a layer reads.
#[derive(Clone, Copy)]
pub enum Reads {
    /// Tokens, through an embedding at this address.
    Tokens { embedding: Address },
    /// Vectors `[N,E]`: those of the batch at the bottom, else those of the layer below.
    Vectors { at: Address, bottom: bool },
}

/// The gradients a layer is sent: `[readouts][stride]` each, 0 where there is none.
#[derive(Clone, Copy, Default)]
pub struct Outside {
    pub dh: Address,
    pub du: Address,
    pub dc: Address,
    pub stride: usize,
    /// Whether there is one for every step, or for the last of each row.
    pub every_step: bool,
}

/// The memory of one layer.
#[derive(Default)]
pub struct Rooms {
    m: Room<f32>,
    candidate: Room<f32>,
    bias: Room<f32>,
    x: Room<f32>,
    carry_in: Room<f32>,
    gates: Room<f32>,
    cells: Room<f32>,
    extra: Room<f32>,
    pub c: Room<f32>,
    pub u: Room<f32>,
    pub alpha: Room<f32>,
    pub h: Room<f32>,
    da_in: Room<f32>,
    da_state: Room<f32>,
    d_scores: Room<f32>,
    d_mixture: Room<f32>,
    sums: Room<f32>,
    measured: Room<f64>,
    measured_parts: Room<f64>,
    d_m: Room<f32>,
    d_x: Room<f32>,
    d_m_parts: Room<f32>,
    d_s_parts: Room<f32>,
    d_x_parts: Room<f32>,
    d_below: Room<f32>,
}

/// One layer on the device.
pub struct OnDevice {
    pub shape: Shape,
    pub rooms: Rooms,
}

impl OnDevice {
    pub fn new(shape: Shape) -> OnDevice {
        OnDevice { shape, rooms: Rooms::default() }
    }

    fn cell(&self) -> i32 {
        match self.shape.layer.cell {
            Cell::Lstm { .. } => 0,
            Cell::Gru { reset: Reset::AfterMatrix } => 1,
            Cell::Gru { reset: Reset::BeforeMatrix } => 2,
        }
    }

    fn k(&self) -> usize {
        self.shape.layer.centroids.map_or(0, |centroids| centroids.k)
    }

    /// Parameters as the scan reads them: M `[n][ns·D]`, the candidate's matrix, biases.
    fn prepare(
        &mut self,
        device: &Device,
        products: &mut Products,
        params: Address,
        form: Form,
    ) -> Result<(), CudaError> {
        let Shape { layer, slots, .. } = &self.shape;
        let (d, k, blocks) = (layer.units, self.k(), layer.cell.blocks());
        let ns = state_blocks(layer.cell, form);
        let at = |range: &std::ops::Range<usize>| params + 4 * range.start as u64;
        let (r, s) = (at(&slots.w_hh), at(&slots.centroids));
        match form {
            Form::LowRank => {
                let m = self.rooms.m.fit(device, k * ns * d)?;
                let (s_rows, r_columns) = (Matrix::rows(s, d), Matrix::rows(r, d).transposed());
                let into = Matrix::rows(m, ns * d);
                let size = (k, d, blocks * d);
                products.product(device, size, s_rows, r_columns, into, Into::Place)?;
                if ns > blocks {
                    let block = m + 4 * (blocks * d) as u64;
                    copy_block(device, (k, d), (s, d), (block, ns * d), Into::Place)?;
                }
            }
            Form::Direct => {
                let m = self.rooms.m.fit(device, d * ns * d)?;
                transpose(device, (ns * d, d), r, (m, ns * d))?;
                if ns < blocks {
                    let candidate = self.rooms.candidate.fit(device, d * d)?;
                    transpose(device, (d, d), r + 4 * (ns * d * d) as u64, (candidate, d))?;
                }
            }
        }
        if layer.bias {
            let bias = self.rooms.bias.fit(device, blocks * d)?;
            let apart = (self.cell() == 1) as i32;
            launch!(device, &device.gpu.kernels.input_bias, Device::each(blocks * d);
                at(&slots.b_ih), at(&slots.b_hh), d as i32, blocks as i32, apart, bias)?;
        }
        Ok(())
    }

    /// What the input contributes: a row `[ni·D]` for every distinct token, or for every step.
    fn read(
        &mut self,
        device: &Device,
        products: &mut Products,
        params: Address,
        placed: &Placed,
        reads: Reads,
    ) -> Result<(), CudaError> {
        let Shape { layer, slots, width, .. } = &self.shape;
        let wide = layer.cell.blocks() * layer.units;
        let bias = if layer.bias { self.rooms.bias.address(device) } else { 0 };
        let (rows, from) = match reads {
            Reads::Tokens { embedding } => {
                (placed.distinct, Matrix::rows(embedding, *width).listed(placed.ids))
            }
            Reads::Vectors { at, .. } => (placed.steps, Matrix::rows(at, *width)),
        };
        let x = self.rooms.x.fit(device, rows * wide)?;
        let w = Matrix::rows(params + 4 * slots.w_ih.start as u64, *width).transposed();
        let size = (rows, *width, wide);
        products.with_bias(device, size, from, w, bias, Matrix::rows(x, wide), Into::Place)
    }

    fn scan(
        &mut self,
        device: &Device,
        params: Address,
        placed: &Placed,
        reads: Reads,
        call: Call,
        draws: Address,
    ) -> Result<Scan, CudaError> {
        let form = form(&self.shape.layer, call.lambda);
        let (d, k, cell) = (self.shape.layer.units, self.k(), self.cell());
        let Shape { layer, slots, end, .. } = &self.shape;
        let n = if form == Form::LowRank { k } else { d };
        let (ns, ni) = (state_blocks(layer.cell, form), layer.cell.blocks());
        let steps = placed.steps;
        let rooms = &mut self.rooms;
        let wanted = |wanted: bool, at: Address| if wanted { at } else { 0 };
        let at = |range: &std::ops::Range<usize>, first: usize| {
            wanted(!range.is_empty(), params + 4 * (range.start + first) as u64)
        };
        let memory = layer.cell.has_memory();
        Ok(Scan {
            cell,
            hard: (layer.gate == Gate::HardSigmoid) as i32,
            euclidean: layer.centroids.is_some_and(|s| s.score == Score::Euclidean) as i32,
            low_rank: (form == Form::LowRank) as i32,
            d: d as i32,
            k: k as i32,
            n: n as i32,
            ns: ns as i32,
            ni: ni as i32,
            rows: placed.rows as i32,
            end: *end as i32,
            transition: match call.transition {
                Transition::Mixture => 0,
                Transition::Sample(_) => 1,
                Transition::Argmax => 2,
            },
            commits: (call.commits && k > 0) as i32,
            weighs_entropy: (call.weighs_entropy && k > 0) as i32,
            presses: call.presses as i32,
            offsets: placed.offsets,
            order: placed.order,
            press: call.press,
            x: rooms.x.address(device),
            places: wanted(matches!(reads, Reads::Tokens { .. }), placed.places),
            m: rooms.m.address(device),
            candidate: rooms.candidate.address(device),
            q_bias: wanted(cell == 1, at(&slots.b_hh, 2 * d)),
            peephole: at(&slots.peephole, 0),
            s: at(&slots.centroids, 0),
            draws,
            carry_in: if call.learns { rooms.carry_in.fit(device, steps * n)? } else { 0 },
            gates: rooms.gates.fit(device, steps * 4 * d)?,
            extra: if memory { 0 } else { rooms.extra.fit(device, steps * d)? },
            c: if memory { rooms.c.fit(device, steps * d)? } else { 0 },
            u: rooms.u.fit(device, steps * d)?,
            alpha: rooms.alpha.fit(device, steps * k)?,
            h: if call.keep_h > Keep::Never { rooms.h.fit(device, steps * d)? } else { 0 },
            ..Scan::default()
        })
    }

    /// The arguments of the kernels for few centroids.
    fn few(
        &mut self,
        device: &Device,
        params: Address,
        scan: Scan,
        placed: &Placed,
        reads: Reads,
        call: Call,
    ) -> Result<Few, CudaError> {
        let Shape { layer, slots, .. } = &self.shape;
        let (d, steps) = (layer.units, placed.steps);
        // Only backward reads what is kept.
        let (gates, cells) = match (call.learns, layer.cell.has_memory()) {
            (false, _) => (0, 0),
            (true, memory) => (
                self.rooms.gates.fit(device, steps * 4 * few::kept(d))?,
                self.rooms.cells.fit(device, if memory { steps * few::kept(d) } else { 0 })?,
            ),
        };
        Ok(Few {
            scan,
            gates,
            cells,
            vectors: match reads {
                Reads::Vectors { at, .. } => at,
                Reads::Tokens { .. } => 0,
            },
            w: params + 4 * slots.w_ih.start as u64,
            bias: if layer.bias { self.rooms.bias.address(device) } else { 0 },
            tokens: placed.distinct as i32,
            keep_h: call.keep_h as i32,
            keep_u: call.keep_u as i32,
            keep_c: call.keep_c as i32,
            ..Few::default()
        })
    }

    /// Blocks of the kernels for few centroids: they go on with another row when one is done.
    fn few_blocks(&self, device: &Device, placed: &Placed) -> usize {
        // Two blocks fit a multiprocessor where the units are few.
        let each = if self.shape.layer.units <= 128 { 2 } else { 1 };
        placed.rows.min(each * device.gpu.processors)
    }

    /// Rows a block carries, and threads of it.
    fn blocks(&self, device: &Device, scan: &Scan) -> (usize, usize) {
        // Rows that share a block share what is read of M.
        let streams = scan.low_rank == 0 && 4 * scan.n as usize * scan.ns as usize > 1000;
        let rows = scan.rows as usize;
        let together =
            if rows > 2 * device.gpu.processors || (streams && rows >= 16) { 4 } else { 1 };
        (together, if scan.d > 256 { 512 } else { 256 })
    }

    /// Runs the layer over all rows.
    #[allow(clippy::too_many_arguments)]
    pub fn forward(
        &mut self,
        device: &Device,
        products: &mut Products,
        params: Address,
        placed: &Placed,
        reads: Reads,
        call: Call,
        draws: Address,
    ) -> Result<(), CudaError> {
        self.prepare(device, products, params, form(&self.shape.layer, call.lambda))?;
        let few = few::compiled(device, &self.shape, placed, reads, call)?;
        if !few.as_ref().is_some_and(|few| few.input == Input::Vectors) {
            self.read(device, products, params, placed, reads)?;
        }
        let scan = self.scan(device, params, placed, reads, call, draws)?;
        if let Some(few) = few {
            let arguments = self.few(device, params, scan, placed, reads, call)?;
            let grid = Grid::of(self.few_blocks(device, placed), few.forward_threads);
            launch!(device, &few.forward, grid; arguments)?;
            return Ok(());
        }
        if let Some(plain) = plain::compiled(device, &self.shape)? {
            let grid = Grid::of(self.few_blocks(device, placed), plain.threads);
            launch!(device, &plain.forward, grid; scan)?;
            return Ok(());
        }
        let (together, threads) = self.blocks(device, &scan);
        let floats = together * (scan.n + 3 * scan.d + scan.k) as usize;
        let grid = Grid::of(placed.rows.div_ceil(together), threads).shared(4 * floats);
        self.fits(device, grid)?;
        launch!(device, &device.gpu.kernels.forward[(together > 1) as usize], grid; scan)?;
        Ok(())
    }

    fn fits(&self, device: &Device, grid: Grid) -> Result<(), CudaError> {
        let (need, have) = (grid.shared as usize, device.gpu.shared);
        if need + 1024 > have { Err(CudaError::TooWide { need, have }) } else { Ok(()) }
    }

    /// The adjoint of [`forward`](OnDevice::forward): adds to `grads`, and leaves what the terms
    /// measure in `report` `[MEASURED]`.
    #[allow(clippy::too_many_arguments)]
    pub fn backward(
        &mut self,
        device: &Device,
        products: &mut Products,
        (params, grads): (Address, Address),
        placed: &Placed,
        reads: Reads,
        call: Call,
        out: Outside,
        report: Address,
    ) -> Result<(), CudaError> {
        let mut scan = self.scan(device, params, placed, reads, call, 0)?;
        (scan.dh_out, scan.du_out, scan.dc_out) = (out.dh, out.du, out.dc);
        (scan.out_stride, scan.out_every) = (out.stride as i64, out.every_step as i32);
        if let Some(few) = few::compiled(device, &self.shape, placed, reads, call)? {
            let both = (params, grads);
            return self
                .few_backward(device, products, both, placed, reads, call, few, scan, report);
        }
        let plain = plain::compiled(device, &self.shape)?;
        let (together, threads) = self.blocks(device, &scan);
        let blocks = match &plain {
            Some(_) => self.few_blocks(device, placed),
            None => placed.rows.div_ceil(together),
        };
        let (steps, d, k) = (placed.steps, scan.d as usize, scan.k as usize);
        let rooms = &mut self.rooms;
        let (ns, ni) = (scan.ns as usize, scan.ni as usize);
        scan.da_in = rooms.da_in.fit(device, steps * ni * d)?;
        scan.da_state =
            if scan.cell == 0 { 0 } else { rooms.da_state.fit(device, steps * ns * d)? };
        scan.d_scores = rooms.d_scores.fit(device, steps * k)?;
        let pulled = k > 0 && (scan.low_rank == 0 || out.dh != 0 || scan.commits != 0);
        scan.d_mixture = if pulled { rooms.d_mixture.fit(device, steps * d)? } else { 0 };
        scan.sums = rooms.sums.fit(device, blocks * SUMS * d)?;
        scan.measured = rooms.measured.fit(device, blocks * MEASURED)?;
        if let Some(plain) = plain {
            launch!(device, &plain.backward, Grid::of(blocks, plain.threads); scan)?;
        } else {
            let floats = together * (scan.n as usize + (4 + ns) * d + 3 * k) + SUMS * d;
            let grid = Grid::of(blocks, threads).shared(4 * floats);
            self.fits(device, grid)?;
            launch!(device, &device.gpu.kernels.backward[(together > 1) as usize], grid; scan)?;
        }
        sum_columns(
            device,
            &mut self.rooms.measured_parts,
            scan.measured,
            (blocks, MEASURED),
            report,
        )?;
        self.sums(device, grads, &scan, blocks)?;
        self.recurrent_gradients(device, products, (params, grads), &scan, steps)?;
        self.input_gradients(device, products, (params, grads), placed, &scan, reads)
    }

    /// [`backward`](OnDevice::backward) where centroids are few: the scan sums the gradients of M,
    /// S and a narrow input itself.
    #[allow(clippy::too_many_arguments)]
    fn few_backward(
        &mut self,
        device: &Device,
        products: &mut Products,
        (params, grads): (Address, Address),
        placed: &Placed,
        reads: Reads,
        call: Call,
        few: Compiled,
        mut scan: Scan,
        report: Address,
    ) -> Result<(), CudaError> {
        let blocks = self.few_blocks(device, placed);
        let (d, k) = (scan.d as usize, scan.k as usize);
        let (wide, width) = ((scan.ni * scan.d) as usize, self.shape.width);
        let rooms = &mut self.rooms;
        scan.sums = rooms.sums.fit(device, blocks * SUMS * d)?;
        scan.measured = rooms.measured.fit(device, blocks * MEASURED)?;
        if few.input.leaves_steps() {
            scan.da_in = rooms.da_in.fit(device, placed.steps * wide)?;
        }
        let rows = match few.input {
            Input::Rows | Input::ListedRows => 0,
            Input::FewTokens => placed.distinct,
            Input::Vectors => width,
        };
        let d_m_parts = rooms.d_m_parts.fit(device, blocks * k * 4 * d)?;
        let d_s_parts = rooms.d_s_parts.fit(device, blocks * k * d)?;
        let d_x_parts = rooms.d_x_parts.fit(device, blocks * rows * wide)?;
        let mut arguments = self.few(device, params, scan, placed, reads, call)?;
        (arguments.d_m, arguments.d_s, arguments.d_x) = (d_m_parts, d_s_parts, d_x_parts);
        let shared = if few.input == Input::FewTokens { few::token_bytes(rows, d) } else { 0 };
        launch!(device, &few.backward, Grid::of(blocks, few.backward_threads).shared(shared); arguments)?;
        sum_columns(
            device,
            &mut self.rooms.measured_parts,
            scan.measured,
            (blocks, MEASURED),
            report,
        )?;
        self.sums(device, grads, &scan, blocks)?;
        let d_s = Matrix::rows(grads + 4 * self.shape.slots.centroids.start as u64, d);
        sum_parts(device, d_s_parts, blocks, (k, d), d_s, Into::Sum)?;
        let d_m = Matrix::rows(self.rooms.d_m.fit(device, k * 4 * d)?, 4 * d);
        sum_parts(device, d_m_parts, blocks, (k, 4 * d), d_m, Into::Place)?;
        self.low_rank_gradients(device, products, (params, grads), &scan, d_m)?;
        if few.input.leaves_steps() {
            return self.input_gradients(device, products, (params, grads), placed, &scan, reads);
        }
        let d_x = Matrix::rows(self.rooms.d_x.fit(device, rows * wide)?, wide);
        sum_parts(device, d_x_parts, blocks, (rows, wide), d_x, Into::Place)?;
        if let Reads::Tokens { embedding } = reads {
            return self.table_gradients(device, products, (params, grads), placed, embedding, d_x);
        }
        let d_w = grads + 4 * self.shape.slots.w_ih.start as u64;
        for e in 0..width {
            let (from, to) = (d_x.at + 4 * (e * wide) as u64, d_w + 4 * e as u64);
            copy_block(device, (wide, 1), (from, 1), (to, width), Into::Sum)?;
        }
        Ok(())
    }

    /// Biases and peepholes, from the sums of the blocks.
    fn sums(
        &self,
        device: &Device,
        grads: Address,
        scan: &Scan,
        blocks: usize,
    ) -> Result<(), CudaError> {
        let Shape { layer, slots, .. } = &self.shape;
        let d = scan.d as usize;
        let (mut first, mut second) = ([0; SUMS], [0; SUMS]);
        let at = |start: usize, block: usize| grads + 4 * (start + block * d) as u64;
        if layer.bias {
            for block in 0..layer.cell.blocks() {
                first[SUM_BIAS + block] = at(slots.b_ih.start, block);
                second[SUM_BIAS + block] = at(slots.b_hh.start, block);
            }
            // The recurrent bias of a GRU's candidate stays inside r∘(·).
            if scan.cell == 1 {
                second[SUM_BIAS + 2] = 0;
                first[SUM_CANDIDATE] = at(slots.b_hh.start, 2);
            }
        }
        if layer.cell.has_peephole() {
            (0..3).for_each(|block| first[SUM_PEEPHOLE + block] = at(slots.peephole.start, block));
        }
        let places = Places { first, second };
        let grid = Grid::over(d.div_ceil(32), SUMS, 1, 256);
        launch!(device, &device.gpu.kernels.add_sums, grid;
            scan.sums, blocks as i32, d as i32, places)?;
        Ok(())
    }

    /// R and S from the gradient of M, which is `S·Rᵀ` (and S itself, for a GRU).
    fn low_rank_gradients(
        &self,
        device: &Device,
        products: &mut Products,
        (params, grads): (Address, Address),
        scan: &Scan,
        d_m: Matrix,
    ) -> Result<(), CudaError> {
        let Shape { layer, slots, .. } = &self.shape;
        let (d, k, ns) = (scan.d as usize, scan.k as usize, scan.ns as usize);
        let wide = layer.cell.blocks() * d;
        let (r, s) = (4 * slots.w_hh.start as u64, 4 * slots.centroids.start as u64);
        let (d_r, d_s) = (Matrix::rows(grads + r, d), Matrix::rows(grads + s, d));
        let (r, s) = (Matrix::rows(params + r, d), Matrix::rows(params + s, d));
        products.product(device, (k, wide, d), d_m, r, d_s, Into::Sum)?;
        products.product(device, (wide, k, d), d_m.transposed(), s, d_r, Into::Sum)?;
        if ns * d > wide {
            let block = d_m.at + 4 * wide as u64;
            copy_block(device, (k, d), (block, ns * d), (d_s.at, d), Into::Sum)?;
        }
        Ok(())
    }

    /// R and S.
    fn recurrent_gradients(
        &mut self,
        device: &Device,
        products: &mut Products,
        (params, grads): (Address, Address),
        scan: &Scan,
        steps: usize,
    ) -> Result<(), CudaError> {
        let Shape { layer, slots, .. } = &self.shape;
        let (d, k, ns) = (scan.d as usize, scan.k as usize, scan.ns as usize);
        let wide = layer.cell.blocks() * d;
        let (r, s) = (4 * slots.w_hh.start as u64, 4 * slots.centroids.start as u64);
        let d_r = Matrix::rows(grads + r, d);
        let d_s = Matrix::rows(grads + s, d);
        let da = Matrix::rows(if scan.da_state == 0 { scan.da_in } else { scan.da_state }, ns * d);
        let carry = Matrix::rows(scan.carry_in, scan.n as usize);
        if scan.low_rank != 0 {
            let d_m = Matrix::rows(self.rooms.d_m.fit(device, k * ns * d)?, ns * d);
            products.product(
                device,
                (k, steps, ns * d),
                carry.transposed(),
                da,
                d_m,
                Into::Place,
            )?;
            self.low_rank_gradients(device, products, (params, grads), scan, d_m)?;
        } else {
            let size = (ns * d, steps, d);
            products.product(device, size, da.transposed(), carry, d_r, Into::Sum)?;
            if scan.cell == 2 {
                let first = 4 * (2 * d) as u64;
                let dn = Matrix { at: scan.da_in + first, ..Matrix::rows(0, wide) }.transposed();
                let into = Matrix::rows(grads + r + 4 * (2 * d * d) as u64, d);
                let rh = Matrix::rows(scan.extra, d);
                products.product(device, (d, steps, d), dn, rh, into, Into::Sum)?;
            }
        }
        if k == 0 {
            return Ok(());
        }
        if scan.euclidean != 0 {
            let what = (scan.d_scores, scan.u, scan.s);
            products.pull_centroids(device, what, (steps, k, d), d_s.at)?;
        } else {
            let scores = Matrix::rows(scan.d_scores, k).transposed();
            let u = Matrix::rows(scan.u, d);
            products.product(device, (k, steps, d), scores, u, d_s, Into::Sum)?;
        }
        if scan.d_mixture != 0 {
            let alpha = Matrix::rows(scan.alpha, k).transposed();
            let pull = Matrix::rows(scan.d_mixture, d);
            products.product(device, (k, steps, d), alpha, pull, d_s, Into::Sum)?;
        }
        Ok(())
    }

    /// W and the embedding; what the layer below is sent is left in [`OnDevice::d_below`].
    fn input_gradients(
        &mut self,
        device: &Device,
        products: &mut Products,
        (params, grads): (Address, Address),
        placed: &Placed,
        scan: &Scan,
        reads: Reads,
    ) -> Result<(), CudaError> {
        let Shape { slots, width, .. } = &self.shape;
        let wide = (scan.ni * scan.d) as usize;
        let d_w = Matrix::rows(grads + 4 * slots.w_ih.start as u64, *width);
        match reads {
            Reads::Tokens { embedding } => {
                let (count, distinct) = (placed.steps, placed.distinct);
                let d_x = self.rooms.d_x.fit(device, distinct * wide)?;
                let by = (placed.by_place, placed.first, distinct);
                products.sum_by_token(device, scan.da_in, (count, wide), by, d_x)?;
                let d_x = Matrix::rows(d_x, wide);
                self.table_gradients(device, products, (params, grads), placed, embedding, d_x)
            }
            Reads::Vectors { at, .. } => {
                let da = Matrix::rows(scan.da_in, wide);
                let read = Matrix::rows(at, *width);
                let size = (wide, placed.steps, *width);
                products.product(device, size, da.transposed(), read, d_w, Into::Sum)
            }
        }
    }

    /// W and the embedding from the gradient of their product, a row for each distinct token.
    fn table_gradients(
        &self,
        device: &Device,
        products: &mut Products,
        (params, grads): (Address, Address),
        placed: &Placed,
        embedding: Address,
        d_x: Matrix,
    ) -> Result<(), CudaError> {
        let (width, distinct, wide) = (self.shape.width, placed.distinct, d_x.row);
        let at = 4 * self.shape.slots.w_ih.start as u64;
        let rows = |at: Address| Matrix::rows(at, width).listed(placed.ids);
        let (w, d_w) = (Matrix::rows(params + at, width), Matrix::rows(grads + at, width));
        let size = (wide, distinct, width);
        products.product(device, size, d_x.transposed(), rows(embedding), d_w, Into::Sum)?;
        // Gradients lie as the parameters do.
        let into = rows(grads + (embedding - params));
        products.product(device, (distinct, wide, width), d_x, w, into, Into::Sum)
    }

    /// What the layer below is sent, `[N,E]`.
    pub fn d_below(
        &mut self,
        device: &Device,
        products: &mut Products,
        params: Address,
        steps: usize,
    ) -> Result<Address, CudaError> {
        let Shape { layer, slots, width, .. } = &self.shape;
        let wide = layer.cell.blocks() * layer.units;
        let into = self.rooms.d_below.fit(device, steps * width)?;
        let da = Matrix::rows(self.rooms.da_in.address(device), wide);
        let w = Matrix::rows(params + 4 * slots.w_ih.start as u64, *width);
        let size = (steps, wide, *width);
        products.product(device, size, da, w, Matrix::rows(into, *width), Into::Place)?;
        Ok(into)
    }
}
