#!/bin/sh
# Packs PETSc's tutorials, the plug-in and every library they need into one archive, for a machine
# with a GPU that has no PETSc: petsc/tests/on_device.sh unpacks and runs it there.
#
# usage: petsc/tests/carry.sh [BUILD [FAST]]   writes build-carry/petsc.tar.xz from a build with PETSc
#
# FAST is an optimised build with the target petsc_bench: it and the libraries are taken from there.
#
# The C library, its companions and the driver are the other machine's own.
set -eu
cd "$(dirname "$0")/../.."
build=${1:-build-dev} fast=${2:-${1:-build-dev}}
folder=build-carry/petsc
system='/(ld-linux[^/]*|lib(c|m|dl|rt|pthread|util|resolv|stdc\+\+|gcc_s|cuda|nvrtc))\.so'
rm -rf build-carry/petsc build-carry/petsc.tar.xz
mkdir -p $folder/bin $folder/lib $folder/openmpi/lib $folder/openmpi/share
cp "$build"/tests/petsc/ex* $folder/bin
cp -L "$fast"/lib/libtessera_petsc.so $folder/lib
[ "$fast" = "$build" ] || cp "$fast"/bin/petsc_bench $folder/bin
components=$(dirname "$(ldconfig -p | awk '/libmpi.so.40 / { print $NF; exit }')")/openmpi/lib/openmpi3
for file in $folder/bin/* $folder/lib/libtessera_petsc.so "$components"/*.so; do
    LD_LIBRARY_PATH=$PWD/$fast/lib ldd "$file" | awk '$3 ~ /^\// { print $3 }'
done | sort -u | grep -Ev "$system" | while read -r library; do
    cp -L "$library" $folder/lib
done
cp -rL "$components" $folder/openmpi/lib
cp -rL /usr/share/openmpi $folder/openmpi/share
strip $folder/bin/* $folder/lib/libtessera*.so* 2>/dev/null || true
tar -C build-carry -cf - petsc | xz -T0 -3 >build-carry/petsc.tar.xz
rm -rf $folder
ls -l build-carry/petsc.tar.xz
