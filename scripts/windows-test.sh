#!/bin/bash
# Builds the reader for Windows on Linux and tests it there under Wine: what file systems differ in
# (ingest/tests/files.rs) and the library's smallest program on the fixtures. docs/windows.md says more.
#
#   scripts/windows-test.sh          check, build, test
#   scripts/windows-test.sh check    only type-check, with the feature os-reader; .ci/run does this
#
# It needs a Rust with the target x86_64-pc-windows-gnu (rustup adds it), MinGW, and Wine for the tests.
set -euo pipefail
cd "$(dirname "$0")/.."
target=x86_64-pc-windows-gnu
# No symbol servers: their TLS brings an assembler's worth of other code and nothing that is tested here.
cargo=(--target "$target" --locked -p etwas-ingest --no-default-features --features symbols,os-reader)

if ! rustup target list --installed 2>/dev/null | grep -qx "$target"; then
    rustup target add "$target"
fi
if ! command -v x86_64-w64-mingw32-gcc >/dev/null; then
    echo "missing: MinGW; on Debian and Ubuntu: apt-get install gcc-mingw-w64-x86-64" >&2
    exit 1
fi

echo "+ cargo check ${cargo[*]}"
cargo check "${cargo[@]}" --lib --tests
[ "${1:-}" != check ] || exit 0

wine=""
for program in wine64 wine /usr/lib/wine/wine64; do
    if command -v "$program" >/dev/null; then
        wine=$program
        break
    fi
done
if [ -z "$wine" ]; then
    echo "missing: Wine; on Debian and Ubuntu: apt-get install --no-install-recommends wine64" >&2
    exit 1
fi
place="${CARGO_TARGET_DIR:-target}/windows"
mkdir -p "$place"
place="$(cd "$place" && pwd)"

# Wine before version 9 lacks one function that Rust's standard library asks for.
cat >"$place/prng.c" <<'C'
#include <windows.h>
BOOLEAN NTAPI SystemFunction036(PVOID, ULONG);
__declspec(dllexport) BOOL WINAPI ProcessPrng(PBYTE data, SIZE_T size) {
    return SystemFunction036(data, (ULONG)size);
}
C
mkdir -p "$place/dll"
x86_64-w64-mingw32-gcc -shared -o "$place/dll/bcryptprimitives.dll" "$place/prng.c" -ladvapi32

# A Wine of its own, without a display, that finds the function above.
cat >"$place/run" <<RUN
#!/bin/bash
export WINEPREFIX="$place/wine" WINEDEBUG=-all WINEPATH="Z:${place//\//\\\\}\\\\dll"
export WINEDLLOVERRIDES="bcryptprimitives=n;mscoree,mshtml="
unset DISPLAY
exec "$wine" "\$@"
RUN
chmod +x "$place/run"
export CARGO_TARGET_X86_64_PC_WINDOWS_GNU_RUNNER="$place/run"

echo "+ cargo test ${cargo[*]} --test files"
cargo test "${cargo[@]}" --test files
echo "+ cargo run ${cargo[*]} --example lake"
lake="$(mktemp -d)"
trap 'rm -rf "$lake"' EXIT
cargo run "${cargo[@]}" --example lake -- "$lake/lake" 'fixtures\traces\*.etl' | tee "$lake/printed"
grep -q '^Ok .*\.etl' "$lake/printed"
if grep -qv '^Ok ' "$lake/printed"; then
    echo "not all fixtures were ingested" >&2
    exit 1
fi
