//! Compiles kernel sources with NVRTC and caches the machine code on disk.

use super::CudaError;
use super::kernel_cache::{KernelCache, KernelDigest};
use super::layer_types::Define;
use cudarc::nvrtc::{result, sys};
use std::ffi::{CStr, CString};

pub const WARP: &str = include_str!("kernels/warp.cuh");
pub const CELL: &str = include_str!("kernels/cell.cuh");
pub const SCAN_ARGS: &str = include_str!("kernels/scan_args.cuh");
pub const MATRIX: &str = include_str!("kernels/matrix.cu");
pub const DROPOUT: &str = include_str!("kernels/dropout.cuh");
pub const SUMS: &str = include_str!("kernels/sums.cu");
pub const GROUPED: &str = include_str!("kernels/grouped.cu");
pub const TENSOR: &str = include_str!("kernels/tensor.cu");
pub const WARPGROUP: &str = include_str!("kernels/warpgroup.cu");
pub const HEAD: &str = include_str!("kernels/head.cu");
pub const UPDATE: &str = include_str!("kernels/update.cu");
pub const GENERIC_FORWARD: &str = include_str!("kernels/generic_forward.cu");
pub const GENERIC_BACKWARD: &str = include_str!("kernels/generic_backward.cu");
pub const STEPWISE: &str = include_str!("kernels/stepwise.cu");

/// Scan kernels that are compiled for each layer: sources in the order in which they are
/// concatenated, and the names of the two kernels.
pub struct ScanSource {
    pub files: &'static [&'static str],
    pub forward: &'static str,
    pub backward: &'static str,
}

pub const SMALL_K: ScanSource = ScanSource {
    files: &[
        WARP,
        CELL,
        SCAN_ARGS,
        include_str!("kernels/small_k.cuh"),
        include_str!("kernels/small_k_forward.cu"),
        include_str!("kernels/small_k_backward.cu"),
    ],
    forward: "small_k_forward",
    backward: "small_k_backward",
};

pub const VANILLA: ScanSource = ScanSource {
    files: &[WARP, CELL, SCAN_ARGS, include_str!("kernels/vanilla.cu")],
    forward: "vanilla_forward",
    backward: "vanilla_backward",
};

pub const CLUSTER: ScanSource = ScanSource {
    files: &[
        WARP,
        CELL,
        SCAN_ARGS,
        include_str!("kernels/cluster.cuh"),
        include_str!("kernels/cluster_exchange.cuh"),
        include_str!("kernels/cluster_sums.cuh"),
        include_str!("kernels/cluster_mixture.cuh"),
        include_str!("kernels/cluster_forward.cu"),
        include_str!("kernels/cluster_unit.cuh"),
        include_str!("kernels/cluster_backward.cu"),
    ],
    forward: "cluster_forward",
    backward: "cluster_backward",
};

/// The machine code of `source` for `target` with these macro definitions, from the cache or newly
/// compiled.
pub fn compiled(source: &str, defines: &[Define], target: &str) -> Result<Vec<u8>, CudaError> {
    // SAFETY: only checks whether a library can be loaded.
    if !unsafe { sys::is_culib_present() } {
        return Err(CudaError::NoCompiler);
    }
    let mut options = vec![format!("--gpu-architecture={target}"), "--std=c++17".into()];
    options.extend(defines.iter().map(|(name, value)| format!("-D{name}={value}")));
    let key = KernelDigest::new(&compiler_version(), &options, source);
    let cache = KernelCache::of_user();
    if let Some(code) = cache.as_ref().and_then(|cache| cache.load(key)) {
        return Ok(code);
    }
    let code = compile(source, &options)?;
    if let Some(cache) = cache {
        // A failed write costs only another compilation next time.
        let _ = cache.store(key, &code);
    }
    Ok(code)
}

fn compiler_version() -> String {
    let (mut major, mut minor) = (0, 0);
    // SAFETY: writes two integers.
    unsafe { sys::nvrtcVersion(&mut major, &mut minor) };
    format!("nvrtc {major}.{minor}")
}

fn compile(source: &str, options: &[String]) -> Result<Vec<u8>, CudaError> {
    let source = CString::new(source).expect("sources contain no zero byte");
    let program = result::create_program(&source, Some(c"srnn.cu"))?;
    // SAFETY: the program lives until it is destroyed below, and each buffer has the queried size.
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

/// Whether a source defines a kernel, directly or by a macro `…_KERNEL(name, …)`.
#[cfg(test)]
pub fn has_kernel(source: &str, name: &str) -> bool {
    let (direct, by_macro) = (format!(" {name}("), format!("_KERNEL({name},"));
    let heads = source.split("__global__").skip(1).filter_map(|rest| rest.split('{').next());
    source.contains(&by_macro) || heads.into_iter().any(|head| head.contains(&direct))
}

/// Asserts that the kernels of a source use every macro of `defines`: a misspelt one would be
/// ignored by the compiler.
#[cfg(test)]
pub fn assert_uses_defines(scan: &ScanSource, defines: &[Define]) {
    let source = scan.files.concat();
    let code: Vec<&str> = source.lines().filter_map(|line| line.split("//").next()).collect();
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    for (name, _) in defines {
        let used = code.iter().any(|line| line.split(|c| !is_name(c)).any(|word| word == *name));
        assert!(used, "{} does not use {name}", scan.forward);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_scan_kernel_that_is_looked_up_is_in_its_source() {
        for scan in [SMALL_K, VANILLA, CLUSTER] {
            let source = scan.files.concat();
            for name in [scan.forward, scan.backward] {
                assert!(has_kernel(&source, name), "{name}");
            }
        }
    }
}
