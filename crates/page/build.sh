#!/usr/bin/env bash
# Builds the WebAssembly module inside the page of a run, crates/srnn/src/page/page.wasm.gz.
#   bash crates/page/build.sh          builds it and replaces the committed file
#   bash crates/page/build.sh --check  builds it and fails if the committed file differs
# The same sources and the same compiler give the same bytes, so the compiler's version is recorded
# beside the module. It needs the target: rustup target add wasm32-unknown-unknown
set -euo pipefail
cd "$(dirname "$0")/../.."
committed=crates/srnn/src/page/page.wasm.gz
recorded=crates/srnn/src/page/page.wasm.gz.compiler
compiler=$(rustc --version)
if [ "${1:-}" = --check ] && [ "$compiler" != "$(cat "$recorded")" ]; then
    echo "page.wasm.gz: not compared: it was built by $(cat "$recorded"), this is $compiler" >&2
    exit 0
fi
target="${CARGO_TARGET_DIR:-target}"
cargo_home="${CARGO_HOME:-$HOME/.cargo}"
# Paths of this machine must not reach the module. Flags of the user are replaced: they would change it.
flags="--remap-path-prefix=$PWD=. --remap-path-prefix=$cargo_home=cargo"
flags="$flags --remap-path-prefix=$(rustc --print sysroot)=rust"
RUSTFLAGS="$flags" CARGO_INCREMENTAL=0 cargo build --quiet --locked --profile page -p srnn-page \
    --target wasm32-unknown-unknown
built="$target/wasm32-unknown-unknown/page/srnn_page.wasm"
if [ "${1:-}" = --check ]; then
    if ! gzip -dc "$committed" | cmp --silent - "$built"; then
        echo "page.wasm.gz no longer matches its sources: run \`bash crates/page/build.sh\`, and commit" \
            "$committed" >&2
        exit 1
    fi
    echo "page.wasm.gz matches its sources"
else
    gzip -9nc "$built" > "$committed"
    echo "$compiler" > "$recorded"
    echo "$committed: $(stat -c %s "$committed") bytes, unpacked $(stat -c %s "$built")"
fi
