#!/bin/sh
# Builds the fuzz targets (preset "fuzz": clang, libFuzzer, ASan and UBSan) and runs each for
# SECONDS from its committed corpus. New inputs stay in build-fuzz/corpus; a crash is kept as
# build-fuzz/crash-TARGET-* and makes this fail.
#
#     tests/fuzz/run_fuzz.sh SECONDS [TARGET...]
set -eu
seconds=${1:?usage: run_fuzz.sh SECONDS [TARGET...]}
shift
[ $# -gt 0 ] || set -- mtx gz tess vector options
cd "$(dirname "$0")/../.."
if ! command -v clang >/dev/null; then
    echo "run_fuzz.sh: clang is missing: apt-get install clang" >&2
    exit 77
fi
mkdir -p build-fuzz
cmake --preset fuzz >build-fuzz/build.log 2>&1 || { cat build-fuzz/build.log >&2; rm -f build-fuzz/build.log; exit 1; }
targets=
for target in "$@"; do
    targets="$targets fuzz_$target"
done
# shellcheck disable=SC2086 # a list of names
cmake --build --preset fuzz --target $targets >build-fuzz/build.log 2>&1 ||
    { cat build-fuzz/build.log >&2; rm -f build-fuzz/build.log; exit 1; }
rm -f build-fuzz/build.log

one() { # TARGET
    mkdir -p "build-fuzz/corpus/$1"
    if build-fuzz/tests/fuzz_"$1" -max_total_time="$seconds" -max_len=4096 -timeout=20 \
        -rss_limit_mb=4096 -print_final_stats=1 -verbosity=0 \
        -artifact_prefix="build-fuzz/crash-$1-" \
        "build-fuzz/corpus/$1" "tests/fuzz/corpus/$1" >"build-fuzz/$1.log" 2>&1; then
        echo "fuzz_$1: $(sed -n 's/^stat::number_of_executed_units: *//p' "build-fuzz/$1.log") runs in $seconds s, no fault"
    else
        tail -40 "build-fuzz/$1.log" >&2
        echo "fuzz_$1: FAILED, input kept in build-fuzz/" >&2
        return 1
    fi
}

# As many targets at a time as there are cores: each uses one.
cores=$(nproc 2>/dev/null || echo 1)
status=0
while [ $# -gt 0 ]; do
    pids=
    for _ in $(seq 1 "$cores"); do
        [ $# -gt 0 ] || break
        one "$1" &
        pids="$pids $!"
        shift
    done
    for pid in $pids; do
        wait "$pid" || status=1
    done
done
exit $status
