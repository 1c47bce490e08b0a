//! Kernels that are compiled once per GPU, for all shapes.

use super::compile;
use super::stepwise::StepKernels;

/// The common kernels, as functions of type `F`.
pub struct CommonKernels<F> {
    pub tiled_product: F,
    pub grouped_products: F,
    pub grouped_sums: F,
    pub wait_for_count: F,
    /// For at most 1, 4 and 16 columns of B, then for unaligned rows.
    pub product_thin: [F; 4],
    /// By tile (128 rows, 64 rows) and by operand layout (mn, kn, kk).
    pub product_large: [[F; 3]; 2],
    pub sum_parts: F,
    pub sum_by_token: F,
    pub sum_rows: F,
    pub sum_columns: F,
    pub transpose: F,
    pub euclidean_centroid_grads: F,
    pub drop_out: F,
    pub read_out: F,
    pub cross_entropy: F,
    pub classify: F,
    pub classify_backward: F,
    pub square_parts: F,
    pub update: F,
    pub copy_words: F,
    /// By rows per block: one, four.
    pub forward: [F; 2],
    pub backward: [F; 2],
    pub stepwise: StepKernels<F>,
    /// Present where warpgroup products are supported.
    pub warpgroup_in_chunks: Option<F>,
}

/// The source of the common kernels, with or without warpgroup products.
pub fn common_source(warpgroups: bool) -> String {
    [
        compile::WARP,
        compile::CELL,
        compile::SCAN_ARGS,
        compile::MATRIX,
        compile::DROPOUT,
        compile::SUMS,
        compile::GROUPED,
        compile::TENSOR,
        if warpgroups { compile::WARPGROUP } else { "" },
        compile::HEAD,
        compile::UPDATE,
        compile::GENERIC_FORWARD,
        compile::GENERIC_BACKWARD,
        compile::STEPWISE,
    ]
    .concat()
}

impl<F> CommonKernels<F> {
    /// All kernels, looked up by the names in their source.
    pub fn by_name<E>(
        warpgroups: bool,
        kernel: impl Fn(&'static str) -> Result<F, E>,
    ) -> Result<CommonKernels<F>, E> {
        Ok(CommonKernels {
            tiled_product: kernel("tiled_product")?,
            grouped_products: kernel("grouped_products")?,
            grouped_sums: kernel("grouped_sums")?,
            wait_for_count: kernel("wait_for_count")?,
            product_thin: [
                kernel("thin_1")?,
                kernel("thin_4")?,
                kernel("thin_16")?,
                kernel("thin_unaligned")?,
            ],
            product_large: large_products(warpgroups, &kernel)?,
            sum_parts: kernel("sum_parts")?,
            sum_by_token: kernel("sum_by_token")?,
            sum_rows: kernel("sum_rows")?,
            sum_columns: kernel("sum_columns")?,
            transpose: kernel("transpose")?,
            euclidean_centroid_grads: kernel("euclidean_centroid_grads")?,
            drop_out: kernel("drop_out")?,
            read_out: kernel("read_out")?,
            cross_entropy: kernel("cross_entropy")?,
            classify: kernel("classify")?,
            classify_backward: kernel("classify_backward")?,
            square_parts: kernel("square_parts")?,
            update: kernel("update")?,
            copy_words: kernel("copy_words")?,
            forward: [kernel("generic_forward_1")?, kernel("generic_forward_4")?],
            backward: [kernel("generic_backward_1")?, kernel("generic_backward_4")?],
            stepwise: StepKernels::by_name(&kernel)?,
            warpgroup_in_chunks: match warpgroups {
                true => Some(kernel("warpgroup_in_chunks")?),
                false => None,
            },
        })
    }
}

/// The tensor core kernels: warpgroups replace all but two of the tiles.
fn large_products<F, E>(
    warpgroups: bool,
    kernel: impl Fn(&'static str) -> Result<F, E>,
) -> Result<[[F; 3]; 2], E> {
    let ([mn, kn, kk], low_mn) = match warpgroups {
        true => (["warpgroup_mn", "warpgroup_kn", "warpgroup_kk"], "warpgroup_transposed_mn"),
        false => (["tensor_128_mn", "tensor_128_kn", "tensor_128_kk"], "tensor_64_mn"),
    };
    Ok([
        [kernel(mn)?, kernel(kn)?, kernel(kk)?],
        [kernel(low_mn)?, kernel("tensor_64_kn")?, kernel("tensor_64_kk")?],
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_common_kernel_that_is_looked_up_is_in_the_source() {
        for warpgroups in [false, true] {
            let source = common_source(warpgroups);
            let check = |name: &'static str| match compile::has_kernel(&source, name) {
                true => Ok(()),
                false => Err(name),
            };
            let missing = CommonKernels::by_name(warpgroups, check).err();
            assert_eq!(missing, None, "warpgroups: {warpgroups}");
        }
    }
}
