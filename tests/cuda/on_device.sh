#!/bin/sh
# Everything that needs a GPU, for a machine that has one: builds, runs the device tests, runs a
# reduced list of them under compute-sanitizer, then benchmarks. Results go to $OUT (default:
# build-device/out).
#
# usage: tests/cuda/on_device.sh [build] [test] [sanitize] [bench]      (default: all of them)
set -eu
cd "$(dirname "$0")/../.."
build=build-device
out=${OUT:-$build/out}
export TESSERA_CACHE="${TESSERA_CACHE:-$PWD/$build/kernels}"
jobs=$(nproc 2>/dev/null || echo 2)
[ $# -gt 0 ] || set -- build test sanitize bench
mkdir -p "$out"

build() {
    cmake -S . -B $build -G Ninja -DCMAKE_BUILD_TYPE=Release >"$out/configure.log" ||
        { tail -20 "$out/configure.log"; return 1; }
    cmake --build $build -j "$jobs" --target test_cuda_device tessera_command >"$out/build.log" ||
        { tail -40 "$out/build.log"; return 1; }
    $build/bin/tessera devices
}

tests() {
    $build/tests/test_cuda_device >"$out/device.log" 2>&1 || { tail -60 "$out/device.log"; return 1; }
    grep -vE 'RUN|Running' "$out/device.log"
}

# memcheck finds bad addresses, racecheck missing barriers in shared memory; every 8th variant.
sanitize() {
    sanitizer=$(command -v compute-sanitizer || echo /usr/local/cuda/bin/compute-sanitizer)
    [ -x "$sanitizer" ] || { echo "compute-sanitizer is not here"; return 1; }
    for tool in memcheck racecheck; do
        echo "compute-sanitizer --tool $tool"
        "$sanitizer" --tool $tool --error-exitcode 9 $build/tests/test_cuda_device 8 \
            >"$out/$tool.log" 2>&1 || { tail -40 "$out/$tool.log"; return 1; }
        grep 'ERROR SUMMARY\|RACECHECK SUMMARY' "$out/$tool.log"
    done
}

bench() {
    for input in gen:stencil27:n=110,b=3 gen:stencil7:n=128,b=5 gen:powerlaw:rows=1000000,avg=7,b=3; do
        name=$(echo "$input" | tr ':=,' '___')
        $build/bin/tessera bench --device cuda --peers "$input" >"$out/$name.txt" 2>"$out/$name.err" ||
            { tail -20 "$out/$name.err"; return 1; }
        cat "$out/$name.txt"
    done
}

failed=
for part; do
    echo "== $part"
    case $part in
    build) build ;;
    test) tests ;;
    sanitize) sanitize ;;
    bench) bench ;;
    *) echo "on_device.sh: unknown part '$part' (build, test, sanitize, bench)" >&2; exit 2 ;;
    esac || failed="$failed $part"
done
[ -z "$failed" ] || { echo "failed:$failed"; exit 1; }
