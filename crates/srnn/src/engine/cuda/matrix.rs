//! Products and sums on the device (`kernels/matrix.cu`).

use super::CudaError;
use super::device::{Address, Device, Grid, Room, launch};

/// Edges of a block's tile in `kernels/matrix.cu`: small ones where there are few.
const TILES: [usize; 2] = [32, 128];
/// Threads of the blocks there.
const THREADS: usize = 256;
/// Sums that a block of `sum_parts` makes at a time.
const LANES: usize = 32;
/// A long sum is cut into parts of at least so many terms.
const SHORTEST_PART: usize = 32;

/// A matrix on the device: where it is and the distances between its rows and columns. Rows may
/// be looked up in a list.
#[derive(Clone, Copy)]
pub struct Matrix {
    pub at: Address,
    pub row: usize,
    pub column: usize,
    pub list: Address,
}

impl Matrix {
    /// Rows of `width` numbers, one after the other.
    pub fn rows(at: Address, width: usize) -> Matrix {
        Matrix { at, row: width, column: 1, list: 0 }
    }

    /// Its transpose.
    pub fn transposed(self) -> Matrix {
        Matrix { row: self.column, column: self.row, ..self }
    }

    /// Row i is the one that the list names.
    pub fn listed(self, list: Address) -> Matrix {
        Matrix { list, ..self }
    }
}

/// `Product` of `kernels/matrix.cu`.
#[repr(C)]
#[derive(Clone, Copy)]
struct Arguments {
    a: Address,
    b: Address,
    c: Address,
    bias: Address,
    a_rows: Address,
    b_rows: Address,
    c_rows: Address,
    a_m: i64,
    a_k: i64,
    b_k: i64,
    b_n: i64,
    c_m: i64,
    m: i32,
    n: i32,
    k: i32,
    splits: i32,
    accumulate: i32,
}

/// What becomes of a result.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Into {
    /// It replaces what was there.
    Place,
    /// It is added to what was there.
    Sum,
}

/// Products, and the room for their parts.
#[derive(Default)]
pub struct Products {
    parts: Room<f32>,
}

impl Products {
    /// `C = A·B` or `C += A·B`: A is m×k, B is k×n. A list of A or C names rows by m, one of B by k.
    pub fn product(
        &mut self,
        device: &Device,
        (m, k, n): (usize, usize, usize),
        a: Matrix,
        b: Matrix,
        c: Matrix,
        into: Into,
    ) -> Result<(), CudaError> {
        self.with_bias(device, (m, k, n), a, b, 0, c, into)
    }

    /// The same with a bias `[n]` (or none, 0) added to every row.
    #[allow(clippy::too_many_arguments)]
    pub fn with_bias(
        &mut self,
        device: &Device,
        (m, k, n): (usize, usize, usize),
        a: Matrix,
        b: Matrix,
        bias: Address,
        c: Matrix,
        into: Into,
    ) -> Result<(), CudaError> {
        if m == 0 || n == 0 {
            return Ok(());
        }
        let tiles = |edge: usize| m.div_ceil(edge) * n.div_ceil(edge);
        let large = tiles(TILES[1]) * (k / 256).max(1) >= device.gpu.processors;
        let tile = TILES[large as usize];
        // Few tiles leave the device idle: the sum is cut, so that there are enough blocks. Of the
        // large ones a multiprocessor takes one at a time.
        let blocks = if large { device.gpu.processors } else { 2 * device.gpu.processors };
        let wanted = (blocks + tiles(tile) / 2) / tiles(tile);
        let splits = wanted.min(k / SHORTEST_PART).max(1);
        let parts = if splits > 1 { self.parts.fit(device, splits * m * n)? } else { c.at };
        let accumulate = (into == Into::Sum) as i32;
        let arguments = Arguments {
            a: a.at,
            b: b.at,
            c: parts,
            bias,
            a_rows: a.list,
            b_rows: b.list,
            c_rows: c.list,
            a_m: a.row as i64,
            a_k: a.column as i64,
            b_k: b.row as i64,
            b_n: b.column as i64,
            c_m: c.row as i64,
            m: m as i32,
            n: n as i32,
            k: k as i32,
            splits: splits as i32,
            accumulate,
        };
        let grid = Grid::over(n.div_ceil(tile), m.div_ceil(tile), splits, THREADS);
        launch!(device, &device.gpu.kernels.product[large as usize], grid; arguments)?;
        if splits > 1 {
            sum_with_bias(device, parts, splits, (m, n), bias, c, into)?;
        }
        Ok(())
    }

    /// Adds the parts `[splits][m][n]`, in order.
    fn sum(
        &self,
        device: &Device,
        splits: usize,
        (m, n): (usize, usize),
        c: Matrix,
        into: Into,
    ) -> Result<(), CudaError> {
        sum_parts(device, self.parts.address(device), splits, (m, n), c, into)
    }

    /// `C[place] += Σ rows` over the steps that have the place: `steps` in the order of places,
    /// those of place i from `first[i]` on.
    #[allow(clippy::too_many_arguments)]
    pub fn sum_by_token(
        &mut self,
        device: &Device,
        rows: Address,
        (count, width): (usize, usize),
        (steps, first, places): (Address, Address, usize),
        into: Address,
    ) -> Result<(), CudaError> {
        let wanted = (8 * device.gpu.processors).div_ceil(places * width.div_ceil(256).max(1));
        let splits = wanted.min(count / places.max(1) / 16).clamp(1, 128);
        let parts = match splits {
            1 => into,
            _ => self.parts.fit(device, splits * places * width)?,
        };
        let grid = Grid::over(places, splits, width.div_ceil(256), 256);
        launch!(device, &device.gpu.kernels.sum_by_token, grid;
            rows, steps, first, places as i32, width as i32, parts)?;
        if splits == 1 {
            return Ok(());
        }
        self.sum(device, splits, (places, width), Matrix::rows(into, width), Into::Place)
    }

    /// Adds the sum of `count` rows to `into`.
    pub fn sum_rows(
        &mut self,
        device: &Device,
        rows: Address,
        (count, width): (usize, usize),
        into: Address,
    ) -> Result<(), CudaError> {
        let splits = (count / 64).clamp(1, 256);
        let parts = self.parts.fit(device, splits * width)?;
        let grid = Grid::over(width.div_ceil(128), splits, 1, 128);
        launch!(device, &device.gpu.kernels.sum_rows, grid; rows, count as i32, width as i32, parts)?;
        self.sum(device, splits, (1, width), Matrix::rows(into, width), Into::Sum)
    }

    /// Adds to the gradients of centroids what slopes along u − s pull.
    pub fn pull_centroids(
        &mut self,
        device: &Device,
        (slopes, u, s): (Address, Address, Address),
        (count, k, d): (usize, usize, usize),
        into: Address,
    ) -> Result<(), CudaError> {
        let splits = (count / 64).clamp(1, 64);
        let parts = self.parts.fit(device, splits * k * d)?;
        let grid = Grid::over(k, splits, 1, 128);
        launch!(device, &device.gpu.kernels.pull_centroids, grid;
            slopes, u, s, count as i32, k as i32, d as i32, parts)?;
        self.sum(device, splits, (k, d), Matrix::rows(into, d), Into::Sum)
    }
}

/// Adds parts `[splits][m][n]`, in order, into C.
pub fn sum_parts(
    device: &Device,
    parts: Address,
    splits: usize,
    size: (usize, usize),
    c: Matrix,
    into: Into,
) -> Result<(), CudaError> {
    sum_with_bias(device, parts, splits, size, 0, c, into)
}

fn sum_with_bias(
    device: &Device,
    parts: Address,
    splits: usize,
    (m, n): (usize, usize),
    bias: Address,
    c: Matrix,
    into: Into,
) -> Result<(), CudaError> {
    let blocks = (m * n).div_ceil(LANES).clamp(1, 8 * device.gpu.processors);
    launch!(device, &device.gpu.kernels.sum_parts, Grid::of(blocks, THREADS);
        parts, splits as i32, m as i32, n as i32, bias, c.at, c.list, c.row as i64,
        (into == Into::Sum) as i32)?;
    Ok(())
}

/// `to (+)= from`, `rows` rows of `columns` numbers, each matrix with its own distance of rows.
pub fn copy_block(
    device: &Device,
    (rows, columns): (usize, usize),
    (from, from_row): (Address, usize),
    (to, to_row): (Address, usize),
    into: Into,
) -> Result<(), CudaError> {
    launch!(device, &device.gpu.kernels.copy_block, Device::each(rows * columns);
        from, from_row as i64, to, to_row as i64, rows as i32, columns as i32,
        (into == Into::Sum) as i32)?;
    Ok(())
}

/// `to[column][row] = from[row][column]`.
pub fn transpose(
    device: &Device,
    (rows, columns): (usize, usize),
    from: Address,
    (to, to_row): (Address, usize),
) -> Result<(), CudaError> {
    let grid =
        Grid { threads: (32, 8, 1), ..Grid::over(columns.div_ceil(32), rows.div_ceil(32), 1, 1) };
    launch!(device, &device.gpu.kernels.transpose, grid;
        from, rows as i32, columns as i32, to, to_row as i64)?;
    Ok(())
}

/// Rows of doubles that a block sums by itself.
const FEW_ROWS: usize = 4096;

/// `into[j] = Σ` of column j, in double precision; many rows are summed in parts first, in `room`.
pub fn sum_columns(
    device: &Device,
    room: &mut Room<f64>,
    rows: Address,
    (count, width): (usize, usize),
    into: Address,
) -> Result<(), CudaError> {
    let sum = |rows: Address, count: usize, parts: usize, into: Address| {
        let grid = Grid::over(width, parts, 1, 256);
        launch!(device, &device.gpu.kernels.sum_columns, grid;
            rows, count as i32, width as i32, into)
    };
    if count <= FEW_ROWS {
        return Ok(sum(rows, count, 1, into)?);
    }
    let parts = room.fit(device, LANES * width)?;
    sum(rows, count, LANES, parts)?;
    Ok(sum(parts, LANES, 1, into)?)
}
