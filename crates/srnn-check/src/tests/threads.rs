//! The verdict does not depend on the number of threads.

use super::common::certify::certify;
use super::common::model::{Spec, random_model};
use crate::certificate::{self, Certificate};
use crate::network::EnclosedNetwork;
use crate::{conditions, config, weights};

/// A certified network with several cells.
fn certified() -> (EnclosedNetwork, Certificate) {
    let spec = Spec::default();
    let files = (0..400)
        .filter_map(|seed| {
            let (config, weights) = random_model(&spec, seed);
            certify(&config, &weights, "f64", 1)
        })
        .find(|files| files.check().unwrap().cells > 2)
        .expect("a certified network with three cells");
    let config = config::parse(&files.config).unwrap();
    let weights = weights::parse(&files.weights, &config.arch).unwrap();
    let certificate = certificate::parse(&files.certificate).unwrap();
    let errors = certificate.arithmetic.error_model();
    (EnclosedNetwork::new(&config.arch, &weights, errors), certificate)
}

#[test]
fn every_number_of_threads_gives_the_same_margin_and_names_the_same_first_failure() {
    let (network, mut certificate) = certified();
    let alone = conditions::check(&network, &certificate, 1).unwrap();
    for threads in [2, 3, 64] {
        assert_eq!(conditions::check(&network, &certificate, threads), Ok(alone));
    }
    certificate.cells.iter_mut().skip(1).for_each(|cell| cell.margin = 1e300);
    let refused = conditions::check(&network, &certificate, 1).unwrap_err().to_string();
    assert!(refused.starts_with("cell 1 claims"), "{refused}");
    for threads in [2, 3, 64] {
        let found = conditions::check(&network, &certificate, threads).unwrap_err();
        assert_eq!(found.to_string(), refused);
    }
}
