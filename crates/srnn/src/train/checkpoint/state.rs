//! Encodes and decodes the tensors of a checkpoint.

use super::{Checkpoint, RunIdentity};
use crate::engine::Real;
use crate::engine::Snapshot;
use crate::train::progress::Progress;
use safetensors::{Dtype, SafeTensors, tensor::TensorView};

const PARAMS: &str = "params";
const BEST: &str = "best.params";
const AVERAGE: &str = "average.params";
const CARRIED: &str = "carried";

/// The largest number of phases that keep a network.
const MAX_PHASES: u64 = 4;

fn phase(index: usize) -> String {
    format!("phase.{index}.params")
}

fn moment(index: usize) -> String {
    format!("moment.{index}")
}

/// The maximum size of the tensor file of a run; 64 KiB are for names and shapes.
pub fn max_bytes(identity: &RunIdentity) -> u64 {
    let vectors = 3 + MAX_PHASES + identity.moments as u64;
    let numbers = vectors * identity.parameters as u64 + identity.carried as u64;
    (1 << 16) + numbers * size_of::<f64>() as u64
}

/// Encodes the tensors in the safetensors format.
pub fn encode<F: Real>(checkpoint: &Checkpoint<F>) -> Vec<u8> {
    let mut vectors = vec![(PARAMS.to_string(), &checkpoint.snapshot.params)];
    let moments = checkpoint.snapshot.moments.iter().enumerate();
    vectors.extend(moments.map(|(index, values)| (moment(index), values)));
    for (name, params) in [(BEST, &checkpoint.best), (AVERAGE, &checkpoint.average)] {
        vectors.extend(params.iter().map(|params| (name.to_string(), params)));
    }
    let phases = checkpoint.phases.iter().enumerate();
    vectors.extend(phases.map(|(index, params)| (phase(index), params)));
    if !checkpoint.carried.is_empty() {
        vectors.push((CARRIED.to_string(), &checkpoint.carried));
    }
    let bytes: Vec<(String, usize, Vec<u8>)> =
        vectors.into_iter().map(|(name, values)| (name, values.len(), to_bytes(values))).collect();
    let views = bytes.iter().map(|(name, len, bytes)| {
        let view =
            TensorView::new(dtype::<F>(), vec![*len], bytes).expect("its length is its shape");
        (name, view)
    });
    safetensors::serialize(views, None).expect("named vectors are valid tensors")
}

/// Decodes the checkpoint of `progress`. The error is the reason why the tensors are invalid.
pub fn decode<F: Real>(
    bytes: &[u8],
    identity: &RunIdentity,
    progress: Progress,
) -> Result<Checkpoint<F>, String> {
    let tensors = SafeTensors::deserialize(bytes).map_err(|error| error.to_string())?;
    let vector = |name: &str| read_vector(&tensors, name, identity.parameters);
    let params = vector(PARAMS)?;
    let moments =
        (0..identity.moments).map(|i| vector(&moment(i))).collect::<Result<Vec<_>, _>>()?;
    let best = progress.best.map(|_| vector(BEST)).transpose()?;
    let has_average = tensors.names().contains(&AVERAGE);
    let average = has_average.then(|| vector(AVERAGE)).transpose()?;
    let phases = read_phases(&progress, vector)?;
    let carried = match identity.carried {
        0 => vec![],
        numbers => read_vector(&tensors, CARRIED, numbers)?,
    };
    let parts = [moments.len(), best.iter().len(), average.iter().len(), phases.len()];
    let expected = 1 + parts.iter().sum::<usize>() + !carried.is_empty() as usize;
    if tensors.len() != expected {
        return Err(format!("{} tensors instead of {expected}", tensors.len()));
    }
    let made = progress.update.checked_sub(progress.skipped_updates);
    let updates = made.ok_or("more skipped updates than updates")?;
    let snapshot = Snapshot { params, moments, updates };
    Ok(Checkpoint { progress, snapshot, best, average, phases, carried })
}

/// The parameters of every phase. A phase without its evaluation in the history is damage.
fn read_phases<F>(
    progress: &Progress,
    vector: impl Fn(&str) -> Result<Vec<F>, String>,
) -> Result<Vec<Vec<F>>, String> {
    let updates = &progress.phase_best;
    if updates.len() as u64 > MAX_PHASES {
        return Err(format!("{} phases, at most {MAX_PHASES} keep a network", updates.len()));
    }
    let evaluated = |update: &u64| progress.history.iter().any(|record| record.update == *update);
    match updates.iter().find(|update| !evaluated(update)) {
        Some(update) => Err(format!("no evaluation of update {update}, the best of a phase")),
        None => (0..updates.len()).map(|index| vector(&phase(index))).collect(),
    }
}

fn read_vector<F: Real>(
    tensors: &SafeTensors<'_>,
    name: &str,
    len: usize,
) -> Result<Vec<F>, String> {
    let tensor = tensors.tensor(name).map_err(|_| format!("no tensor \"{name}\""))?;
    if tensor.dtype() != dtype::<F>() || tensor.shape() != [len] {
        let (found, shape, expected) = (tensor.dtype(), tensor.shape(), dtype::<F>());
        return Err(format!("\"{name}\" is {found:?}{shape:?} instead of {expected:?}[{len}]"));
    }
    Ok(from_bytes(tensor.data()))
}

fn dtype<F: Real>() -> Dtype {
    if size_of::<F>() == size_of::<f32>() { Dtype::F32 } else { Dtype::F64 }
}

/// Little-endian. The conversion of single to double precision and back is exact.
fn to_bytes<F: Real>(values: &[F]) -> Vec<u8> {
    match dtype::<F>() {
        Dtype::F32 => values.iter().flat_map(|x| (x.to() as f32).to_le_bytes()).collect(),
        _ => values.iter().flat_map(|x| x.to().to_le_bytes()).collect(),
    }
}

fn from_bytes<F: Real>(bytes: &[u8]) -> Vec<F> {
    let (singles, doubles) = (bytes.as_chunks::<4>().0, bytes.as_chunks::<8>().0);
    match dtype::<F>() {
        Dtype::F32 => singles.iter().map(|&b| F::of(f32::from_le_bytes(b) as f64)).collect(),
        _ => doubles.iter().map(|&b| F::of(f64::from_le_bytes(b))).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_give_back_the_same_bits_in_both_precisions() {
        let singles = [0.0f32, -0.0, 1.0, f32::MIN_POSITIVE / 8.0, f32::MAX, -1e-30];
        let back: Vec<f32> = from_bytes(&to_bytes(&singles));
        assert_eq!(
            singles.map(f32::to_bits).to_vec(),
            Vec::from_iter(back.iter().map(|x| x.to_bits()))
        );
        let doubles = [0.1f64, -0.0, 5e-324, f64::MAX, std::f64::consts::PI];
        let back: Vec<f64> = from_bytes(&to_bytes(&doubles));
        assert_eq!(
            doubles.map(f64::to_bits).to_vec(),
            Vec::from_iter(back.iter().map(|x| x.to_bits()))
        );
    }
}
