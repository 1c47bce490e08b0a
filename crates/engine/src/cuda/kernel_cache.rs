//! The cache of compiled kernels: a folder that only the user can write. What is loaded from it is
//! verified, because a GPU runs whatever machine code it is given.

use crate::atomic::{self, IfExists, open_regular};
use crate::hex::hex;
use sha2::{Digest, Sha256};
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

/// A larger file is not ours: kernels have some hundred kilobytes.
const MAX_BYTES: u64 = 64 << 20;

/// The length of a SHA-256.
const DIGEST: usize = 32;

/// The name of a kernel in the cache: the digest of its source, its options and the compiler's version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KernelDigest([u8; DIGEST]);

impl KernelDigest {
    /// The key of a source that a compiler of this version compiles with these options.
    pub fn new(compiler: &str, options: &[String], source: &str) -> KernelDigest {
        let mut digest = Sha256::new();
        for part in [compiler].into_iter().chain(options.iter().map(String::as_str)).chain([source])
        {
            digest.update((part.len() as u64).to_le_bytes());
            digest.update(part);
        }
        KernelDigest(digest.finalize().into())
    }

    /// The digest of a kernel's machine code together with its key.
    fn digest_with(self, code: &[u8]) -> [u8; DIGEST] {
        let mut digest = Sha256::new();
        digest.update(self.0);
        digest.update(code);
        digest.finalize().into()
    }
}

/// A folder of compiled kernels.
#[derive(Clone, Debug)]
pub struct KernelCache {
    folder: PathBuf,
}

impl KernelCache {
    /// The cache of the user: `srnn/kernels` in XDG_CACHE_HOME or in `.cache` of HOME. `None` if the
    /// user has no such folder, or others can write to it.
    pub fn of_user() -> Option<KernelCache> {
        let root = cache_root(std::env::var_os("XDG_CACHE_HOME"), std::env::var_os("HOME"))?;
        KernelCache::open(&root)
    }

    /// The cache in a folder for caches, which is created if needed.
    fn open(root: &Path) -> Option<KernelCache> {
        let (parent, folder) = (root.join("srnn"), root.join("srnn/kernels"));
        create_private(&folder).ok()?;
        // The root is not made by us: often the user's own group can write to it.
        let private = is_private(root, OTHERS_WRITE)
            && is_private(&parent, GROUP_OR_OTHERS_WRITE)
            && is_private(&folder, GROUP_OR_OTHERS_WRITE);
        private.then_some(KernelCache { folder })
    }

    /// The machine code of a kernel; `None` if it is not there, or damaged.
    pub fn load(&self, key: KernelDigest) -> Option<Vec<u8>> {
        let file = open_regular(&self.path(key), File::options().read(true)).ok()?;
        let mut bytes = vec![];
        file.take(MAX_BYTES).read_to_end(&mut bytes).ok()?;
        let (stored, code) = bytes.split_first_chunk::<DIGEST>()?;
        (*stored == key.digest_with(code)).then(|| code.to_vec())
    }

    /// Stores the machine code of a kernel, with its digest before it.
    pub fn store(&self, key: KernelDigest, code: &[u8]) -> io::Result<()> {
        let bytes = [&key.digest_with(code)[..], code].concat();
        atomic::write(&self.path(key), &bytes, IfExists::Replace)
    }

    fn path(&self, key: KernelDigest) -> PathBuf {
        self.folder.join(format!("{}.kernel", hex(&key.0)))
    }
}

/// The folder for caches. An empty or relative variable is ignored, as the XDG specification says.
fn cache_root(xdg: Option<OsString>, home: Option<OsString>) -> Option<PathBuf> {
    let absolute =
        |variable: Option<OsString>| variable.map(PathBuf::from).filter(|p| p.is_absolute());
    absolute(xdg).or_else(|| Some(absolute(home)?.join(".cache")))
}

#[cfg(unix)]
fn create_private(folder: &Path) -> io::Result<()> {
    use std::os::unix::fs::DirBuilderExt as _;
    fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

#[cfg(not(unix))]
fn create_private(folder: &Path) -> io::Result<()> {
    fs::create_dir_all(folder)
}

/// Bits of a folder's mode.
const OTHERS_WRITE: u32 = 0o002;
const GROUP_OR_OTHERS_WRITE: u32 = 0o022;

/// Whether a folder belongs to this user or the administrator, and has none of these bits.
#[cfg(unix)]
fn is_private(folder: &Path, writable: u32) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    const ADMINISTRATOR: u32 = 0;
    let Ok(about) = fs::metadata(folder) else { return false };
    // The folder of a process belongs to its user.
    let user = fs::metadata("/proc/self").map_or(about.uid(), |process| process.uid());
    about.is_dir() && about.mode() & writable == 0 && [user, ADMINISTRATOR].contains(&about.uid())
}

/// Elsewhere the folder of a user is private by default.
#[cfg(not(unix))]
fn is_private(folder: &Path, _: u32) -> bool {
    folder.is_dir()
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    fn key(source: &str) -> KernelDigest {
        KernelDigest::new("nvrtc 13.0", &["--std=c++17".into()], source)
    }

    #[test]
    fn keys_differ_wherever_compiler_options_or_source_differ() {
        let options =
            |texts: &[&str]| texts.iter().map(|text| text.to_string()).collect::<Vec<_>>();
        let keys = [
            KernelDigest::new("nvrtc 13.0", &options(&["-a", "-b"]), "source"),
            KernelDigest::new("nvrtc 13.1", &options(&["-a", "-b"]), "source"),
            KernelDigest::new("nvrtc 13.0", &options(&["-a-b"]), "source"),
            KernelDigest::new("nvrtc 13.0", &options(&["-a"]), "-bsource"),
            KernelDigest::new("nvrtc 13.0", &options(&["-a", "-b"]), "other"),
        ];
        for (index, key) in keys.iter().enumerate() {
            assert!(!keys[..index].contains(key), "{index}");
        }
    }

    #[test]
    fn a_kernel_comes_back_and_a_damaged_one_does_not() {
        let root = tempfile::tempdir().unwrap();
        let cache = KernelCache::open(root.path()).unwrap();
        assert_eq!(cache.load(key("a")), None);
        cache.store(key("a"), b"machine code").unwrap();
        assert_eq!(cache.load(key("a")).as_deref(), Some(&b"machine code"[..]));
        let good = fs::read(cache.path(key("a"))).unwrap();
        for place in [0, DIGEST - 1, DIGEST, good.len() - 1] {
            let mut bad = good.clone();
            bad[place] ^= 1;
            fs::write(cache.path(key("a")), bad).unwrap();
            assert_eq!(cache.load(key("a")), None, "byte {place}");
        }
        for length in [0, DIGEST - 1, DIGEST, good.len() - 1] {
            fs::write(cache.path(key("a")), &good[..length]).unwrap();
            assert_eq!(cache.load(key("a")), None, "{length} bytes");
        }
        // The code of another kernel is not accepted under this name.
        fs::write(cache.path(key("b")), &good).unwrap();
        assert_eq!(cache.load(key("b")), None);
        cache.store(key("a"), b"again").unwrap();
        assert_eq!(cache.load(key("a")).as_deref(), Some(&b"again"[..]));
    }

    #[test]
    fn a_folder_that_others_can_write_is_refused() {
        let root = tempfile::tempdir().unwrap();
        let cache = KernelCache::open(root.path()).unwrap();
        assert_eq!(fs::metadata(&cache.folder).unwrap().permissions().mode() & 0o777, 0o700);
        for (folder, modes) in [
            (root.path().to_path_buf(), &[0o777, 0o702][..]),
            (root.path().join("srnn"), &[0o777, 0o770, 0o702]),
            (cache.folder.clone(), &[0o777, 0o770, 0o702]),
        ] {
            for &mode in modes {
                fs::set_permissions(&folder, fs::Permissions::from_mode(mode)).unwrap();
                assert!(KernelCache::open(root.path()).is_none(), "{folder:?} {mode:o}");
            }
            fs::set_permissions(&folder, fs::Permissions::from_mode(0o755)).unwrap();
            assert!(KernelCache::open(root.path()).is_some());
        }
    }

    #[test]
    fn links_in_the_cache_are_not_followed() {
        let root = tempfile::tempdir().unwrap();
        let cache = KernelCache::open(root.path()).unwrap();
        cache.store(key("a"), b"code").unwrap();
        let elsewhere = root.path().join("elsewhere");
        fs::rename(cache.path(key("a")), &elsewhere).unwrap();
        symlink(&elsewhere, cache.path(key("a"))).unwrap();
        assert_eq!(cache.load(key("a")), None);
    }

    #[test]
    fn empty_and_relative_variables_are_ignored() {
        let root = |xdg: Option<&str>, home: Option<&str>| {
            cache_root(xdg.map(OsString::from), home.map(OsString::from))
        };
        let at = |path: &str| Some(PathBuf::from(path));
        assert_eq!(root(Some("/cache"), Some("/home/a")), at("/cache"));
        for ignored in [None, Some(""), Some("cache"), Some("./cache")] {
            assert_eq!(root(ignored, Some("/home/a")), at("/home/a/.cache"));
            assert_eq!(root(ignored, Some("a")), None);
            assert_eq!(root(ignored, None), None);
        }
    }
}
