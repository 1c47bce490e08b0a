//! The interface between data and training: the loop addresses sequences by index and requests
//! batches of them.

use super::batch::batch;
use super::job::TrainJobError;
use super::regularisation::InputNoise;
use crate::engine::{Batch, Inputs, Targets};
use crate::key::Key;
use crate::model::{Arch, Input, When};
use crate::task::copying::{self, Copying};
use crate::task::images::Images;
use crate::task::{Dataset, Sequence, UNKNOWN};

/// Sequences with their targets.
///
/// There is one implementation per kind of data. It alone defines inputs and targets, and which
/// architectures can read them.
pub trait Examples {
    /// The number of sequences.
    fn count(&self) -> usize;

    /// The number of steps of a sequence, without start and end tokens. The curriculum sorts by it.
    fn length(&self, index: usize) -> usize;

    /// A batch of the sequences at `indices` for the architecture, with targets.
    ///
    /// # Panics
    /// If an index is out of range.
    fn batch(&self, indices: &[usize], arch: &Arch) -> Batch;

    /// Whether each sequence continues the one before it, so that states are carried over.
    fn continues(&self) -> bool {
        false
    }

    /// Whether evaluations count every pair of true and predicted class. A vocabulary has too many.
    fn has_confusion(&self) -> bool {
        true
    }

    /// A batch for an update, with noise on its inputs. [`check_noise`](Examples::check_noise) has
    /// accepted the noise.
    fn noisy_batch(&self, indices: &[usize], arch: &Arch, noise: &InputNoise, key: &Key) -> Batch {
        let _ = (noise, key);
        self.batch(indices, arch)
    }

    /// Fails for noise that this kind of data does not have. Default: accepts no noise.
    fn check_noise(&self, noise: &InputNoise) -> Result<(), TrainJobError> {
        match *noise == InputNoise::default() {
            true => Ok(()),
            false => Err(TrainJobError::Noise { remedy: "remove regularisation.noise" }),
        }
    }

    /// Fails for an architecture that cannot be trained on this set, and for invalid sequences.
    /// `set` is the name of the set in errors.
    fn check(&self, set: &'static str, arch: &Arch) -> Result<(), TrainJobError>;

    /// A hash of the content. A run resumes only with data of the same digest.
    fn digest(&self) -> String;

    /// The approximate memory in bytes.
    fn bytes(&self) -> u64;
}

impl Examples for Dataset {
    fn count(&self) -> usize {
        self.sequences.len()
    }

    fn length(&self, index: usize) -> usize {
        self.sequences[index].tokens.len()
    }

    fn batch(&self, indices: &[usize], arch: &Arch) -> Batch {
        batch(self, indices, arch)
    }

    fn noisy_batch(&self, indices: &[usize], arch: &Arch, noise: &InputNoise, key: &Key) -> Batch {
        let mut batch = self.batch(indices, arch);
        let unknown = self.alphabet.iter().position(|name| name == UNKNOWN);
        if let (Inputs::Tokens(ids), Some(unknown)) = (&mut batch.input, unknown) {
            drop_words(ids, unknown as u32, self.alphabet.len(), noise.word_dropout, key);
        }
        batch
    }

    fn check_noise(&self, noise: &InputNoise) -> Result<(), TrainJobError> {
        let has_unknown = self.alphabet.iter().any(|name| name == UNKNOWN);
        let remedy = match noise {
            InputNoise { shift: 1.., .. } => "set regularisation.noise.shift to 0: it moves images",
            InputNoise { word_dropout, .. } if *word_dropout > 0.0 && !has_unknown => {
                "set regularisation.noise.word_dropout to 0, or make rare words `<unk>` (min_count)"
            }
            _ => return Ok(()),
        };
        Err(TrainJobError::Noise { remedy })
    }

    fn check(&self, set: &'static str, arch: &Arch) -> Result<(), TrainJobError> {
        let data = "labelled sequences";
        if arch.readout.when == When::EveryStep {
            let remedy = "read out after the last step";
            return Err(TrainJobError::Unsupported {
                data,
                what: "a read-out at every step",
                remedy,
            });
        }
        let symbols = symbols(data, arch)?;
        check_sizes(set, [self.count(), self.alphabet.len(), self.classes.len()], arch)?;
        check_ranges(set, &self.sequences, symbols, arch.classes)
    }

    fn digest(&self) -> String {
        self.digest()
    }

    fn bytes(&self) -> u64 {
        let tokens: u64 = self.sequences.iter().map(|s| s.tokens.len() as u64).sum();
        let sequences = self.sequences.len() as u64 * size_of::<Sequence>() as u64;
        tokens * size_of::<u32>() as u64 + sequences
    }
}

/// Every step is a symbol with a target. There are no start and end tokens.
impl Examples for Copying {
    fn count(&self) -> usize {
        self.remembered.len()
    }

    fn length(&self, _: usize) -> usize {
        self.steps()
    }

    fn batch(&self, indices: &[usize], _: &Arch) -> Batch {
        let tokens = indices.iter().flat_map(|&index| self.tokens(index)).collect();
        let targets = indices.iter().flat_map(|&index| self.targets(index)).collect();
        Batch {
            offsets: (0..=indices.len()).map(|row| row * self.steps()).collect(),
            input: Inputs::Tokens(tokens),
            targets: Targets::Steps(targets),
            class_weights: vec![],
            initial: vec![],
        }
    }

    fn check(&self, set: &'static str, arch: &Arch) -> Result<(), TrainJobError> {
        check_every_step(arch)?;
        check_sizes(set, [self.count(), copying::SYMBOLS, copying::CLASSES], arch)?;
        let symbols = 1..copying::CLASSES as u8;
        for (index, remembered) in self.remembered.iter().enumerate() {
            if let Some(&found) = remembered.iter().find(|&symbol| !symbols.contains(symbol)) {
                return Err(TrainJobError::InvalidSymbol { set, index, found });
            }
        }
        Ok(())
    }

    fn digest(&self) -> String {
        self.digest()
    }

    fn bytes(&self) -> u64 {
        size_of_val(&self.remembered[..]) as u64
    }
}

/// A step is a pixel, a number from 0 to 1.
impl Examples for Images {
    fn count(&self) -> usize {
        self.count()
    }

    fn length(&self, _: usize) -> usize {
        self.steps()
    }

    fn batch(&self, indices: &[usize], _: &Arch) -> Batch {
        let mut pixels = Vec::with_capacity(indices.len() * self.steps());
        // PERF: compiled for the SIMD level of the machine: 128 images of MNIST in 32 µs; 56 without.
        pulp::Arch::new().dispatch(
            #[inline(always)]
            || {
                for &index in indices {
                    pixels.extend(self.pixels(index).iter().map(|&pixel| f32::from(pixel) / 255.0));
                }
            },
        );
        self.batch_of(pixels, indices)
    }

    fn noisy_batch(&self, indices: &[usize], arch: &Arch, noise: &InputNoise, key: &Key) -> Batch {
        if noise.shift == 0 {
            return self.batch(indices, arch);
        }
        let mut rng = key.rng();
        let mut offset = || rng.below(2 * noise.shift + 1) as isize - noise.shift as isize;
        let mut pixels = Vec::with_capacity(indices.len() * self.steps());
        for &index in indices {
            let offsets = [offset(), offset()];
            pixels.extend(self.shifted(index, offsets).map(|pixel| f32::from(pixel) / 255.0));
        }
        self.batch_of(pixels, indices)
    }

    fn check_noise(&self, noise: &InputNoise) -> Result<(), TrainJobError> {
        match noise.word_dropout == 0.0 {
            true => Ok(()),
            false => Err(TrainJobError::Noise {
                remedy: "set regularisation.noise.word_dropout to 0: images have no words",
            }),
        }
    }

    fn check(&self, set: &'static str, arch: &Arch) -> Result<(), TrainJobError> {
        let data = "images";
        let refuse = |what, remedy| Err(TrainJobError::Unsupported { data, what, remedy });
        match arch.input {
            Input::Real { width: 1 } => {}
            Input::Real { .. } => {
                return refuse("several numbers per step", "use one number, the pixel");
            }
            Input::Tokens { .. } => {
                return refuse("token inputs", "use one number per step, the pixel");
            }
        }
        if arch.readout.when == When::EveryStep {
            return refuse("a read-out at every step", "read out after the last step");
        }
        if self.count() == 0 {
            return Err(TrainJobError::Empty { set });
        }
        let (what, found, expected) = ("classes", self.classes().len(), arch.classes);
        match found == expected {
            true => Ok(()),
            false => Err(TrainJobError::Sizes { set, what, found, expected }),
        }
    }

    fn digest(&self) -> String {
        self.digest()
    }

    fn bytes(&self) -> u64 {
        self.count() as u64 * (self.steps() as u64 + 1)
    }
}

impl Images {
    /// A batch of the images at `indices`, with these pixels `[images, T]`.
    fn batch_of(&self, pixels: Vec<f32>, indices: &[usize]) -> Batch {
        Batch {
            offsets: (0..=indices.len()).map(|row| row * self.steps()).collect(),
            input: Inputs::Real(pixels),
            targets: Targets::Rows(indices.iter().map(|&i| self.label(i).into()).collect()),
            class_weights: vec![],
            initial: vec![],
        }
    }
}

/// Replaces each symbol by `unknown` with a probability. Start and end tokens, whose ids follow
/// those of the symbols, stay.
pub(super) fn drop_words(
    ids: &mut [u32],
    unknown: u32,
    symbols: usize,
    probability: f64,
    key: &Key,
) {
    if probability == 0.0 {
        return;
    }
    let mut rng = key.rng();
    for id in ids.iter_mut().filter(|id| (**id as usize) < symbols) {
        if rng.unit() < probability {
            *id = unknown;
        }
    }
}

/// Fails for architectures that cannot be trained with a target at every step.
pub(super) fn check_every_step(arch: &Arch) -> Result<(), TrainJobError> {
    let data = "sequences with a target at every step";
    symbols(data, arch)?;
    let refuse = |what, remedy| Err(TrainJobError::Unsupported { data, what, remedy });
    if arch.readout.when == When::Last {
        return refuse("a read-out after the last step", "read out at every step");
    }
    if arch.input.start().is_some() {
        return refuse("a start token", "remove it, it has no target");
    }
    if arch.input.end().is_some() {
        return refuse("an end token", "remove it, it has no target");
    }
    Ok(())
}

/// The number of symbols of the network. It fails for networks with real-valued inputs; `data`
/// names the kind of data in the error.
fn symbols(data: &'static str, arch: &Arch) -> Result<usize, TrainJobError> {
    match arch.input {
        Input::Tokens { symbols, .. } => Ok(symbols),
        Input::Real { .. } => {
            let remedy = "use token inputs";
            Err(TrainJobError::Unsupported { data, what: "real-valued inputs", remedy })
        }
    }
}

/// Compares the numbers of sequences, symbols and classes of a set with those of the network.
pub(super) fn check_sizes(
    set: &'static str,
    sizes: [usize; 3],
    arch: &Arch,
) -> Result<(), TrainJobError> {
    let [sequences, symbols, classes] = sizes;
    if sequences == 0 {
        return Err(TrainJobError::Empty { set });
    }
    let known =
        arch.input.vocabulary() - arch.input.start().iter().len() - arch.input.end().iter().len();
    for (what, found, expected) in [("symbols", symbols, known), ("classes", classes, arch.classes)]
    {
        if found != expected {
            return Err(TrainJobError::Sizes { set, what, found, expected });
        }
    }
    Ok(())
}

fn check_ranges(
    set: &'static str,
    sequences: &[Sequence],
    symbols: usize,
    classes: usize,
) -> Result<(), TrainJobError> {
    for (index, sequence) in sequences.iter().enumerate() {
        let wrong = sequence.tokens.iter().find(|&&token| token as usize >= symbols);
        if let Some(&found) = wrong {
            return Err(TrainJobError::OutOfRange {
                set,
                index,
                what: "token",
                found,
                limit: symbols,
            });
        }
        let found = sequence.label;
        if found as usize >= classes {
            return Err(TrainJobError::OutOfRange {
                set,
                index,
                what: "label",
                found,
                limit: classes,
            });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::config::TrainConfig;
    use super::super::job::TrainJob;
    use super::super::recipe::Recipe;
    use super::super::testing::{copying_recipe, small_copying};
    use super::*;
    use crate::key::Key;
    use crate::task::Split;

    #[test]
    fn a_batch_of_copying_has_a_target_at_every_step() {
        let set = small_copying().train;
        let batch = set.batch(&[4, 1], &copying_recipe().arch);
        assert_eq!(batch.offsets, [0, 23, 46]);
        let Inputs::Tokens(tokens) = &batch.input else { panic!("no tokens") };
        let Targets::Steps(targets) = &batch.targets else { panic!("no targets") };
        for (row, index) in [(0, 4), (1, 1)] {
            let steps = batch.row(row);
            assert!(tokens[steps.clone()].iter().copied().eq(set.tokens(index)));
            assert!(targets[steps].iter().copied().eq(set.targets(index)));
        }
    }

    /// Three images of two pixels.
    fn small_images() -> Images {
        Images::new([1, 2], vec![0, 255, 51, 102, 153, 204], vec![0, 1, 1])
    }

    fn pixel_arch() -> Arch {
        Arch {
            input: Input::Real { width: 1 },
            readout: crate::model::Readout::new(crate::model::ReadFrom::Hc, When::Last),
            classes: 10,
            ..copying_recipe().arch
        }
    }

    #[test]
    fn a_batch_of_images_has_one_pixel_a_step_divided_by_255() {
        let batch = small_images().batch(&[2, 0], &pixel_arch());
        assert_eq!(batch.offsets, [0, 2, 4]);
        assert_eq!(batch.input, Inputs::Real(vec![0.6, 0.8, 0.0, 1.0]));
        assert_eq!(batch.targets, Targets::Rows(vec![1, 0]));
    }

    #[test]
    fn shifted_images_are_drawn_from_the_key_and_keep_their_labels() {
        let (set, arch) = (small_images(), pixel_arch());
        let noise = InputNoise { shift: 1, ..InputNoise::default() };
        let batch = |key| set.noisy_batch(&[1; 60], &arch, &noise, &Key::new(key));
        assert_eq!(batch(1), batch(1));
        assert_ne!(batch(1), batch(2));
        assert_eq!(batch(1).targets, Targets::Rows(vec![1; 60]));
        let Inputs::Real(pixels) = batch(1).input else { panic!("no pixels") };
        // One row of two pixels, 51 and 102: moved left, moved right, in place, or out of sight.
        let expected = [[0.4, 0.0], [0.0, 0.2], [0.2, 0.4], [0.0, 0.0]];
        let rows = pixels.as_chunks::<2>().0;
        assert!(rows.iter().all(|row| expected.contains(row)), "{rows:?}");
        assert!(expected.iter().all(|row| rows.contains(row)), "{rows:?}");
        assert_eq!(
            set.noisy_batch(&[1], &arch, &InputNoise::default(), &Key::new(1)),
            set.batch(&[1], &arch)
        );
    }

    #[test]
    fn word_dropout_replaces_symbols_but_not_start_and_end_tokens() {
        let mut set = crate::task::tests::dataset(&[("abababab", "x"), ("b", "y")]);
        let none = InputNoise::default();
        let noise = InputNoise { word_dropout: 0.5, ..none };
        assert!(set.check_noise(&noise).unwrap_err().to_string().contains("`<unk>`"));
        set.alphabet.push(UNKNOWN.into());
        set.check_noise(&noise).unwrap();
        assert!(set.check_noise(&InputNoise { shift: 1, ..none }).is_err());
        assert!(small_images().check_noise(&noise).is_err());
        assert!(small_copying().train.check_noise(&noise).is_err());
        let input = Input::Tokens { symbols: 3, embedding: 4, start: true, end: true };
        let arch = Arch { input, ..copying_recipe().arch };
        let ids = |noise, key| match set.noisy_batch(&[0], &arch, noise, &Key::new(key)).input {
            Inputs::Tokens(ids) => ids,
            Inputs::Real(_) => panic!("no tokens"),
        };
        let (clean, noisy) = (ids(&none, 1), ids(&noise, 1));
        assert_eq!((noisy[0], noisy[9], noisy.len()), (3, 4, 10), "{noisy:?}");
        assert!(noisy.iter().zip(&clean).all(|(found, &own)| [2, own].contains(found)));
        assert!(noisy.contains(&2) && noisy[1..9].iter().any(|&id| id != 2), "{noisy:?}");
        assert_ne!(noisy, ids(&noise, 2));
    }

    #[test]
    fn architectures_that_cannot_read_images_are_refused() {
        let train = TrainConfig::default();
        let images = |train| Split { train, valid: small_images(), test: None };
        let check = |split: &Split<Images>, arch: &Arch| {
            let job = TrainJob { split, config: &train, key: Key::new(1) };
            job.validate(arch).map_err(|error| error.to_string())
        };
        let (good, arch) = (images(small_images()), pixel_arch());
        assert_eq!(check(&good, &arch), Ok(()));
        let wide = Arch { input: Input::Real { width: 2 }, ..arch.clone() };
        assert!(check(&good, &wide).unwrap_err().contains("use one number, the pixel"));
        let tokens = Arch { input: copying_recipe().arch.input, ..arch.clone() };
        assert!(check(&good, &tokens).unwrap_err().contains("token inputs"));
        let more = Arch { classes: 3, ..arch.clone() };
        assert!(check(&good, &more).unwrap_err().contains("10 classes, the network 3"));
        let mut every = arch.clone();
        every.readout.when = When::EveryStep;
        assert!(check(&good, &every).unwrap_err().contains("read out after the last step"));
        let none = images(small_images().first(0));
        assert!(check(&none, &arch).unwrap_err().contains("training set has no sequences"));
    }

    #[test]
    fn jobs_that_do_not_fit_a_target_at_every_step_are_refused() {
        type Change = fn(&mut Split<Copying>, &mut TrainConfig, &mut Arch);
        fn input(symbols: usize, start: bool, end: bool) -> Input {
            Input::Tokens { symbols, embedding: 4, start, end }
        }
        let cases: [(&str, Change); 9] = [
            ("read out at every step", |_, _, a| a.readout.when = When::Last),
            ("a start token: remove it", |_, _, a| a.input = input(10, true, false)),
            ("an end token: remove it", |_, _, a| a.input = input(10, false, true)),
            ("real-valued inputs", |_, _, a| a.input = Input::Real { width: 4 }),
            ("10 symbols, the network 11", |_, _, a| a.input = input(11, false, false)),
            ("9 classes, the network 10", |_, _, a| a.classes = 10),
            ("validation set has no sequences", |s, _, _| s.valid.remembered.clear()),
            ("sequence 5 of the training set has symbol 9", |s, _, _| s.train.remembered[5][2] = 9),
            ("2 class weights for 9 classes", |_, c, _| c.class_weights = vec![1.0; 2]),
        ];
        let Recipe { arch, train: config, .. } = copying_recipe();
        let job = TrainJob { split: &small_copying(), config: &config, key: Key::new(1) };
        job.validate(&arch).unwrap();
        for (words, change) in cases {
            let (mut split, mut config, mut arch) = (small_copying(), config.clone(), arch.clone());
            change(&mut split, &mut config, &mut arch);
            let job = TrainJob { split: &split, config: &config, key: Key::new(1) };
            let error = job.validate(&arch).unwrap_err().to_string();
            assert!(error.contains(words), "{words}: {error}");
        }
    }
}
