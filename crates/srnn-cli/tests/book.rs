//! The commands of the book (`docs/src`) run as a reader would type them.
//!
//! The rules are in `docs/src/about.md`, section "Commands are tested".

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::{env, fs};

/// One test per chapter that has commands.
macro_rules! chapters {
    ($($name:ident: $file:literal,)*) => {
        const CHAPTERS: &[&str] = &[$($file),*];
        $(#[test] fn $name() { run_chapter($file); })*
    };
}

chapters! {
    the_commands_of_the_introduction_run: "introduction.md",
    the_commands_for_data_owners_run: "data-owners.md",
    the_commands_for_researchers_run: "researchers.md",
    the_commands_of_the_verbs_run: "verbs.md",
    the_commands_of_the_certificate_run: "certificate.md",
    the_commands_of_the_compiled_automata_run: "compiled.md",
    the_commands_of_the_formats_run: "formats.md",
    the_commands_of_the_model_format_run: "model-format.md",
    the_commands_of_the_performance_chapter_run: "performance.md",
}

#[test]
fn every_chapter_with_commands_has_a_test() {
    let mut found: Vec<String> = fs::read_dir(source())
        .expect("docs/src can be read")
        .map(|entry| entry.expect("an entry").file_name().into_string().expect("UTF-8"))
        .filter(|name| name.ends_with(".md") && !commands(&read(name)).is_empty())
        .collect();
    let mut tested: Vec<String> = CHAPTERS.iter().map(ToString::to_string).collect();
    found.sort();
    tested.sort();
    assert_eq!(found, tested, "chapters with `sh` blocks, and chapters that have a test");
}

#[test]
fn commands_are_the_lines_of_sh_blocks() {
    let text = "\
a
```sh
# a comment
one

two \\
  three # exit 1
```
```text
no
```
```sh
four # exit 12
```
```text output
shown: 3
```
";
    let found = commands(text);
    let expected = [(4, "one", 0), (6, "two \\\n  three # exit 1", 1), (13, "four # exit 12", 12)];
    assert_eq!(found.len(), expected.len());
    for (command, (line, text, code)) in found.iter().zip(expected) {
        assert_eq!((command.line, command.text.as_str(), command.code), (line, text, code));
    }
    assert_eq!(found.iter().map(|command| command.block).collect::<Vec<_>>(), [1, 1, 2]);
    assert_eq!(shown_lines(text), [(16, 2, "shown: 3")]);
}

#[test]
fn numbers_and_spaces_of_shown_output_are_not_compared() {
    assert_eq!(stable_text("  2 cells;  margin: 6.16"), stable_text("3 cells; margin: 5.9"));
    assert_ne!(stable_text("ready to train on"), stable_text("ready for training"));
}

/// A command of a chapter.
struct BookCommand {
    /// Its first line in the chapter, from 1.
    line: usize,
    /// As it is given to the shell.
    text: String,
    /// The exit code that it must have.
    code: i32,
    /// The number of `sh` blocks up to its own.
    block: usize,
}

/// The commands of a chapter, in order.
fn commands(chapter: &str) -> Vec<BookCommand> {
    let mut found = Vec::new();
    let mut block: Option<&str> = None;
    let mut open: Option<(usize, String)> = None;
    let mut sh_blocks = 0;
    for (index, line) in chapter.lines().enumerate() {
        let line_number = index + 1;
        if let Some(language) = line.strip_prefix("```") {
            assert!(open.is_none(), "line {line_number}: the block ends within a command");
            block = if block.is_some() { None } else { Some(language.trim_end()) };
            sh_blocks += usize::from(block == Some("sh"));
            continue;
        }
        if block != Some("sh") {
            continue;
        }
        let (start, text) = match open.take() {
            Some((start, text)) => (start, format!("{text}\n{line}")),
            None if line.trim().is_empty() || line.starts_with('#') => continue,
            None => (line_number, line.to_string()),
        };
        if line.ends_with('\\') {
            open = Some((start, text));
        } else {
            found.push(BookCommand { line: start, code: exit_code(line), text, block: sh_blocks });
        }
    }
    assert!(block.is_none(), "a block is not closed");
    found
}

/// N of `# exit N` at the end of a line; 0 without it.
fn exit_code(line: &str) -> i32 {
    line.rsplit_once("# exit ").and_then(|(_, code)| code.parse().ok()).unwrap_or(0)
}

/// The lines of `text output` blocks: number in the chapter, `sh` blocks before it, text.
fn shown_lines(chapter: &str) -> Vec<(usize, usize, &str)> {
    let (mut found, mut sh_blocks, mut inside) = (Vec::new(), 0, false);
    for (index, line) in chapter.lines().enumerate() {
        match line.strip_prefix("```") {
            Some(language) => {
                sh_blocks += usize::from(language.trim_end() == "sh");
                inside = language.trim_end() == "text output";
            }
            None if inside => found.push((index + 1, sh_blocks, line)),
            None => {}
        }
    }
    found
}

/// A line of output without what may differ from run to run: numbers and the width of columns.
fn stable_text(line: &str) -> String {
    let text = line.replace(|c: char| c.is_ascii_digit() || c == '.', "");
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Runs all commands of a chapter in one fresh folder, and compares the output that it shows.
fn run_chapter(file: &str) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let chapter = read(file);
    let mut printed: Vec<(usize, String)> = Vec::new();
    for command in commands(&chapter) {
        let output = run(&command.text, folder.path());
        let code = output.status.code();
        assert!(
            code == Some(command.code),
            "docs/src/{file}:{}: exit code {code:?}, expected {}\n$ {}\nstdout:\n{}\nstderr:\n{}",
            command.line,
            command.code,
            command.text,
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr),
        );
        for stream in [&output.stdout, &output.stderr] {
            let text = String::from_utf8_lossy(stream);
            printed.extend(text.lines().map(|line| (command.block, stable_text(line))));
        }
    }
    for (number, block, shown) in shown_lines(&chapter) {
        let found = printed.contains(&(block, stable_text(shown)));
        let exempt = shown.is_empty() || shown.contains('…');
        assert!(found || exempt, "docs/src/{file}:{number}: not printed above: {shown}");
    }
}

/// Runs a command with `srnn` on the `PATH`.
fn run(command: &str, folder: &Path) -> Output {
    let program = Path::new(env!("CARGO_BIN_EXE_srnn")).parent().expect("the program's folder");
    let old = env::var_os("PATH").unwrap_or_default();
    let folders = std::iter::once(program.to_path_buf()).chain(env::split_paths(&old));
    Command::new("sh")
        .args(["-c", command])
        .current_dir(folder)
        .env("PATH", env::join_paths(folders).expect("a PATH"))
        .env("NO_COLOR", "1")
        .env_remove("SRNN_DATA")
        .stdin(Stdio::null())
        .output()
        .expect("sh can be started")
}

fn source() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/src")
}

fn read(file: &str) -> String {
    let path = source().join(file);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}
