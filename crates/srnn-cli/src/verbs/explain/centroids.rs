//! What the centroids of a network stand for: their prototypical tokens and their classes.

use super::pictures::{self, SvgResult};
use super::{ExplainArgs, ExplainedModel};
use crate::output::escape_control;
use serde_json::{Value, json};
use srnn::explain::Observation;
use srnn::explain::prototypes::{
    PrototypeConfig, Prototypes, TokenMeans, centroid_logits, prototypes, token_means,
};
use srnn::explain::usage::Usage;
use srnn::format::aligned;

/// The centroids that are the most probable at some step.
pub struct ExplainedCentroids {
    means: TokenMeans,
    /// Of the centroids that are visited.
    prototypes: Vec<Prototypes>,
    /// The logits of the classifier for each centroid `[K][C]`; `None` if it does not read h.
    logits: Option<Vec<Vec<f64>>>,
}

/// Explains the centroids from the steps of a file.
pub fn explain(
    arguments: &ExplainArgs,
    explained: &ExplainedModel,
    seen: impl Iterator<Item = Observation>,
    usage: &Usage,
) -> ExplainedCentroids {
    let (tokens, min_count) = (arguments.top, arguments.least_count);
    let config = PrototypeConfig { tokens, min_count, ..PrototypeConfig::default() };
    let means = token_means(seen, explained.saved.file.alphabet.len());
    let mut prototypes = prototypes(&means, &config);
    prototypes.retain(|of| usage.visits[of.centroid] > 0);
    prototypes.sort_by_key(|of| std::cmp::Reverse(usage.visits[of.centroid]));
    let top = explained.layer + 1 == explained.arch().layers.len();
    let logits = centroid_logits(&explained.saved.file.model).filter(|_| top);
    ExplainedCentroids { means, prototypes, logits }
}

impl ExplainedCentroids {
    /// The class of a centroid, and by how much its logit exceeds the mean of the others.
    fn class(&self, centroid: usize) -> Option<(usize, f64)> {
        let logits = &self.logits.as_ref()?[centroid];
        let class = (0..logits.len()).rev().max_by(|&a, &b| logits[a].total_cmp(&logits[b]))?;
        let others = logits.iter().sum::<f64>() - logits[class];
        Some((class, logits[class] - others / (logits.len().max(2) - 1) as f64))
    }

    pub fn value(&self, explained: &ExplainedModel) -> Value {
        let centroid = |of: &Prototypes| {
            let class = self.class(of.centroid);
            let token = |token: &srnn::explain::prototypes::PrototypeToken| {
                json!({ "token": explained.name(token.token), "mean": token.mean,
                        "count": token.count })
            };
            json!({
                "centroid": of.centroid,
                "class": class.map(|(class, _)| &explained.saved.file.classes[class]),
                "lead": class.map(|(_, lead)| lead),
                "tokens": of.tokens.iter().map(token).collect::<Value>(),
            })
        };
        self.prototypes.iter().map(centroid).collect()
    }

    /// A table: the classes of the centroids and their tokens with the mean α.
    pub fn text(&self, explained: &ExplainedModel) -> String {
        let mut rows =
            vec![["centroid", "class", "prototypical tokens (mean α)"].map(String::from).to_vec()];
        for of in &self.prototypes {
            let class = self.class(of.centroid).map_or("-".to_string(), |(class, lead)| {
                format!("{} {lead:+.2}", escape_control(&explained.saved.file.classes[class]))
            });
            let token = |token: &srnn::explain::prototypes::PrototypeToken| {
                format!("{} {:.2}", escape_control(&explained.name(token.token)), token.mean)
            };
            let tokens: Vec<String> = of.tokens.iter().map(token).collect();
            let tokens = if tokens.is_empty() { "-".into() } else { tokens.join(", ") };
            rows.push(vec![of.centroid.to_string(), class, tokens]);
        }
        aligned(&rows)
    }

    pub fn picture(&self, explained: &ExplainedModel) -> SvgResult {
        let name = |of: &Prototypes| match self.class(of.centroid) {
            Some((class, _)) => {
                format!("s{} {}", of.centroid, explained.saved.file.classes[class])
            }
            None => format!("s{}", of.centroid),
        };
        let named: Vec<(String, &Prototypes)> =
            self.prototypes.iter().map(|of| (name(of), of)).collect();
        pictures::prototypes(&named, &explained.saved.file.alphabet, &self.means)
    }
}
