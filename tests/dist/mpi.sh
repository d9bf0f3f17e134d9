#!/bin/sh
# tessera-mpi on 1 to 4 ranks against one rank: products to rounding, solves by their residual; what
# fails on one rank fails everywhere and nothing hangs.
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

# same A B: numbers line by line, to 1e-12 of the largest.
same() {
    awk 'NR == FNR { a[FNR] = $1; if ($1 > m) m = $1; if (-$1 > m) m = -$1; n = FNR; next }
         { d = $1 - a[FNR]; if (d < 0) d = -d; if (d > 1e-12 * m) bad = 1; k = FNR }
         END { exit bad || n != k || n == 0 }' "$1" "$2"
}

for input in gen:stencil27:n=6,b=3 gen:cdr:n=7 gen:random:rows=97,avg=5,r=2,c=2 gen:stencil7:n=1,b=2; do
    for ranks in 1 2 3 4; do
        expect 0 $ranks spmv $input --reps 2 --out "$folder/y.$ranks"
        same "$folder/y.1" "$folder/y.$ranks" || { bad=1; echo "$input: y differs on $ranks ranks"; }
    done
done

for case in "gen:elasticity:n=6" "gen:elasticity:n=6 --solver cg:pc=bjacobi" \
    "gen:elasticity:n=6 --solver cg_single:pc=jacobi" "gen:cdr:n=8 --solver bicgstab:pc=ilu0" \
    "gen:cdr:n=8 --solver gmres:pc=ssor --block 1" "gen:stencil7:n=1,b=2 --solver cg"; do
    for ranks in 1 2 4; do
        # shellcheck disable=SC2086 # words of a command line
        expect 0 $ranks solve $case --json
        awk '/"reason":"CONVERGED"/ { ok = 1 } END { exit !ok || NR != 1 }' "$folder/out" ||
            { bad=1; echo "$case on $ranks ranks:"; cat "$folder/out"; }
    done
done

# A partition changes who computes, never the numbering that a caller sees.
input=gen:random:rows=97,avg=5,r=2,c=2
expect 0 1 spmv $input --reps 1 --out "$folder/y.1"
for partition in contiguous cyclic metis scotch; do
    for ranks in 2 3 4; do
        timeout 120 mpirun -n $ranks "$command" spmv $input --reps 1 --partition $partition \
            --out "$folder/y.$ranks" >"$folder/out" 2>"$folder/err"
        status=$?
        [ $status = 3 ] && grep -q 'is not here: install it' "$folder/err" && continue
        [ $status = 0 ] && same "$folder/y.1" "$folder/y.$ranks" ||
            { bad=1; echo "$input by $partition: y differs on $ranks ranks"; cat "$folder/err"; }
    done
done
expect 0 3 solve gen:elasticity:n=5 --partition cyclic --solver cg:pc=bjacobi
expect 3 3 spmv gen:cdr:n=5 --partition circle
[ "$(grep -c "unknown partition 'circle'" "$folder/err")" = 1 ] || { bad=1; echo "not one sentence:"; cat "$folder/err"; }

# Every form of the product, the same bits in two runs.
for form in halo whole shuffle shuffle:lambda=2; do
    for ranks in 1 2 3 4; do
        expect 0 $ranks spmv $input --reps 1 --form $form --out "$folder/y.$ranks"
        same "$folder/y.1" "$folder/y.$ranks" || { bad=1; echo "form $form: y differs on $ranks ranks"; }
        expect 0 $ranks spmv $input --reps 1 --form $form --out "$folder/again"
        cmp -s "$folder/y.$ranks" "$folder/again" || { bad=1; echo "form $form: other bits on $ranks ranks"; }
    done
    expect 0 3 solve gen:elasticity:n=5 --form $form --solver cg:pc=bjacobi
done
expect 3 3 spmv gen:cdr:n=5 --form shuffle:lamda=2
[ "$(grep -c "'lambda'" "$folder/err")" = 1 ] || { bad=1; echo "not one sentence:"; cat "$folder/err"; }

# A .tess file is read by ranges; the last rank has a folder without it, and all say so.
"$1/tessera" generate gen:stencil7:n=9,b=3 "$folder/A.tess" >/dev/null || bad=1
expect 0 1 spmv gen:stencil7:n=9,b=3 --reps 1 --out "$folder/y.1"
for ranks in 1 2 3 4; do
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
expect 3 2 solve gen:cdr:n=5 --solver nonsense
expect 3 2 solve gen:cdr:n=5 --solver direct
expect 1 2 solve gen:cdr:n=8 --solver gmres:max=2
expect 2 2 solve
expect 2 2 solve gen:cdr:n=5 --block x
expect 2 2 multiply gen:cdr:n=5
expect 3 2 spmv gen:powerlaw:rows=50,avg=3,r=2,c=3
expect 0 2 --help
exit $bad
