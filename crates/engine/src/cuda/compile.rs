//! Kernels from source to machine code, by NVRTC; kept on disk, so that each is compiled once.

use super::CudaError;
use crate::hex::hex;
use cudarc::nvrtc::{result, sys};
use sha2::{Digest, Sha256};
use std::ffi::{CStr, CString};
use std::path::{Path, PathBuf};

pub const WARP: &str = include_str!("kernels/warp.cuh");
pub const CELL: &str = include_str!("kernels/cell.cuh");
pub const SCAN_ARGUMENTS: &str = include_str!("kernels/scan.cuh");
pub const MATRIX: &str = include_str!("kernels/matrix.cu");
pub const MANY: &str = include_str!("kernels/many.cu");
pub const TENSOR: &str = include_str!("kernels/tensor.cu");
pub const WARPGROUP: &str = include_str!("kernels/warpgroup.cu");
pub const HEAD: &str = include_str!("kernels/head.cu");
pub const UPDATE: &str = include_str!("kernels/update.cu");
pub const FEW: &str = include_str!("kernels/few.cuh");
pub const FEW_FORWARD: &str = include_str!("kernels/few_forward.cu");
pub const FEW_BACKWARD: &str = include_str!("kernels/few_backward.cu");
pub const PLAIN: &str = include_str!("kernels/plain.cu");
/// Kernels for clusters of blocks, in the order in which they build on each other.
pub const CLUSTER: [&str; 6] = [
    include_str!("kernels/cluster.cuh"),
    include_str!("kernels/exchange.cuh"),
    include_str!("kernels/lanes.cuh"),
    include_str!("kernels/cluster_forward.cu"),
    include_str!("kernels/cluster_unit.cuh"),
    include_str!("kernels/cluster_backward.cu"),
];
pub const SCAN: &str = include_str!("kernels/scan.cu");

/// Machine code of `source` with these definitions, from the disk or made now.
pub fn compiled(
    source: &str,
    definitions: &[(&str, String)],
    target: &str,
) -> Result<Vec<u8>, CudaError> {
    // SAFETY: only asks whether a library can be loaded.
    if !unsafe { sys::is_culib_present() } {
        return Err(CudaError::NoCompiler);
    }
    let mut options = vec![format!("--gpu-architecture={target}"), "--std=c++17".into()];
    options.extend(definitions.iter().map(|(name, value)| format!("-D{name}={value}")));
    let place = place(source, &options);
    if let Some(code) = place.as_ref().and_then(|place| std::fs::read(place).ok()) {
        return Ok(code);
    }
    let code = compile(source, &options)?;
    if let Some(place) = place {
        // Where that fails it is made again the next time.
        let _ = keep(&place, &code);
    }
    Ok(code)
}

/// Where the code of a source and its options is kept, if the user has a cache.
fn place(source: &str, options: &[String]) -> Option<PathBuf> {
    let cache = match std::env::var_os("XDG_CACHE_HOME") {
        Some(cache) => PathBuf::from(cache),
        None => PathBuf::from(std::env::var_os("HOME")?).join(".cache"),
    };
    let mut digest = Sha256::new();
    let (mut major, mut minor) = (0, 0);
    // SAFETY: writes two numbers.
    unsafe { sys::nvrtcVersion(&mut major, &mut minor) };
    digest.update(format!("nvrtc {major}.{minor}\n{}\n{source}", options.join("\n")));
    Some(cache.join("srnn/kernels").join(format!("{}.cubin", hex(&digest.finalize()))))
}

/// Keeps code for the next time.
fn keep(place: &Path, code: &[u8]) -> std::io::Result<()> {
    place.parent().map_or(Ok(()), std::fs::create_dir_all)?;
    crate::atomic::write(place, code)
}

fn compile(source: &str, options: &[String]) -> Result<Vec<u8>, CudaError> {
    let source = CString::new(source).expect("sources have no zero byte");
    let program = result::create_program(&source, Some(c"srnn.cu"))?;
    // SAFETY: the program lives until it is destroyed below, and buffers are as long as asked for.
    unsafe {
        let compiled = result::compile_program(program, options).map_err(|error| {
            let log = result::get_program_log(program).unwrap_or_default();
            let log = CStr::from_ptr(log.as_ptr()).to_string_lossy().into_owned();
            CudaError::Compile { error, log }
        });
        let code = compiled.and_then(|()| {
            let mut size = 0;
            sys::nvrtcGetCUBINSize(program, &mut size).result()?;
            let mut code = vec![0u8; size];
            sys::nvrtcGetCUBIN(program, code.as_mut_ptr().cast()).result()?;
            Ok(code)
        });
        result::destroy_program(program)?;
        code
    }
}
