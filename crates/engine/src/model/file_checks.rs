//! Sizes and names of a config, checked before anything is allocated for them.

use super::file::ModelLimits;
use super::file_error::Problem;
use super::{Arch, Input};
use std::collections::BTreeSet;

pub(super) fn at_most(what: &'static str, found: u64, limit: u64) -> Result<(), Problem> {
    if found > limit { Err(Problem::TooLarge { what, found, limit }) } else { Ok(()) }
}

/// Checks every single size, so that their products do not overflow later.
pub(super) fn check_sizes(arch: &Arch, limits: &ModelLimits) -> Result<(), Problem> {
    at_most("the number of layers", arch.layers.len() as u64, limits.layers as u64)?;
    let size = |what, found: usize| at_most(what, found as u64, limits.size as u64);
    size("the number of classes", arch.classes)?;
    size("the input's width", arch.input.width())?;
    if let Input::Tokens { symbols, .. } = arch.input {
        size("the number of symbols", symbols)?;
    }
    for layer in &arch.layers {
        size("the number of units", layer.units)?;
        size("the number of centroids", layer.centroids.map_or(0, |centroids| centroids.k))?;
    }
    Ok(())
}

pub(super) fn check_names(
    what: &'static str,
    names: &[String],
    expected: usize,
    limits: &ModelLimits,
) -> Result<(), Problem> {
    if names.len() != expected {
        return Err(Problem::Names { what, found: names.len(), expected });
    }
    let mut seen = BTreeSet::new();
    for name in names {
        at_most("the length of a name", name.len() as u64, limits.name_bytes as u64)?;
        if !seen.insert(name) {
            return Err(Problem::Twice { what, name: name.clone() });
        }
    }
    Ok(())
}
