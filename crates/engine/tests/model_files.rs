//! Model files: a saved model loads unchanged, and damaged files are rejected.

use safetensors::tensor::TensorView;
use safetensors::{Dtype, SafeTensors};
use serde_json::{Value, json};
use srnn_engine::key::Key;
use srnn_engine::model::{
    Arch, Cell, Centroids, Gate, HeadWeights, ImageLayout, Init, Input, Layer, Model, ModelFile,
    ModelLimits, Problem, ReadFrom, Readout, Reset, Score, Temperature, Tokenizer, When, digest,
};
use std::fs;
use std::path::{Path, PathBuf};

/// A temporary folder for one test, removed when dropped.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("srnn-model-{}-{name}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        Folder(path)
    }

    fn with_model(name: &str) -> Folder {
        let folder = Folder::new(name);
        small().save(&folder.0).expect("a sound model is written");
        folder
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn small() -> ModelFile {
    let tau = Temperature::new(0.7).unwrap();
    let centroids = Some(Centroids { k: 4, score: Score::Euclidean, tau });
    let lstm = Cell::Lstm { peephole: true };
    let gru = Cell::Gru { reset: Reset::AfterMatrix };
    let arch = Arch {
        input: Input::Tokens { symbols: 3, embedding: 4, start: true, end: true },
        layers: vec![
            Layer { cell: lstm, units: 5, gate: Gate::HardSigmoid, bias: true, centroids },
            Layer { cell: gru, units: 6, gate: Gate::Sigmoid, bias: false, centroids: None },
        ],
        readout: Readout::new(ReadFrom::U, When::Last),
        classes: 2,
    };
    let model = Model::new(arch, &Init::default(), Key::new(5)).unwrap();
    let names = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
    ModelFile {
        model,
        alphabet: names(&["a", "<unk>", "ß\"\n"]),
        unknown: Some(1),
        classes: names(&["no", "yes"]),
        image: None,
        tokenizer: None,
    }
}

fn config(dir: &Path) -> PathBuf {
    dir.join("config.json")
}

fn weights(dir: &Path) -> PathBuf {
    dir.join("model.safetensors")
}

fn edit_config(dir: &Path, edit: impl Fn(&mut Value)) {
    let mut value = serde_json::from_slice(&fs::read(config(dir)).unwrap()).unwrap();
    edit(&mut value);
    fs::write(config(dir), value.to_string()).unwrap();
}

/// Name, type, shape and bytes.
type Tensor = (String, Dtype, Vec<usize>, Vec<u8>);

/// Rewrites the weights with a valid header and removes the digests.
fn edit_weights(dir: &Path, edit: impl Fn(&mut Vec<Tensor>)) {
    let bytes = fs::read(weights(dir)).unwrap();
    let file = SafeTensors::deserialize(&bytes).unwrap();
    let mut tensors: Vec<Tensor> = file
        .tensors()
        .into_iter()
        .map(|(name, t)| (name, t.dtype(), t.shape().to_vec(), t.data().to_vec()))
        .collect();
    tensors.sort_by(|a, b| a.0.cmp(&b.0));
    edit(&mut tensors);
    let views = tensors.iter().map(|(name, dtype, shape, data)| {
        (name, TensorView::new(*dtype, shape.clone(), data).unwrap())
    });
    fs::write(weights(dir), safetensors::serialize(views, None).unwrap()).unwrap();
    edit_config(dir, |config| {
        config["digest"] = Value::Null;
        config.as_object_mut().unwrap().remove("config_digest");
    });
}

fn to_f64(tensor: &mut Tensor) {
    let widen = |b: &[u8; 4]| (f32::from_le_bytes(*b) as f64).to_le_bytes();
    tensor.3 = tensor.3.as_chunks().0.iter().flat_map(widen).collect();
    tensor.1 = Dtype::F64;
}

/// A file of a header without data.
fn header(text: &str) -> Vec<u8> {
    [&(text.len() as u64).to_le_bytes(), text.as_bytes()].concat()
}

/// Damages a valid model and returns the error of loading it.
fn load_error(name: &str, damage: impl Fn(&Path)) -> String {
    let folder = Folder::with_model(name);
    damage(&folder.0);
    match ModelFile::load(&folder.0) {
        Ok(_) => panic!("{name}: loaded"),
        Err(error) => error.to_string(),
    }
}

#[test]
fn a_saved_model_comes_back_bit_for_bit() {
    let folder = Folder::with_model("round-trip");
    assert_eq!(ModelFile::load(&folder.0).unwrap(), small());
    let names: Vec<_> = fs::read_dir(&folder.0).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(names.len(), 2, "{names:?}");
}

#[test]
fn a_second_save_replaces_the_first() {
    let folder = Folder::with_model("replace");
    let mut other = small();
    other.model.params[0] = 7.0;
    other.classes[0] = "never".into();
    other.save(&folder.0).unwrap();
    assert_eq!(ModelFile::load(&folder.0).unwrap(), other);
}

#[test]
fn the_digest_depends_on_every_number_and_on_the_shapes() {
    let model = small().model;
    let before = digest(&model);
    assert_eq!(before.len(), 64);
    for at in [0, 17, model.params.len() - 1] {
        let mut other = model.clone();
        other.params[at] = -other.params[at] - 1.0;
        assert_ne!(digest(&other), before, "parameter {at}");
    }
    let mut wider = model.clone();
    wider.arch.classes = 3;
    wider.params.resize(wider.layout().len, 0.0);
    assert_ne!(digest(&wider), before);
}

#[test]
fn double_precision_and_a_missing_digest_are_read() {
    let folder = Folder::with_model("doubles");
    edit_weights(&folder.0, |tensors| tensors.iter_mut().for_each(to_f64));
    assert_eq!(ModelFile::load(&folder.0).unwrap(), small());
    edit_config(&folder.0, |config| {
        config.as_object_mut().unwrap().remove("digest");
    });
    assert_eq!(ModelFile::load(&folder.0).unwrap(), small());
}

#[test]
fn swapped_class_names_are_detected() {
    let folder = Folder::with_model("exchanged");
    edit_config(&folder.0, |config| config["classes"].as_array_mut().unwrap().reverse());
    let message = ModelFile::load(&folder.0).unwrap_err().to_string();
    assert!(
        message.contains("config.json") && message.contains("changed after it was written"),
        "{message}"
    );
    edit_config(&folder.0, |config| {
        config.as_object_mut().unwrap().remove("config_digest");
    });
    assert!(ModelFile::load(&folder.0).is_ok(), "without the digest a change is accepted");
}

#[test]
fn an_inconsistent_model_is_not_written() {
    let folder = Folder::new("unsaid");
    let broken: [fn(&mut ModelFile); 5] = [
        |file| file.alphabet.truncate(2),
        |file| file.classes.push("maybe".into()),
        |file| file.unknown = Some(3),
        |file| file.model.params[3] = f32::NAN,
        |file| file.alphabet[0] = "<unk>".into(),
    ];
    for (i, broken) in broken.iter().enumerate() {
        let mut file = small();
        broken(&mut file);
        assert!(file.save(&folder.0).is_err(), "number {i} was written");
    }
    assert!(!folder.0.exists(), "something was written");
}

#[test]
fn damaged_configs_are_rejected_with_a_reason() {
    type Edit = fn(&mut Value);
    let cases: [(&str, Edit, &str); 18] = [
        ("format", |c| c["format"] = json!("pytorch"), "format \"pytorch\""),
        ("version", |c| c["version"] = json!(2), "version 2, but only 1"),
        ("no-arch", |c| drop(c.as_object_mut().unwrap().remove("arch")), "missing field `arch`"),
        ("extra", |c| c["colour"] = json!("red"), "unknown field `colour`"),
        ("extra-deep", |c| c["arch"]["layers"][0]["colour"] = json!(1), "unknown field `colour`"),
        ("tau", |c| c["arch"]["layers"][0]["centroids"]["tau"] = json!(0), "temperature 0"),
        ("no-layers", |c| c["arch"]["layers"] = json!([]), "number of layers is 0"),
        ("units", |c| c["arch"]["layers"][0]["units"] = json!(u64::MAX), "number of units is 1844"),
        ("negative", |c| c["arch"]["classes"] = json!(-1), "integer `-1`"),
        ("symbols", |c| c["arch"]["input"]["symbols"] = json!(u64::MAX), "symbols is 1844"),
        ("product", |c| c["arch"]["layers"][0]["units"] = json!(1 << 20), "parameters"),
        (
            "cell",
            |c| c["arch"]["layers"][0]["cell"]["kind"] = json!("rnn"),
            "unknown variant `rnn`",
        ),
        ("read-c", |c| c["arch"]["readout"]["from"] = json!("c"), "a GRU has none"),
        ("alphabet", |c| c["alphabet"] = json!(["a"]), "1 names for 3"),
        ("twice", |c| c["classes"] = json!(["no", "no"]), "\"no\" occurs twice"),
        ("unknown", |c| c["unknown"] = json!(3), "only 3 symbols"),
        ("long-name", |c| c["classes"][0] = json!("x".repeat(2000)), "length of a name"),
        ("digest", |c| c["digest"] = json!("00"), "different saves"),
    ];
    for (name, edit, expected) in cases {
        let message = load_error(name, |dir| edit_config(dir, edit));
        assert!(message.contains(expected), "{name}: {message}");
        let file = if name == "digest" { "model.safetensors" } else { "config.json" };
        assert!(message.contains(file), "{name} does not name the file: {message}");
    }
}

#[test]
fn damaged_weights_are_rejected_with_a_reason() {
    type Edit = fn(&mut Vec<Tensor>);
    let cases: [(&str, Edit, &str); 7] = [
        ("shape", |t| t[0].2 = vec![5, 4], "centroids_l0 has shape [5, 4], but"),
        ("transposed", |t| t[0].2.reverse(), "[5, 4], but config.json says [4, 5]"),
        ("tensor", |t| drop(t.remove(1)), "no tensor \"embedding.weight\" of shape [5, 4]"),
        ("more", |t| t.push(("x".into(), Dtype::F32, vec![0], vec![])), "a tensor \"x\""),
        ("half", |t| half(&mut t[0]), "stored as F16"),
        ("nan", |t| t[0].3[..4].copy_from_slice(&f32::NAN.to_le_bytes()), "centroids_l0[0] is NaN"),
        ("large", |t| too_large(&mut t[0]), "centroids_l0[2] is inf"),
    ];
    for (name, edit, expected) in cases {
        let message = load_error(name, |dir| edit_weights(dir, edit));
        assert!(
            message.contains(expected) && message.contains("model.safetensors"),
            "{name}: {message}"
        );
    }
}

fn half(tensor: &mut Tensor) {
    tensor.1 = Dtype::F16;
    tensor.3.truncate(tensor.3.len() / 2);
}

/// A double beyond the range of single precision.
fn too_large(tensor: &mut Tensor) {
    to_f64(tensor);
    tensor.3[16..24].copy_from_slice(&1e300f64.to_le_bytes());
}

#[test]
fn damaged_files_are_rejected_with_a_reason() {
    type Damage = fn(&Path);
    let huge =
        "{\"a\":{\"dtype\":\"F32\",\"shape\":[4611686018427387904,4],\"data_offsets\":[0,0]}}";
    let cases: [(&str, Damage, &str); 10] = [
        ("no-config", |d| fs::remove_file(config(d)).unwrap(), "no such file"),
        ("no-weights", |d| fs::remove_file(weights(d)).unwrap(), "no such file"),
        ("no-json", |d| fs::write(config(d), "{").unwrap(), "line 1 column 1"),
        ("deep", |d| fs::write(config(d), "[".repeat(100_000)).unwrap(), "not a model's config"),
        ("empty", |d| fs::write(weights(d), "").unwrap(), "header too small"),
        ("short", |d| truncate(&weights(d), 40), "damaged"),
        ("cut", |d| truncate(&weights(d), 700), "damaged"),
        ("header", |d| fs::write(weights(d), [255; 64]).unwrap(), "header's length"),
        ("folder", |d| replace_by_folder(&weights(d)), "not a plain file"),
        ("huge", |d| fs::write(weights(d), vec![0; 2 << 20]).unwrap(), "the file's size"),
    ];
    for (name, damage, expected) in cases {
        let message = load_error(name, damage);
        assert!(message.contains(expected), "{name}: {message}");
    }
    let message = load_error("overflow", |dir| fs::write(weights(dir), header(huge)).unwrap());
    assert!(message.contains("overflow"), "{message}");
}

fn truncate(path: &Path, length: usize) {
    let bytes = fs::read(path).unwrap();
    fs::write(path, &bytes[..length]).unwrap();
}

fn replace_by_folder(path: &Path) {
    fs::remove_file(path).unwrap();
    fs::create_dir(path).unwrap();
}

#[test]
fn a_folder_that_is_not_there_or_is_a_file_is_rejected() {
    let folder = Folder::with_model("elsewhere");
    for path in [folder.0.join("nowhere"), config(&folder.0)] {
        let error = ModelFile::load(&path).unwrap_err();
        assert!(matches!(error.problem, Problem::Missing), "{error}");
    }
    assert!(small().save(&config(&folder.0)).is_err(), "a file was taken for a folder");
}

#[cfg(unix)]
#[test]
fn links_are_followed_to_files_and_rejected_to_anything_else() {
    use std::os::unix::fs::symlink;
    let folder = Folder::with_model("links");
    let linked = Folder::new("linked");
    symlink(&folder.0, &linked.0).unwrap();
    assert_eq!(ModelFile::load(&linked.0).unwrap(), small());
    fs::remove_file(&linked.0).unwrap();
    for target in [folder.0.as_path(), Path::new("/dev/zero")] {
        fs::remove_file(weights(&folder.0)).unwrap();
        symlink(target, weights(&folder.0)).unwrap();
        let error = ModelFile::load(&folder.0).unwrap_err();
        assert!(matches!(error.problem, Problem::NotAFile), "{error}");
    }
}

#[test]
fn a_model_with_tied_weights_has_no_weights_of_the_classifier_and_survives_a_round_trip() {
    let folder = Folder::with_model("tied");
    let mut file = ModelFile::load(&folder.0).unwrap();
    let mut arch = file.model.arch.clone();
    arch.readout.weights = HeadWeights::Embedding;
    let error = arch.validate().unwrap_err().to_string();
    assert!(error.contains("cannot be the classifier's weight"), "{error}");
    arch.classes = arch.input.vocabulary();
    if let Input::Tokens { embedding, .. } = &mut arch.input {
        *embedding = arch.layers.last().unwrap().units;
    }
    file.classes = (0..arch.classes).map(|class| format!("class {class}")).collect();
    file.model = Model::new(arch, &Init::default(), Key::new(1)).unwrap();
    let names: Vec<String> = file.model.layout().slots.into_iter().map(|slot| slot.name).collect();
    assert!(!names.contains(&"head.weight".into()), "{names:?}");
    file.save(&folder.0).unwrap();
    assert_eq!(ModelFile::load(&folder.0).unwrap().model, file.model);
}

#[test]
fn callers_can_lower_the_limits() {
    let folder = Folder::with_model("limits");
    let whole = ModelLimits::default();
    for limits in [
        ModelLimits { config_bytes: 100, ..whole },
        ModelLimits { header_bytes: 100, ..whole },
        ModelLimits { layers: 1, ..whole },
        ModelLimits { size: 4, ..whole },
        ModelLimits { name_bytes: 1, ..whole },
        ModelLimits { parameters: 100, ..whole },
    ] {
        let error = ModelFile::load_within(&folder.0, &limits).unwrap_err();
        assert!(matches!(error.problem, Problem::TooLarge { .. }), "{limits:?}: {error}");
    }
}

/// Whatever is flipped, cut or repeated, loading returns the model or an error. Changed weights are
/// always detected, because the digest covers them.
#[test]
fn random_damage_never_panics_and_never_changes_the_weights() {
    let folder = Folder::with_model("random");
    let whole = [config(&folder.0), weights(&folder.0)].map(|path| fs::read(path).unwrap());
    let mut loaded = 0;
    for round in 0..1_000 {
        let mut draw = Key::new(1).child("damage", round).rng();
        let mut files = whole.clone();
        let bytes = &mut files[draw.below(2)];
        match draw.below(4) {
            0 => bytes.truncate(draw.below(bytes.len())),
            1 => bytes.extend_from_within(draw.below(bytes.len())..),
            _ => {
                for _ in 0..1 + draw.below(3) {
                    let at = draw.below(bytes.len());
                    bytes[at] ^= 1 << draw.below(8);
                }
            }
        }
        fs::write(config(&folder.0), &files[0]).unwrap();
        fs::write(weights(&folder.0), &files[1]).unwrap();
        if let Ok(file) = ModelFile::load(&folder.0) {
            loaded += 1;
            assert_eq!(file.model.params, small().model.params, "round {round}");
        }
    }
    // Some damage loads: another letter in a name, for example.
    assert!(loaded < 500, "{loaded} of 1000 damaged pairs were loaded");
}

/// A model that reads images of 2×3 pixels in some order.
fn image_model(order: Vec<u32>) -> ModelFile {
    let small = small();
    let arch = Arch { input: Input::Real { width: 1 }, ..small.model.arch };
    let model = Model::new(arch, &Init::default(), Key::new(5)).unwrap();
    let image = Some(ImageLayout { rows: 2, columns: 3, order });
    ModelFile { model, alphabet: vec![], unknown: None, image, ..small }
}

#[test]
fn the_layout_of_images_is_saved_and_checked() {
    for order in [vec![], vec![5, 3, 1, 0, 2, 4]] {
        let folder = Folder::new("image");
        let model = image_model(order);
        model.save(&folder.0).unwrap();
        assert_eq!(ModelFile::load(&folder.0).unwrap(), model);
    }
    let folder = Folder::new("bad-image");
    let error = image_model(vec![0, 0, 1, 2, 3, 4]).save(&folder.0).unwrap_err();
    assert!(matches!(error.problem, Problem::ImageLayout), "{error}");
    let tokens = ModelFile { image: image_model(vec![]).image, ..small() };
    let error = tokens.save(&folder.0).unwrap_err();
    assert!(matches!(error.problem, Problem::ImageInput), "{error}");
}

#[test]
fn the_tokenizer_of_texts_is_saved_and_needs_a_model_that_reads_tokens() {
    for tokenizer in Tokenizer::ALL {
        let folder = Folder::new("tokenizer");
        let model = ModelFile { tokenizer: Some(tokenizer), ..small() };
        model.save(&folder.0).unwrap();
        assert_eq!(ModelFile::load(&folder.0).unwrap(), model);
        let numbers = ModelFile { tokenizer: Some(tokenizer), ..image_model(vec![]) };
        let error = numbers.save(&folder.0).unwrap_err();
        assert!(matches!(error.problem, Problem::TokenizerInput), "{error}");
    }
}

#[test]
fn a_tokenizer_of_another_name_is_refused_and_the_known_ones_are_named() {
    let folder = Folder::with_model("other-tokenizer");
    assert!(!fs::read_to_string(config(&folder.0)).unwrap().contains("tokenizer"));
    edit_config(&folder.0, |config| config["tokenizer"] = json!("words"));
    let error = ModelFile::load(&folder.0).unwrap_err();
    assert!(error.to_string().contains("expected `moses-lower-case`"), "{error}");
}
