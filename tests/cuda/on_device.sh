#!/bin/sh
# Everything that needs a GPU, for a machine that has one: builds, runs the device tests, runs them
# again under compute-sanitizer, then benchmarks. Results go to $OUT (default: build-device/out).
#
# usage: tests/cuda/on_device.sh [build] [test] [solve] [alone] [parts] [sanitize] [sanitize_solve]
#        [sanitize_parts] [bench] (default: all)
# BUILD names the build directory (default: build-device).
set -eu
cd "$(dirname "$0")/../.."
build=${BUILD:-build-device}
out=${OUT:-$build/out}
export TESSERA_CACHE="${TESSERA_CACHE:-$PWD/$build/kernels}"
jobs=$(nproc 2>/dev/null || echo 2)
[ $# -gt 0 ] || set -- build test solve alone parts sanitize sanitize_solve sanitize_parts bench
mkdir -p "$out"
# The solvers' tests that run on a device, and in how many processes: compiling takes most of their time.
solve_tests="reasons:1 amg:1 cycles:1 alone:1 regrouped:1 given:2 krylov:2 methods:6 complex:3 complex_alike:6 complex_dense:3 complex_device:3 complex_faults:1"

build() {
    cmake -S . -B $build -G Ninja -DCMAKE_BUILD_TYPE=Release >"$out/configure.log" ||
        { tail -20 "$out/configure.log"; return 1; }
    cmake --build $build -j "$jobs" --target test_cuda_device test_cuda_device_factors tessera_command tessera_bench_parts tessera_bench_solve_device \
        $(for test in $solve_tests; do echo "test_solve_${test%:*}"; done) >"$out/build.log" ||
        { tail -40 "$out/build.log"; return 1; }
    $build/bin/tessera devices
}

# Runs the list in as many parts as there are cores, side by side: compiling takes most of the time.
# "$@" is a command that runs each part, such as compute-sanitizer.
in_parts() {
    name=$1
    shift
    failed_parts=0
    pids=
    for n in $(seq 1 "$jobs"); do
        "$@" $build/tests/test_cuda_device "$n/$jobs" >"$out/$name.$n.log" 2>&1 &
        pids="$pids $!"
    done
    n=0
    for pid in $pids; do
        n=$((n + 1))
        wait "$pid" || { failed_parts=1; echo "part $n of $jobs failed:"; tail -40 "$out/$name.$n.log"; }
    done
    cat "$out/$name".*.log | awk '/ variants fitted a matrix/ { ran += $5; all = $(NF - 3) }
        /ERROR SUMMARY|RACECHECK SUMMARY/ { sub(/^=+ /, ""); sums[$0]++ }
        END { print ran " of " all " variants ran"; for (s in sums) print sums[s] " parts: " s }'
    return $failed_parts
}

tests() {
    in_parts device
}

# Runs the tests of solvers, whose "cpu" is the device named by TEST_DEVICE, and those of triangular
# preconditioners, side by side. "$@" as above.
solve() {
    pids=
    for test in $solve_tests; do
        name=${test%:*} shares=${test#*:}
        for share in $(seq 1 "$shares"); do
            TEST_DEVICE=cuda TEST_PART=$share/$shares "$@" $build/tests/test_solve_$name \
                >"$out/solve_$name.$share.log" 2>&1 &
            pids="$pids $!"
        done
    done
    for n in 1 2; do
        "$@" $build/tests/test_cuda_device_factors $n/2 >"$out/solve_factors.$n.log" 2>&1 &
        pids="$pids $!"
    done
    failed_parts=0
    for pid in $pids; do
        wait "$pid" || failed_parts=1
    done
    grep -HE 'PASSED|FAILED|SUMMARY' "$out"/solve_*.log
    return $failed_parts
}

# memcheck finds bad addresses, racecheck missing barriers in shared memory: "$@" runs once under each, a
# matrix a variant. After `test` and `solve` the kernels are in the cache. A shell of its own: the parts that follow do
# not see TEST_FEW.
under_sanitizers() (
    sanitizer=$(command -v compute-sanitizer || echo /usr/local/cuda/bin/compute-sanitizer)
    [ -x "$sanitizer" ] || { echo "compute-sanitizer is not here"; exit 1; }
    export TEST_FEW=8 # test_slowed: small systems, and few of them
    for tool in memcheck racecheck; do
        echo "compute-sanitizer --tool $tool"
        "$@" "$sanitizer" --tool $tool --error-exitcode 9 || exit 1
    done
)

# Tests that fill the device's memory, and timed ones, run alone.
alone() {
    $build/tests/test_cuda_device alone >"$out/alone.log" 2>&1 || { tail -60 "$out/alone.log"; return 1; }
    grep -vE 'RUN|Running' "$out/alone.log"
}

# The device as several parts, in every product form: each product is compared with the reference, and so is the
# number of CG's iterations with that of one part. Under a sanitizer everything runs once, with small matrices and few
# iterations: about 4000 launches of 5 to 10 ms each. "$@" as above.
parts() {
    rounds=5 spec=cg:pc=bjacobi inputs="gen:stencil27:n=20,b=3 gen:elasticity:n=12"
    long_rows=gen:powerlaw:rows=20000,avg=7,b=2,long=4,length=3000
    if [ -n "${TEST_FEW:-}" ]; then
        rounds=0 spec=cg:pc=bjacobi,tol=1e-1 inputs="gen:stencil27:n=6,b=3 gen:elasticity:n=4"
        long_rows=gen:powerlaw:rows=1000,avg=7,b=2,long=4,length=500
    fi
    forms="cuda:0,0 cuda:0,0/whole cuda:0,0/shuffle cuda:0,0,0/whole cuda:0,0,0/shuffle cuda:0,0,0/shuffle:lambda=4"
    for input in $inputs; do
        "$@" $build/bin/tessera_bench_parts $input $spec $rounds cuda:0 $forms >"$out/parts.txt" || return 1
        cat "$out/parts.txt"
        grep '^{' "$out/parts.txt" | awk -F '[:,]' '{ for (i = 1; i < NF; i++) if ($i ~ /"iterations"/) n = $(i + 1) + 0
            if (NR == 1) one = n
            if (n < one - 2 || n > one * 2) { print "one part took " one " iterations"; exit 1 } }' || return 1
    done
    "$@" $build/bin/tessera_bench_parts $long_rows - $rounds cuda:0 $forms
}

bench() {
    for input in gen:stencil27:n=110,b=3 gen:stencil7:n=128,b=5 gen:powerlaw:rows=1000000,avg=7,b=3; do
        name=$(echo "$input" | tr ':=,' '___')
        $build/bin/tessera bench --device cuda --peers "$input" >"$out/$name.txt" 2>"$out/$name.err" ||
            { tail -20 "$out/$name.err"; return 1; }
        cat "$out/$name.txt"
    done
    for n in 12 24 48 80 110; do
        $build/bin/tessera_bench_solve_device gen:stencil27:n=$n,b=3 cg:pc=jacobi cg:pc=bjacobi ||
            return 1
    done
}

failed=
for part; do
    echo "== $part"
    case $part in
    build) build ;;
    test) tests ;;
    solve) solve ;;
    alone) alone ;;
    parts) parts ;;
    sanitize) under_sanitizers in_parts sanitized ;;
    sanitize_solve) under_sanitizers solve ;;
    sanitize_parts) under_sanitizers parts ;;
    bench) bench ;;
    *) echo "on_device.sh: unknown part '$part' (build, test, solve, alone, parts, sanitize, sanitize_solve, sanitize_parts, bench)" >&2; exit 2 ;;
    esac || failed="$failed $part"
done
[ -z "$failed" ] || { echo "failed:$failed"; exit 1; }
