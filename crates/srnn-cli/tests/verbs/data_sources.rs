//! `data list`, `data get` and `data verify`, with made-up sets from a server in this process.

use super::program::{ProgramOutput, srnn};
use serde_json::json;
use sha2::{Digest as _, Sha256};
use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tempfile::TempDir;

const IMAGES: &[u8] = b"made-up images";
const LABELS: &[u8] = b"made-up labels, longer";

/// The answer of the server to a path.
#[derive(Clone)]
enum Reply {
    /// The content, with its length in the header.
    Content(Vec<u8>),
    /// The content without a length; the connection ends it.
    Unsized(Vec<u8>),
    /// A length of so many bytes, some of them, and then nothing until the client leaves.
    Stalled(usize, Vec<u8>),
    /// Another address.
    Redirect(&'static str),
}

/// A server of files. It ends with the process.
struct Server {
    address: String,
    requested: Arc<Mutex<Vec<String>>>,
}

impl Server {
    fn new(replies: Vec<(&'static str, Reply)>) -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}/sets", listener.local_addr().unwrap());
        let requested = Arc::new(Mutex::new(Vec::new()));
        let log = requested.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                answer(stream.unwrap(), &replies, &log);
            }
        });
        Server { address, requested }
    }

    /// Serves both files of the set.
    fn good() -> Server {
        Server::new(vec![
            ("/sets/images.gz", Reply::Content(IMAGES.into())),
            ("/sets/labels.gz", Reply::Content(LABELS.into())),
        ])
    }

    fn requested(&self) -> Vec<String> {
        self.requested.lock().unwrap().clone()
    }
}

fn answer(mut stream: TcpStream, replies: &[(&str, Reply)], log: &Mutex<Vec<String>>) {
    let mut lines = BufReader::new(stream.try_clone().unwrap()).lines().map_while(Result::ok);
    let Some(request) = lines.next() else { return };
    lines.find(|line| line.is_empty());
    let path = request.split(' ').nth(1).unwrap().to_string();
    let reply = replies.iter().find(|(known, _)| *known == path).map(|(_, reply)| reply.clone());
    log.lock().unwrap().push(path);
    let ok = "HTTP/1.1 200 OK\r\nConnection: close\r\n";
    let (header, body) = match reply {
        Some(Reply::Content(body)) => (format!("{ok}Content-Length: {}\r\n\r\n", body.len()), body),
        Some(Reply::Unsized(body)) => (format!("{ok}\r\n"), body),
        Some(Reply::Stalled(length, body)) => {
            let _ = write!(stream, "{ok}Content-Length: {length}\r\n\r\n");
            let _ = stream.write_all(&body);
            // Until the client closes the connection.
            let _ = stream.read(&mut [0]);
            return;
        }
        Some(Reply::Redirect(to)) => {
            let header = format!("HTTP/1.1 302 Found\r\nLocation: {to}\r\n");
            (format!("{header}Connection: close\r\nContent-Length: 0\r\n\r\n"), vec![])
        }
        None => ("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n".into(), vec![]),
    };
    // A client that has read enough closes the connection.
    let _ = stream.write_all(header.as_bytes()).and_then(|()| stream.write_all(&body));
}

/// A folder with a table of one set of two files at this address.
fn folder_with_table(address: &str) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, content: &[u8]| {
        let digest: String = Sha256::digest(content).iter().map(|b| format!("{b:02x}")).collect();
        let bytes = content.len();
        format!("{{ name = \"{name}\", bytes = {bytes}, sha256 = \"{digest}\" }}")
    };
    let table = format!(
        "[[set]]\nname = \"shapes\"\nabout = \"made up\"\nlicence = \"none\"\nfolder = \"shapes\"\n\
         origin = {{ download = \"{address}\" }}\nfile = [{}, {}]\n",
        file("images.gz", IMAGES),
        file("labels.gz", LABELS)
    );
    fs::write(folder.path().join("table.toml"), table).unwrap();
    folder
}

const TABLE: [&str; 4] = ["--sources", "table.toml", "--data", "sets"];

fn data(folder: &TempDir, arguments: &[&str]) -> ProgramOutput {
    srnn(folder.path(), &[&["data"], arguments, &TABLE].concat())
}

fn read(folder: &TempDir, name: &str) -> Option<Vec<u8>> {
    fs::read(folder.path().join("sets/shapes").join(name)).ok()
}

#[test]
fn a_set_is_downloaded_verified_and_not_downloaded_again() {
    let server = Server::good();
    let folder = folder_with_table(&server.address);
    let before = data(&folder, &["list", "--json"]).yes().json();
    assert_eq!(before["sets"][0]["state"], json!("missing"));
    let got = data(&folder, &["get", "shapes"]).yes();
    assert!(got.stdout.contains("images.gz: 14 bytes, downloaded, verified"), "{}", got.stdout);
    assert_eq!(read(&folder, "images.gz").unwrap(), IMAGES);
    assert_eq!(read(&folder, "labels.gz").unwrap(), LABELS);
    assert_eq!(read(&folder, "images.gz.part"), None);
    assert!(data(&folder, &["list"]).yes().stdout.contains("shapes  verified"));
    let again = data(&folder, &["get", "shapes"]).yes();
    assert!(again.stdout.contains("already there, verified"), "{}", again.stdout);
    assert_eq!(server.requested(), ["/sets/images.gz", "/sets/labels.gz"]);
}

#[test]
fn content_that_is_not_the_published_one_never_takes_the_name() {
    let (changed, long) = (IMAGES.to_ascii_uppercase(), [IMAGES, b"!"].concat());
    for (reply, expected) in [
        (Reply::Content(changed.clone()), "the sha256 is ea7422b0949a"),
        (Reply::Unsized(changed), "but that of the published file is "),
        (Reply::Content(long.clone()), "15 bytes, but the published file has 14"),
        (Reply::Unsized(long), "more than the 14 bytes of the published file"),
        (Reply::Unsized(IMAGES[..9].into()), "9 bytes, but the published file has 14"),
        (Reply::Redirect("/elsewhere"), "404"),
    ] {
        let server = Server::new(vec![("/sets/images.gz", reply)]);
        let folder = folder_with_table(&server.address);
        let ended = data(&folder, &["get", "shapes"]);
        assert_eq!(ended.code, 2);
        assert!(ended.stderr.contains(expected), "{expected}: {}", ended.stderr);
        assert!(ended.stderr.contains("/sets/images.gz: "), "{}", ended.stderr);
        assert!(ended.stderr.contains("--from URL"), "{}", ended.stderr);
        assert_eq!(read(&folder, "images.gz"), None);
    }
}

#[test]
fn another_address_and_a_redirection_give_the_same_files() {
    let server = Server::new(vec![
        ("/mirror/images.gz", Reply::Redirect("/moved/images.gz")),
        ("/moved/images.gz", Reply::Unsized(IMAGES.into())),
        ("/mirror/labels.gz", Reply::Content(LABELS.into())),
    ]);
    let folder = folder_with_table("http://127.0.0.1:9/nothing-listens-here");
    let failed = data(&folder, &["get", "shapes"]);
    assert_eq!(failed.code, 2);
    assert!(failed.stderr.contains("http://127.0.0.1:9/nothing"), "{}", failed.stderr);
    let mirror = server.address.replace("/sets", "/mirror/");
    data(&folder, &["get", "shapes", "--from", &mirror]).yes();
    data(&folder, &["verify", "shapes"]).yes();
}

#[test]
fn a_file_with_other_content_is_replaced_only_by_force_and_only_by_the_published_one() {
    let server = Server::good();
    let folder = folder_with_table(&server.address);
    fs::create_dir_all(folder.path().join("sets/shapes")).unwrap();
    let own = folder.path().join("sets/shapes/images.gz");
    fs::write(&own, "of my own").unwrap();
    let refused = data(&folder, &["get", "shapes"]);
    assert_eq!(refused.code, 2);
    assert!(refused.stderr.contains("images.gz: 9 bytes, but"), "{}", refused.stderr);
    assert!(refused.stderr.contains("--force"), "{}", refused.stderr);
    let broken = Server::new(vec![("/sets/images.gz", Reply::Unsized(b"short".into()))]);
    let failed = data(&folder, &["get", "shapes", "--force", "--from", &broken.address]);
    assert_eq!(failed.code, 2);
    assert_eq!(fs::read(&own).unwrap(), b"of my own");
    data(&folder, &["get", "shapes", "--force"]).yes();
    assert_eq!(fs::read(&own).unwrap(), IMAGES);
}

#[test]
fn verify_names_missing_and_different_files() {
    let folder = folder_with_table("http://127.0.0.1:9");
    let nothing = data(&folder, &["verify"]);
    assert_eq!(nothing.code, 2);
    assert!(nothing.stderr.contains("srnn data get NAME"), "{}", nothing.stderr);
    fs::create_dir_all(folder.path().join("sets/shapes")).unwrap();
    fs::write(folder.path().join("sets/shapes/labels.gz"), LABELS.to_ascii_uppercase()).unwrap();
    let ended = data(&folder, &["verify"]).no();
    assert!(ended.stdout.contains("images.gz: missing"), "{}", ended.stdout);
    assert!(ended.stdout.contains("labels.gz: the sha256 is "), "{}", ended.stdout);
    let value = data(&folder, &["verify", "--json"]).no().json();
    assert_eq!(value["verified"], json!(false));
    assert_eq!(value["sets"][0]["files"][1]["state"], json!("different"));
}

#[test]
fn a_killed_download_leaves_only_a_part_and_the_next_one_completes() {
    let stalled = Reply::Stalled(IMAGES.len(), IMAGES[..5].into());
    let server = Server::new(vec![("/sets/images.gz", stalled)]);
    let folder = folder_with_table(&server.address);
    let mut child = Command::new(env!("CARGO_BIN_EXE_srnn"))
        .args([&["data", "get", "shapes"], &TABLE[..]].concat())
        .current_dir(folder.path())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let since = Instant::now();
    while read(&folder, "images.gz.part").is_none_or(|part| part.len() < 5) {
        assert!(since.elapsed() < Duration::from_secs(60), "no part after a minute");
        std::thread::sleep(Duration::from_millis(10));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(read(&folder, "images.gz"), None);
    data(&folder, &["get", "shapes", "--from", &Server::good().address]).yes();
    assert_eq!(read(&folder, "images.gz").unwrap(), IMAGES);
    assert_eq!(read(&folder, "images.gz.part"), None);
}

#[test]
fn wrong_arguments_name_a_remedy() {
    let folder = folder_with_table("http://127.0.0.1:9");
    let unknown = data(&folder, &["get", "shape"]);
    assert!(unknown.stderr.contains("the names are shapes"), "{}", unknown.stderr);
    let place: &Path = folder.path();
    let several = ["data", "get", "mnist", "imdb", "--from", "http://127.0.0.1:9"];
    assert!(srnn(place, &several).stderr.contains("name one set"));
    let computed = ["data", "get", "pmnist-permutation", "--from", "http://127.0.0.1:9"];
    assert!(srnn(place, &computed).stderr.contains("is computed, not downloaded"));
    fs::write(place.join("bad.toml"), "[[set]]\nname = 3\n").unwrap();
    let bad = srnn(place, &["data", "list", "--sources", "bad.toml"]);
    assert!(bad.code == 2 && bad.stderr.contains("bad.toml: "), "{}", bad.stderr);
}

#[test]
fn the_order_of_permuted_mnist_is_computed_and_verified() {
    let folder = tempfile::tempdir().unwrap();
    let get = ["data", "get", "pmnist-permutation", "--data", "sets"];
    let got = srnn(folder.path(), &get).yes();
    assert!(got.stdout.contains("3,026 bytes, computed, verified"), "{}", got.stdout);
    let text = fs::read_to_string(folder.path().join("sets/pmnist-permutation.txt")).unwrap();
    assert!(text.starts_with("319 576 323 107 "), "{text}");
}
