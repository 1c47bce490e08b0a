#!/usr/bin/env bash
# Checks pages of runs in a headless Chromium: bash tests/page/browser.sh REPORT.html …
# Without arguments it makes pages: of a proved run, of a plain network, and of hostile tokens.
# Needs node, npm and a Chromium (CHROMIUM=PATH, or one that is found by its name).
set -euo pipefail
here="$(cd "$(dirname "$0")" && pwd)"
browser="${CHROMIUM:-$(command -v chromium || command -v chromium-browser || command -v google-chrome || true)}"
if [ -z "$browser" ]; then
    echo "no Chromium is found: install the package chromium, or set CHROMIUM=PATH" >&2
    exit 2
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp "$here/browser.mjs" "$work/"
(cd "$work" && npm install --silent --no-audit --no-fund playwright-core@1 axe-core@4)
pages=("$@")
if [ ${#pages[@]} = 0 ]; then
    srnn() { cargo run --quiet --manifest-path "$here/../../Cargo.toml" -p srnn-cli -- --quiet "$@" >/dev/null; }
    python3 "$here/hostile.py" > "$work/hostile.jsonl"
    srnn learn tomita:1 --units 20 --k 8 --updates 1200 --seeds 2 --out "$work/proved"
    srnn learn tomita:1 --arch lstm --units 12 --updates 40 --seeds 1 --out "$work/plain"
    srnn learn "$work/hostile.jsonl" --arch sr-gru --units 12 --k 5 --updates 100 --seeds 1 \
        --out "$work/hostile"
    pages=("$work"/*/report.html)
fi
node "$work/browser.mjs" "$browser" "${pages[@]}"
