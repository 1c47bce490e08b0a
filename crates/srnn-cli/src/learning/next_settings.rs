//! The settings of `learn --next` with all defaults filled in.

use super::data::LearnSource;
use super::settings::{BUDGET, ComparisonSettings, DataSettings, Settings, is_unset};
use crate::failure::Failure;
use srnn::engine::DeviceName;
use srnn::learn::Preference;
use srnn::next::NEXT_PREFERENCES;
use std::path::PathBuf;

/// The default number of seeds of each network: one for each of two cores.
const SEEDS: u64 = 2;

/// Default of --flagged.
const FLAGGED: f64 = 0.01;

/// The settings of `learn --next` with all defaults filled in.
#[derive(Clone, Debug)]
pub struct ResolvedNext {
    /// The file, by its absolute path.
    pub file: PathBuf,
    /// The seeds of each network, ascending.
    pub seeds: Vec<u64>,
    /// The training device.
    pub device: DeviceName,
    /// How the kept candidate is chosen.
    pub preference: Preference,
    /// Seconds on two cores for all candidates.
    pub budget: f64,
    /// The fraction of the validation sequences that the thresholds may flag.
    pub flagged: f64,
    /// Files and split; paths are absolute.
    pub data: DataSettings,
}

impl Settings {
    /// Whether the next token is to be predicted.
    pub fn predicts_next(&self) -> bool {
        self.next == Some(true)
    }

    /// Fills in all defaults of `learn --next`.
    ///
    /// # Errors
    /// If a setting is not valid, or has no meaning without labels.
    pub fn resolve_next(&self) -> Result<ResolvedNext, Failure> {
        self.refuse_settings_about_labels()?;
        let LearnSource::File(file) = self.source()? else {
            let message = "--next reads a file, and built-in tasks are about labels";
            return Err(Failure::new(message, "srnn learn --next FILE"));
        };
        let preference = self.comparison.prefer.unwrap_or_default();
        if !NEXT_PREFERENCES.contains(&preference) {
            let message = format!("--prefer {}: --next has no such preference", preference.name());
            let remedy = "--prefer readable, or --prefer accuracy for the fewest bits per token";
            return Err(Failure::new(message, remedy));
        }
        let flagged = self.flagged.unwrap_or(FLAGGED);
        if !(0.0..=0.5).contains(&flagged) {
            let remedy = "give a fraction from 0 to 0.5, such as 0.01";
            return Err(Failure::new(format!("--flagged {flagged}"), remedy));
        }
        let counted = Settings { seeds: Some(self.seeds.unwrap_or(SEEDS)), ..self.clone() };
        Ok(ResolvedNext {
            file,
            seeds: counted.seed_list()?,
            device: self.device.unwrap_or_default(),
            preference,
            budget: self.comparison.budget.unwrap_or(BUDGET),
            flagged,
            data: self.data()?,
        })
    }

    fn refuse_settings_about_labels(&self) -> Result<(), Failure> {
        let network = !is_unset(&self.network) || self.arch.is_some() || self.train.is_some();
        let about_labels = [
            ("--fail-under", self.fail_under.is_some(), "there are no labels to compare with"),
            ("--must-certify", self.must_certify.is_some(), "proofs are about classifiers"),
            ("--label-noise", self.data.label_noise.is_some(), "labels are not used"),
            ("--trust-labels", self.data.trust_labels.is_some(), "labels are not used"),
            ("--candidates", self.comparison.candidates.is_some(), "all candidates are tried"),
            ("options of the network", network, "sizes follow from the data and --budget"),
        ];
        match about_labels.into_iter().find(|(_, set, _)| *set) {
            Some((name, _, why)) => {
                Err(Failure::new(format!("{name} with --next: {why}"), "leave it out"))
            }
            None => Ok(()),
        }
    }
}

impl ResolvedNext {
    /// The configuration file; `learn --config` with it repeats the run to the same bits.
    pub fn to_toml(&self) -> Result<String, Failure> {
        let comment = "# `srnn learn --config` with this file repeats the run to the same bits.\n";
        Ok(format!("{comment}{}", toml::to_string(&self.settings())?))
    }

    /// The same as settings.
    pub fn settings(&self) -> Settings {
        Settings {
            source: Some(self.file.display().to_string()),
            next: Some(true),
            flagged: Some(self.flagged),
            seed: self.seeds.first().copied(),
            seeds: Some(self.seeds.len() as u64),
            device: Some(self.device),
            comparison: ComparisonSettings {
                prefer: Some(self.preference),
                budget: Some(self.budget),
                ..ComparisonSettings::default()
            },
            data: self.data.clone(),
            ..Settings::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flags(text: &str) -> Settings {
        toml::from_str(&format!("next = true\n{text}")).unwrap()
    }

    #[test]
    fn a_resolved_configuration_resolves_to_itself() {
        let text = "source = './log.txt'\nflagged = 0.05\n[comparison]\nbudget = 9.0";
        let resolved = flags(text).resolve_next().unwrap();
        assert_eq!((resolved.flagged, resolved.budget), (0.05, 9.0));
        assert_eq!((resolved.seeds.clone(), resolved.file.is_absolute()), (vec![1, 2], true));
        let again: Settings = toml::from_str(&resolved.to_toml().unwrap()).unwrap();
        assert!(again.predicts_next());
        let again = again.resolve_next().unwrap();
        assert_eq!(again.to_toml().unwrap(), resolved.to_toml().unwrap());
    }

    #[test]
    fn settings_about_labels_are_refused() {
        for (text, name) in [
            ("source = 'tomita:3'", "built-in"),
            ("source = 'a.txt'\nfail_under = 0.9", "--fail-under"),
            ("source = 'a.txt'\nmust_certify = true", "--must-certify"),
            ("source = 'a.txt'\nflagged = 2.0", "--flagged"),
            ("source = 'a.txt'\n[network]\nunits = 3", "network"),
            ("source = 'a.txt'\n[comparison]\nprefer = 'proof'", "--prefer proof"),
            ("source = 'a.txt'\n[data]\nlabel_noise = 0.1", "--label-noise"),
        ] {
            let failure = flags(text).resolve_next().unwrap_err();
            assert!(failure.message.contains(name) && !failure.remedy.is_empty(), "{failure:?}");
        }
    }
}
