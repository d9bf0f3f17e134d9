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
    echo "run_fuzz.sh: clang is missing: apt-get install clang libomp-dev" >&2
    exit 77
fi
mkdir -p build-fuzz
cmake --preset fuzz >build-fuzz/build.log 2>&1 || { cat build-fuzz/build.log >&2; rm -f build-fuzz/build.log; exit 1; }
for target in "$@"; do
    cmake --build --preset fuzz --target "fuzz_$target" >build-fuzz/build.log 2>&1 ||
        { cat build-fuzz/build.log >&2; rm -f build-fuzz/build.log; exit 1; }
done
rm -f build-fuzz/build.log
status=0
for target in "$@"; do
    mkdir -p "build-fuzz/corpus/$target"
    if build-fuzz/tests/fuzz_"$target" -max_total_time="$seconds" -max_len=4096 -timeout=20 \
        -rss_limit_mb=4096 -print_final_stats=1 -verbosity=0 \
        -artifact_prefix="build-fuzz/crash-$target-" \
        "build-fuzz/corpus/$target" "tests/fuzz/corpus/$target" >"build-fuzz/$target.log" 2>&1; then
        echo "fuzz_$target: $(sed -n 's/^stat::number_of_executed_units: *//p' "build-fuzz/$target.log") runs in $seconds s, no fault"
    else
        tail -40 "build-fuzz/$target.log" >&2
        echo "fuzz_$target: FAILED, input kept in build-fuzz/" >&2
        status=1
    fi
done
exit $status
