#!/bin/sh
# tessera-mpi on 1 to 4 ranks against one rank: products to rounding, solves by their residual. A
# failure on one rank fails on all, and nothing hangs.
#
# usage: mpi.sh BIN_DIRECTORY
command=$1/tessera-mpi
[ -x "$command" ] || { echo "skipped: tessera-mpi is not built, MPI is not here"; exit 77; }
command -v mpirun >/dev/null || { echo "skipped: mpirun is not here"; exit 77; }
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
export OMPI_MCA_mpi_yield_when_idle=1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
bad=0

# expect STATUS RANKS ARGUMENT...: the exit status, and one line of words on standard error.
expect() {
    status=$1 ranks=$2
    shift 2
    timeout 120 mpirun -n "$ranks" "$command" "$@" >"$folder/out" 2>"$folder/err"
    got=$?
    [ $got = "$status" ] || { bad=1; echo "mpirun -n $ranks $*: status $got, not $status"; cat "$folder/err"; }
}

# same A B: compares two files' numbers line by line, to 1e-12 of the largest.
same() {
    awk 'NR == FNR { a[FNR] = $1; if ($1 > m) m = $1; if (-$1 > m) m = -$1; n = FNR; next }
         { d = $1 - a[FNR]; if (d < 0) d = -d; if (d > 1e-12 * m) bad = 1; k = FNR }
         END { exit bad || n != k || n == 0 }' "$1" "$2"
}

# Every product form and partition, method and preconditioner, in one program; faults of one rank.
for ranks in 1 2 3 4; do
    timeout 120 mpirun -n $ranks "$1/dist_mpi_all" 2>"$folder/err" ||
        { bad=1; echo "dist_mpi_all on $ranks ranks:"; cat "$folder/err"; }
done

# Ranks on the fake driver's GPUs: rows go through pinned memory or, where MPI takes it, from device memory.
fake=$(dirname "$1")/tests/fake_cuda.so
if [ -f "$fake" ]; then
    gpu="env TESSERA_LIBCUDA=$fake TESSERA_NVRTC=$fake TESSERA_FAKE_DEVICES=2 TESSERA_CACHE=$folder/cache"
    cases="2:on:cuda:1 3:off:cuda:0"
    [ -z "${TEST_ALL:-}" ] || cases="$cases 1:off:cuda:0 4:off:cuda:0"
    for case in $cases; do
        ranks=${case%%:*} rest=${case#*:}
        memory=${rest%%:*} device=${rest#*:}
        $gpu TESSERA_MPI_DEVICE_MEMORY="$memory" timeout 200 mpirun -n "$ranks" "$1/dist_mpi_all" "$device" 27 2>"$folder/err" ||
            { bad=1; echo "dist_mpi_all on $ranks ranks, $device, device memory $memory:"; cat "$folder/err"; }
    done
    # One GPU per rank, and two GPUs that ranks take in turn.
    for device in cuda cuda:1,0; do
        $gpu timeout 120 mpirun -n 3 "$command" solve gen:elasticity:n=4 --solver cg:pc=bjacobi --device $device --json \
            >"$folder/out" 2>"$folder/err" || { bad=1; echo "--device $device:"; cat "$folder/err"; }
        grep -q '"reason":"CONVERGED"' "$folder/out" || { bad=1; echo "--device $device:"; cat "$folder/out"; }
    done
fi

# The command: one line on standard output, x and y to a file in the matrix's own numbering.
input=gen:random:rows=97,avg=5,r=2,c=2
expect 0 1 spmv $input --reps 1 --out "$folder/y.1"
for words in "--partition cyclic" "--partition contiguous --form shuffle:lambda=2" "--form whole --threads 1"; do
    # shellcheck disable=SC2086 # words of a command line
    expect 0 3 spmv $input --reps 1 $words --out "$folder/y.3"
    same "$folder/y.1" "$folder/y.3" || { bad=1; echo "$input $words: y differs on 3 ranks"; }
done
for case in "gen:elasticity:n=6" "gen:cdr:n=8 --solver gmres:pc=ssor --block 1" "gen:stencil7:n=1,b=2 --solver cg"; do
    for ranks in 1 4; do
        # shellcheck disable=SC2086 # words of a command line
        expect 0 $ranks solve $case --json
        awk '/"reason":"CONVERGED"/ { ok = 1 } END { exit !ok || NR != 1 }' "$folder/out" ||
            { bad=1; echo "$case on $ranks ranks:"; cat "$folder/out"; }
    done
done
expect 3 3 spmv gen:cdr:n=5 --partition circle
[ "$(grep -c "unknown partition 'circle'" "$folder/err")" = 1 ] || { bad=1; echo "not one sentence:"; cat "$folder/err"; }
expect 3 3 spmv gen:cdr:n=5 --form shuffle:lamda=2
[ "$(grep -c "'lambda'" "$folder/err")" = 1 ] || { bad=1; echo "not one sentence:"; cat "$folder/err"; }

# A .tess file is read by ranges. The last rank's folder lacks the file, and all ranks say so.
"$1/tessera" generate gen:stencil7:n=9,b=3 "$folder/A.tess" >/dev/null || bad=1
expect 0 1 spmv gen:stencil7:n=9,b=3 --reps 1 --out "$folder/y.1"
for ranks in 1 3 4; do
    expect 0 $ranks spmv "$folder/A.tess" --reps 1 --out "$folder/t.$ranks"
    same "$folder/y.1" "$folder/t.$ranks" || { bad=1; echo "A.tess: y differs on $ranks ranks"; }
done
mkdir "$folder/there" "$folder/elsewhere"
mv "$folder/A.tess" "$folder/there"
timeout 120 mpirun -n 2 -wdir "$folder/there" "$command" spmv A.tess : -n 1 -wdir "$folder/elsewhere" "$command" spmv A.tess \
    >"$folder/out" 2>"$folder/err"
[ $? = 3 ] && [ "$(grep -c 'part 2 of 3: A.tess: No such file' "$folder/err")" = 1 ] ||
    { bad=1; echo "a file missing on one rank:"; cat "$folder/err"; }

# Assembly with blocks of other ranks' rows, and a mistake of the last rank.
for ranks in 1 2 3 4; do
    timeout 120 mpirun -n $ranks "$1/dist_mpi_assemble" 2>"$folder/err" ||
        { bad=1; echo "assembly on $ranks ranks:"; cat "$folder/err"; }
done

expect 3 3 solve "$folder/missing.mtx"
[ "$(grep -c 'missing.mtx' "$folder/err")" = 1 ] || { bad=1; echo "not one sentence:"; cat "$folder/err"; }
# A file that cannot be written is found before the matrix is read.
expect 3 2 spmv "$folder/missing.mtx" --out "$folder/nowhere/y"
[ "$(grep -c 'nowhere/y' "$folder/err")" = 1 ] || { bad=1; echo "not one sentence:"; cat "$folder/err"; }
expect 3 2 solve gen:cdr:n=5 --solver nonsense
expect 3 2 solve gen:cdr:n=5 --solver direct
expect 1 2 solve gen:cdr:n=8 --solver gmres:max=2
expect 2 2 solve
expect 2 2 solve gen:cdr:n=5 --block x
expect 2 2 multiply gen:cdr:n=5
expect 3 2 spmv gen:powerlaw:rows=50,avg=3,r=2,c=3
# Options that would do nothing.
expect 2 2 spmv gen:cdr:n=5 --rhs "$folder/y.1"
expect 2 2 spmv gen:cdr:n=5 --solver cg
expect 2 2 solve gen:cdr:n=5 --reps 3
# b has the norm infinity, which JSON has no number for.
printf '%s\n' '%%MatrixMarket matrix coordinate real general' '2 2 3' '1 1 1' '2 1 1.5e308' '2 2 1.5e308' >"$folder/huge.mtx"
expect 1 2 solve "$folder/huge.mtx" --solver gmres --json
grep -q '"true_residual":null,' "$folder/out" || { bad=1; echo "not null:"; cat "$folder/out"; }
# shellcheck disable=SC2016 # $0 is the inner shell's
if [ -e /dev/full ]; then
    timeout 120 mpirun -n 2 sh -c '"$0" spmv gen:cdr:n=5 --reps 1 --json >/dev/full' "$command" 2>"$folder/err"
    [ $? = 3 ] && grep -q 'standard output cannot be written' "$folder/err" || { bad=1; echo "a full disk:"; cat "$folder/err"; }
fi
expect 0 2 --help
exit $bad
