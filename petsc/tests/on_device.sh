#!/bin/sh
# PETSc's tutorials as Debian ships them, with matrix and preconditioner on a GPU, on a machine that
# has one: with PETSc installed, or with build-carry/petsc.tar.xz of petsc/tests/carry.sh.
#
# usage: petsc/tests/on_device.sh [FOLDER PLUGIN]   the tutorials and the plug-in; default: the archive
set -eu
cd "$(dirname "$0")/../.."
if [ $# = 0 ]; then
    mkdir -p build-carry/unpacked
    tar -C build-carry/unpacked -xf build-carry/petsc.tar.xz
    root=$PWD/build-carry/unpacked/petsc
    export LD_LIBRARY_PATH="$root/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
    export OPAL_PREFIX="$root/openmpi" OPAL_LIBDIR="$root/openmpi/lib" OPAL_DATADIR="$root/openmpi/share"
    export OMPI_MCA_mca_base_component_path="$root/openmpi/lib/openmpi3"
    # One process by itself: no launcher, no network.
    export OMPI_MCA_ess_singleton_isolated=1 OMPI_MCA_btl=self OMPI_MCA_pml=ob1
    set -- "$root/bin" "$root/lib/libtessera_petsc.so"
fi
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 TESSERA_WISDOM=off
python3 petsc/tests/tutorials.py "$1" "$2" 1 gpu

# Larger: seconds of MatMult and of the whole solve, and the device that PETSc's own view names.
for options in "-mat_type aij -pc_type pbjacobi" "-mat_type tessera -pc_type tessera -pc_tessera_type bjacobi" \
    "-mat_type tessera -mat_tessera_device cuda -pc_type tessera -pc_tessera_device cuda -pc_tessera_type bjacobi"; do
    echo "== ex56 $options"
    # shellcheck disable=SC2086 # a list of options
    "$1/ex56" -dll_append "$2" -ne 39 -ksp_type cg -ksp_rtol 1e-6 $options -ksp_converged_reason -ksp_view \
        -log_view | grep -E "type: |Tessera's|Linear solve|^(MatMult|KSPSolve|PCApply|PCSetUp) " | cut -c1-60
done
