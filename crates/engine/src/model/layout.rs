//! Names, shapes and offsets of the parameters: PyTorch's names, gate order and row-major storage.

use super::{Arch, HeadWeights, Layer};
use std::ops::Range;

/// One named tensor inside the flat parameter vector.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Slot {
    /// Its name in `model.safetensors`.
    pub name: String,
    /// Its shape, row-major.
    pub shape: Vec<usize>,
    /// Its range in the parameter vector.
    pub range: Range<usize>,
}

/// The ranges of the tensors of one layer; empty for a tensor that the layer does not have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LayerSlots {
    /// `weight_ih_l*`: W `[blocks·D, E]`.
    pub w_ih: Range<usize>,
    /// `weight_hh_l*`: R `[blocks·D, D]`.
    pub w_hh: Range<usize>,
    /// `bias_ih_l*` `[blocks·D]`.
    pub b_ih: Range<usize>,
    /// `bias_hh_l*` `[blocks·D]`.
    pub b_hh: Range<usize>,
    /// `peephole_l*` `[3, D]`: i, f, o.
    pub peephole: Range<usize>,
    /// `centroids_l*`: S `[K, D]`.
    pub centroids: Range<usize>,
}

/// The ranges of all tensors in the parameter vector.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    /// All tensors, in order.
    pub slots: Vec<Slot>,
    /// `embedding.weight` `[V,E]`; empty for real inputs.
    pub embedding: Range<usize>,
    /// The layers, bottom first.
    pub layers: Vec<LayerSlots>,
    /// `head.weight` `[C, features]`; the range of the embedding if they are tied.
    pub head_weight: Range<usize>,
    /// `head.bias` `[C]`.
    pub head_bias: Range<usize>,
    /// Number of parameters.
    pub len: usize,
}

impl Layout {
    /// The layout of a valid architecture.
    ///
    /// # Panics
    /// If the number of parameters overflows; [`Arch::validate`] refuses such an architecture.
    pub fn of(arch: &Arch) -> Layout {
        Layout::checked(arch).expect("a validated architecture")
    }

    /// The layout, or `None` where the sizes overflow.
    pub(super) fn checked(arch: &Arch) -> Option<Layout> {
        let mut slots = Slots::default();
        let vocabulary = arch.input.vocabulary();
        let embedding = slots.push("embedding.weight".into(), &[vocabulary, arch.input.width()])?;
        let layers = (0..arch.layers.len())
            .map(|l| slots.push_layer(l, &arch.layers[l], arch.width_below(l)))
            .collect::<Option<Vec<_>>>()?;
        let features = arch.features();
        let head_weight = match arch.readout.weights {
            HeadWeights::Own => slots.push("head.weight".into(), &[arch.classes, features])?,
            HeadWeights::Embedding => embedding.clone(),
        };
        let head_bias = slots.push("head.bias".into(), &[arch.classes])?;
        Some(Layout {
            slots: slots.list,
            embedding,
            layers,
            head_weight,
            head_bias,
            len: slots.len,
        })
    }

    /// The end of the input parameters, which come first: the embedding and W of the bottom layer.
    pub(crate) fn input_end(&self) -> usize {
        self.layers[0].w_ih.end
    }

    /// The layout of all tensors but the embedding, counted from its end. Head weights that are the
    /// embedding are empty.
    pub(crate) fn without_embedding(&self) -> Layout {
        let by = self.embedding.end;
        let shifted = |range: &Range<usize>| range.start.max(by) - by..range.end - by;
        let slots = self.slots.iter().filter(|slot| slot.range.start >= by);
        Layout {
            slots: slots.map(|slot| Slot { range: shifted(&slot.range), ..slot.clone() }).collect(),
            embedding: 0..0,
            layers: self.layers.iter().map(|slots| slots.rebased(by)).collect(),
            head_weight: shifted(&self.head_weight),
            head_bias: shifted(&self.head_bias),
            len: self.len - by,
        }
    }

    /// The tensor a parameter index belongs to.
    pub fn slot_of(&self, index: usize) -> &Slot {
        let at = self.slots.partition_point(|slot| slot.range.end <= index);
        &self.slots[at]
    }
}

impl LayerSlots {
    /// The same ranges counted from index `by`; tensors before it become empty.
    pub(crate) fn rebased(&self, by: usize) -> LayerSlots {
        let shifted = |range: &Range<usize>| range.start.max(by) - by..range.end.max(by) - by;
        LayerSlots {
            w_ih: shifted(&self.w_ih),
            w_hh: shifted(&self.w_hh),
            b_ih: shifted(&self.b_ih),
            b_hh: shifted(&self.b_hh),
            peephole: shifted(&self.peephole),
            centroids: shifted(&self.centroids),
        }
    }
}

#[derive(Default)]
struct Slots {
    list: Vec<Slot>,
    len: usize,
}

impl Slots {
    fn push(&mut self, name: String, shape: &[usize]) -> Option<Range<usize>> {
        let size = shape.iter().try_fold(1usize, |size, &n| size.checked_mul(n))?;
        let range = self.len..self.len.checked_add(size)?;
        self.len = range.end;
        if size > 0 {
            self.list.push(Slot { name, shape: shape.to_vec(), range: range.clone() });
        }
        Some(range)
    }

    fn push_layer(&mut self, l: usize, layer: &Layer, width: usize) -> Option<LayerSlots> {
        let d = layer.units;
        let rows = layer.cell.blocks().checked_mul(d)?;
        let bias = if layer.bias { rows } else { 0 };
        let peepholes = if layer.cell.has_peephole() { 3 } else { 0 };
        let k = layer.centroids.map_or(0, |centroids| centroids.k);
        Some(LayerSlots {
            w_ih: self.push(format!("rnn.weight_ih_l{l}"), &[rows, width])?,
            w_hh: self.push(format!("rnn.weight_hh_l{l}"), &[rows, d])?,
            b_ih: self.push(format!("rnn.bias_ih_l{l}"), &[bias])?,
            b_hh: self.push(format!("rnn.bias_hh_l{l}"), &[bias])?,
            peephole: self.push(format!("peephole_l{l}"), &[peepholes, d])?,
            centroids: self.push(format!("centroids_l{l}"), &[k, d])?,
        })
    }
}
