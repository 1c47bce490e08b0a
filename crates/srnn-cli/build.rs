//! Passes the git commit to the program if the source is a git checkout. Outcomes record it, because
//! another build may give other bits.

use std::process::Command;

fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").args(arguments).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim().to_string())
}

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    // Every commit and checkout is written down here.
    if let Some(log) = git(&["rev-parse", "--git-path", "logs/HEAD"]) {
        println!("cargo:rerun-if-changed={log}");
    }
    let ours = git(&["ls-files", "--error-unmatch", "build.rs"]).is_some();
    let commit = git(&["rev-parse", "--short=7", "HEAD"]).filter(|_| ours);
    let commit = commit.map_or(String::new(), |commit| format!(" ({commit})"));
    println!("cargo:rustc-env=SRNN_COMMIT={commit}");
}
