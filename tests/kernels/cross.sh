#!/bin/sh
# The kernels that this machine cannot run: compiled for the other family of processors and for SVE,
# and run by QEMU against plain sums. AVX-512 is only compiled: QEMU has none.
#     cross.sh FAMILY      x86_64 or aarch64
# Exit status 77, and what is missing, if there is no compiler or no emulator.
set -eu
family=$1
flags="-std=gnu11 -D_GNU_SOURCE -Isrc -O1 -ffp-contract=fast -Wall -Wextra -Wconversion -Wshadow -Werror"

case $family in
x86_64) machine="-cpu max" tables=03- ;; # QEMU 7.2 faults on masked lanes
aarch64) machine="-cpu max,sve256=on" tables=012 ;;
*) echo "cross.sh: x86_64 or aarch64, not '$family'" >&2; exit 2 ;;
esac
compiler=$family-linux-gnu-gcc
for tool in "$compiler" "qemu-$family"; do
    command -v "$tool" >/dev/null || { echo "$tool is not installed"; exit 77; }
done

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
for isa in scalar neon sve avx2 avx512; do
    case $family-$isa in # as in src/cpu/CMakeLists.txt
    x86_64-avx2) extra="-mavx2 -mfma" ;;
    x86_64-avx512) extra="-mavx512f -mavx512vl -mavx512dq -mfma -mprefer-vector-width=512" ;;
    aarch64-sve) extra="-march=armv8.2-a+sve -msve-vector-bits=256" ;;
    *) extra= ;;
    esac
    # shellcheck disable=SC2086 # lists of options
    $compiler $flags $extra -c "src/cpu/isa/isa_$isa.c" -o "$scratch/$isa.o"
done
# shellcheck disable=SC2086
$compiler $flags -static tests/kernels/plain_spmv.c "$scratch"/*.o -o "$scratch/plain_spmv"
# shellcheck disable=SC2086
"qemu-$family" $machine "$scratch/plain_spmv" $tables
