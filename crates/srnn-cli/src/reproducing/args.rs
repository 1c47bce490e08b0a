//! Command-line arguments that choose an experiment: a built-in one, or a file.

use crate::failure::Failure;
use crate::files;
use clap::Args;
use srnn::experiment::Experiment;
use std::path::{Path, PathBuf};

/// The built-in experiments by name.
const BUILTIN: [(&str, &str); 12] = [
    ("tomita", include_str!("../../experiments/tomita.toml")),
    ("bp", include_str!("../../experiments/bp.toml")),
    ("bp-k", include_str!("../../experiments/bp-k.toml")),
    ("bp-ablation", include_str!("../../experiments/bp-ablation.toml")),
    ("bp-vis", include_str!("../../experiments/bp-vis.toml")),
    ("palindromes", include_str!("../../experiments/palindromes.toml")),
    ("copying", include_str!("../../experiments/copying.toml")),
    ("imdb", include_str!("../../experiments/imdb.toml")),
    ("imdb-learning", include_str!("../../experiments/imdb-learning.toml")),
    ("imdb-small", include_str!("../../experiments/imdb-small.toml")),
    ("lm", include_str!("../../experiments/lm.toml")),
    ("mnist", include_str!("../../experiments/mnist.toml")),
];

/// The experiment to run or print.
#[derive(Args, Clone, Debug)]
pub struct ExperimentArgs {
    /// A table of the paper.
    #[arg(required_unless_present = "file", conflicts_with = "file")]
    item: Option<String>,
    /// An experiment file, like those in experiments/.
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,
    /// The small version, for checking that everything works.
    #[arg(long)]
    quick: bool,
    /// The folder of data sets that are not built in: mnist is read from DIR/mnist.
    #[arg(long, value_name = "DIR", env = "SRNN_DATA", default_value = DATA, hide_env_values = true)]
    pub data: PathBuf,
}

const DATA: &str = "data";

impl ExperimentArgs {
    /// Reads and validates the experiment.
    pub fn experiment(&self) -> Result<Experiment, Failure> {
        let whole = match (&self.file, &self.item) {
            (Some(path), _) => parse(
                &files::read_text_within(path, files::MAX_SETTINGS)?,
                &path.display().to_string(),
            )?,
            (None, Some(item)) => builtin(item)?,
            (None, None) => unreachable!("clap requires one of them"),
        };
        if self.quick { small(&whole) } else { Ok(whole) }
    }

    /// The arguments as typed on the command line.
    pub fn command_line(&self) -> String {
        let what = match (&self.file, &self.item) {
            (Some(path), _) => format!("--file {}", files::shell_path(path)),
            (None, item) => item.clone().unwrap_or_default(),
        };
        let what = if self.quick { format!("{what} --quick") } else { what };
        match self.data.as_os_str() == DATA {
            true => what,
            false => format!("{what} --data {}", files::shell_path(&self.data)),
        }
    }

    /// The default folder of its outcomes.
    pub fn default_folder(&self, experiment: &Experiment) -> PathBuf {
        let suffix = if self.quick { "-quick" } else { "" };
        Path::new("runs").join(format!("reproduce-{}{suffix}", experiment.item))
    }
}

/// Parses and validates an experiment; `name` is the file name in errors.
pub fn parse(text: &str, name: &str) -> Result<Experiment, Failure> {
    let remedy = "compare the file with those in experiments/";
    let experiment: Experiment =
        toml::from_str(text).map_err(|error| Failure::new(format!("{name}: {error}"), remedy))?;
    experiment.validate().map_err(|error| Failure::new(format!("{name}: {error}"), remedy))?;
    Ok(experiment)
}

/// The small version, validated: the overrides of a file may leave no trial.
fn small(whole: &Experiment) -> Result<Experiment, Failure> {
    let small = whole.quick();
    small.validate().map_err(|error| {
        let message = format!("the quick version of {}: {error}", whole.item);
        Failure::new(message, "keep a setting of at least one model in [quick]")
    })?;
    Ok(small)
}

/// A built-in experiment. `tab:bp_k`, its label in the paper's source, is accepted for `bp-k`, and
/// `fig:imdb_learning` for `imdb-learning`.
fn builtin(item: &str) -> Result<Experiment, Failure> {
    let label = ["tab:", "fig:"].iter().find_map(|kind| item.strip_prefix(kind));
    let wanted = label.unwrap_or(item).replace('_', "-");
    match BUILTIN.iter().find(|(name, _)| *name == wanted) {
        Some((name, text)) => parse(text, &format!("experiments/{name}.toml")),
        None => {
            let names: Vec<&str> = BUILTIN.iter().map(|(name, _)| *name).collect();
            let remedy = format!("use {}, or --file FILE", names.join(", "));
            Err(Failure::new(format!("unknown experiment {item:?}"), remedy))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_built_in_experiment_is_valid_and_has_its_name() {
        for (name, _) in BUILTIN {
            let whole = builtin(name).unwrap();
            assert_eq!(whole.item, name);
            for kind in ["tab", "fig"] {
                let label = format!("{kind}:{}", name.replace('-', "_"));
                assert_eq!(builtin(&label).unwrap(), whole);
            }
            whole.quick().validate().unwrap();
            assert!(whole.quick().trials().len() < whole.trials().len(), "{name}");
        }
        let failure = builtin("fig:dyck").unwrap_err();
        assert!(failure.remedy.contains("tomita"), "{failure:?}");
    }

    #[test]
    fn the_papers_numbers_are_assigned_to_their_models_and_rows() {
        let bp = builtin("bp").unwrap();
        let reported = |data: &str, model: &str, row: usize| {
            let data = bp.data.iter().find(|set| set.name == data).unwrap();
            bp.reported(data, bp.models.iter().find(|m| m.name == model).unwrap(), row)
        };
        assert_eq!(reported("large-A", "lstm", 5), Some(0.543));
        assert_eq!(reported("large-A", "sr-lstm", 1), Some(0.255));
        assert_eq!(reported("large-B", "sr-lstm", 1), None, "its negatives are not the paper's");
        assert_eq!(reported("small-A", "sr-lstm-p", 4), Some(0.138));
        let count = |item| -> usize {
            builtin(item).unwrap().paper.iter().map(|reported| reported.errors.len()).sum()
        };
        assert_eq!(["tomita", "bp", "bp-k", "palindromes"].map(count), [0, 36, 24, 12]);
    }

    #[test]
    fn digests_of_trials_are_those_of_earlier_versions() {
        let bp = builtin("bp").unwrap();
        let named = |name: &str| {
            bp.trials().iter().find(|trial| trial.id().to_string() == name).unwrap().digest()
        };
        assert_eq!(
            named("large-B/sr-lstm/3e-3/seed-5"),
            "ffde6839bcfed7d2c7ac7d06794bbff3cab05f87b33a9bab8058011dced36e92"
        );
    }

    #[test]
    fn a_quick_version_without_a_model_is_refused() {
        let mut whole = builtin("bp-ablation").unwrap();
        let names: Vec<String> = whole.settings.iter().map(|s| s.name.clone()).take(2).collect();
        whole.models.iter_mut().for_each(|model| model.settings = names[..1].to_vec());
        whole.quick.settings = names[1..].to_vec();
        whole.validate().unwrap();
        let failure = small(&whole).unwrap_err();
        assert!(failure.message.contains("bp-ablation"), "{failure:?}");
    }

    #[test]
    fn an_experiment_is_written_as_it_is_read() {
        for (name, text) in BUILTIN {
            let experiment = parse(text, name).unwrap();
            let written = toml::to_string(&experiment).unwrap();
            assert_eq!(parse(&written, name).unwrap(), experiment);
        }
    }

    #[test]
    fn a_misspelt_field_is_refused_by_its_name_and_line() {
        let text = BUILTIN[0].1;
        for (field, misspelt) in [
            ("seeds =", "seedz ="),
            ("learning_rate =", "learning_rat ="),
            ("units =", "unit ="),
            ("strings =", "string ="),
        ] {
            assert!(text.contains(field), "{field}");
            let failure = parse(&text.replacen(field, misspelt, 1), "own.toml").unwrap_err();
            let name = misspelt.trim_end_matches(" =");
            assert!(failure.message.contains(&format!("unknown field `{name}`")), "{failure:?}");
            assert!(failure.message.contains("line "), "{failure:?}");
        }
    }
}
