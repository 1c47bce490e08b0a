//! Recipes that fit a time budget, by estimates.
//!
//! No clock is read: the same command gives the same result on every machine.

use super::config::TrainConfig;
use super::recipe::Recipe;

/// The number of cores that a budget in seconds assumes.
pub const BUDGET_CORES: f64 = 2.0;

/// Fewer updates teach a network nothing, so a small budget is exceeded instead.
pub const MIN_UPDATES: u64 = 150;

/// Evaluations of the run of a candidate.
pub const EVALUATIONS: u64 = 20;

impl Recipe {
    /// Scales the updates so that `needed` core-seconds become `allowed`, but to no fewer than
    /// [`MIN_UPDATES`]. A recipe that fits is not changed.
    pub fn shorten(&mut self, needed: f64, allowed: f64) {
        if needed > allowed {
            let updates = self.train.schedule.updates();
            let fewer = (updates as f64 * allowed / needed) as u64;
            self.train.set_updates(fewer.max(MIN_UPDATES.min(updates)));
        }
    }
}

impl TrainConfig {
    /// Scales the schedule to so many updates, with at least [`EVALUATIONS`] evaluations.
    pub fn set_updates(&mut self, updates: u64) {
        self.schedule = self.schedule.scaled_to(updates);
        self.validate_every = self.validate_every.min((updates / EVALUATIONS).max(1));
    }
}

#[cfg(test)]
mod tests {
    use super::super::recipe::{Sizes, recipe_default};
    use super::*;

    #[test]
    fn updates_fall_with_the_allowed_time_to_a_minimum_and_never_rise() {
        let recipe = recipe_default(&Sizes::of(2, 2));
        let updates = |needed, allowed| {
            let mut recipe = recipe.clone();
            recipe.shorten(needed, allowed);
            recipe.train.validate().unwrap();
            recipe.train.schedule.updates()
        };
        let all = recipe.train.schedule.updates();
        assert_eq!(updates(1.0, 2.0), all);
        assert_eq!(updates(4.0, 2.0), all / 2);
        assert_eq!(updates(1e9, 2.0), MIN_UPDATES);
    }
}
