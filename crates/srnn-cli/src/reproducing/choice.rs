//! Which experiment: one that comes with the program, or a file.

use crate::failure::Failure;
use crate::files;
use clap::Args;
use srnn::experiment::Experiment;
use std::path::{Path, PathBuf};

/// The experiments that come with the program, by their names.
const BUILTIN: [(&str, &str); 8] = [
    ("tomita", include_str!("../../../../experiments/tomita.toml")),
    ("bp", include_str!("../../../../experiments/bp.toml")),
    ("bp-k", include_str!("../../../../experiments/bp-k.toml")),
    ("bp-ablation", include_str!("../../../../experiments/bp-ablation.toml")),
    ("bp-vis", include_str!("../../../../experiments/bp-vis.toml")),
    ("palindromes", include_str!("../../../../experiments/palindromes.toml")),
    ("copying", include_str!("../../../../experiments/copying.toml")),
    ("mnist", include_str!("../../../../experiments/mnist.toml")),
];

/// Which experiment.
#[derive(Args, Clone, Debug)]
pub struct Choice {
    /// A table of the paper.
    #[arg(required_unless_present = "file", conflicts_with = "file")]
    item: Option<String>,
    /// An experiment of one's own, in a file like those in experiments/.
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,
    /// The small version, which shows whether everything works.
    #[arg(long)]
    quick: bool,
    /// Where data sets are that do not come with the program: mnist is read from DIR/mnist.
    #[arg(long, value_name = "DIR", env = "SRNN_DATA", default_value = DATA, hide_env_values = true)]
    pub data: PathBuf,
}

const DATA: &str = "data";

impl Choice {
    /// The experiment, which can be run.
    pub fn experiment(&self) -> Result<Experiment, Failure> {
        let whole = match (&self.file, &self.item) {
            (Some(path), _) => parse(&files::read_text(path)?, &path.display().to_string())?,
            (None, Some(item)) => builtin(item)?,
            (None, None) => unreachable!("clap asks for one of them"),
        };
        if self.quick { small(&whole) } else { Ok(whole) }
    }

    /// How it is named on the command line.
    pub fn spelled(&self) -> String {
        let what = match (&self.file, &self.item) {
            (Some(path), _) => format!("--file {}", path.display()),
            (None, item) => item.clone().unwrap_or_default(),
        };
        let what = if self.quick { format!("{what} --quick") } else { what };
        match self.data.as_os_str() == DATA {
            true => what,
            false => format!("{what} --data {}", self.data.display()),
        }
    }

    /// Where its outcomes are unless a folder is named.
    pub fn folder(&self, experiment: &Experiment) -> PathBuf {
        let ending = if self.quick { "-quick" } else { "" };
        Path::new("runs").join(format!("reproduce-{}{ending}", experiment.item))
    }
}

/// An experiment from the text of a file called `name`.
pub fn parse(text: &str, name: &str) -> Result<Experiment, Failure> {
    let remedy = "compare it with those in experiments/";
    let experiment: Experiment =
        toml::from_str(text).map_err(|error| Failure::new(format!("{name}: {error}"), remedy))?;
    experiment.validate().map_err(|error| Failure::new(format!("{name}: {error}"), remedy))?;
    Ok(experiment)
}

/// The small version, which can be run: one's own may leave nothing.
fn small(whole: &Experiment) -> Result<Experiment, Failure> {
    let small = whole.quick();
    small.validate().map_err(|error| {
        let message = format!("the quick version of {}: {error}", whole.item);
        Failure::new(message, "let [quick] keep a setting of some model")
    })?;
    Ok(small)
}

/// `tab:bp_k`, as the paper's source calls it, is `bp-k`, too.
fn builtin(item: &str) -> Result<Experiment, Failure> {
    let wanted = item.strip_prefix("tab:").unwrap_or(item).replace('_', "-");
    match BUILTIN.iter().find(|(name, _)| *name == wanted) {
        Some((name, text)) => parse(text, &format!("experiments/{name}.toml")),
        None => {
            let names: Vec<&str> = BUILTIN.iter().map(|(name, _)| *name).collect();
            let remedy = format!("{}, or --file FILE", names.join(", "));
            Err(Failure::new(format!("{item:?}: there is no such experiment"), remedy))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_experiment_that_comes_with_the_program_can_be_run_and_has_its_name() {
        for (name, _) in BUILTIN {
            let whole = builtin(name).unwrap();
            assert_eq!(whole.item, name);
            assert_eq!(builtin(&format!("tab:{}", name.replace('-', "_"))).unwrap(), whole);
            whole.quick().validate().unwrap();
            assert!(whole.quick().cells().len() < whole.cells().len(), "{name}");
        }
        let failure = builtin("tab:imdb").unwrap_err();
        assert!(failure.remedy.contains("tomita"), "{failure:?}");
    }

    #[test]
    fn the_papers_numbers_stand_at_their_models_and_rows() {
        let bp = builtin("bp").unwrap();
        let reported = |data: &str, model: &str, row: usize| {
            let data = bp.data.iter().find(|set| set.name == data).unwrap();
            bp.reported(data, bp.models.iter().find(|m| m.name == model).unwrap(), row)
        };
        assert_eq!(reported("large-A", "lstm", 5), Some(0.543));
        assert_eq!(reported("large-A", "sr-lstm", 1), Some(0.255));
        assert_eq!(reported("large-B", "sr-lstm", 1), None, "other negatives than the paper's");
        assert_eq!(reported("small-A", "sr-lstm-p", 4), Some(0.138));
        let count = |item| -> usize {
            builtin(item).unwrap().paper.iter().map(|reported| reported.errors.len()).sum()
        };
        assert_eq!(["tomita", "bp", "bp-k", "palindromes"].map(count), [0, 36, 24, 12]);
    }

    #[test]
    fn outcomes_of_earlier_versions_are_still_those_of_their_cells() {
        let bp = builtin("bp").unwrap();
        let named = |name: &str| {
            bp.cells().iter().find(|cell| cell.id().to_string() == name).unwrap().digest()
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
