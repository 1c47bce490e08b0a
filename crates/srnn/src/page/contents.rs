//! The files of a run that are inside its page, for the script.

use super::base64::base64;
use super::headline::is_proved;
use super::run_files::RunFiles;
use flate2::Compression;
use flate2::write::GzEncoder;
use std::io::Write as _;

/// The files inside a page, compressed and as base64.
#[derive(Clone, Default)]
pub(super) struct PageContents {
    pub automaton: Option<String>,
    pub config: Option<String>,
    pub weights: Option<String>,
    pub certificate: Option<String>,
}

/// A larger file does not fit in a page, however well it is compressed.
const MAX_FILE_BYTES: usize = 8 << 20;

impl PageContents {
    /// All files that a script can use, then fewer and fewer, for pages that would be too large:
    /// without the certificate, without the network, without anything.
    pub(super) fn choices(files: &RunFiles) -> [PageContents; 4] {
        let network = files.network.as_ref();
        let all = PageContents {
            automaton: files.automaton_json.as_ref().and_then(|text| pack(text.as_bytes())),
            config: network.and_then(|network| pack(&network.config)),
            weights: network.and_then(|network| pack(network.weights.as_deref()?)),
            certificate: files.certificate.as_deref().filter(|_| is_proved(files)).and_then(pack),
        };
        let unproved = PageContents { certificate: None, ..all.clone() };
        let without_network = PageContents { config: None, weights: None, ..unproved.clone() };
        [all, unproved, without_network, PageContents::default()]
    }

    /// Whether the network can be stepped.
    pub(super) fn has_network(&self) -> bool {
        self.config.is_some() && self.weights.is_some()
    }

    /// Whether the certificate can be checked.
    pub(super) fn can_check(&self) -> bool {
        self.certificate.is_some() && self.automaton.is_some() && self.has_network()
    }

    /// Whether there is nothing to step.
    pub(super) fn is_empty(&self) -> bool {
        self.automaton.is_none() && !self.has_network()
    }
}

/// A file, compressed and as base64; `None` if it is too large.
fn pack(bytes: &[u8]) -> Option<String> {
    if bytes.len() > MAX_FILE_BYTES {
        return None;
    }
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    let packed = encoder.write_all(bytes).and_then(|()| encoder.finish());
    Some(base64(&packed.expect("writing to memory succeeds")))
}
