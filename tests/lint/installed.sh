#!/bin/sh
# installed.sh CMAKE BUILD CC: installs into an empty directory; the examples then build and run
# against what was installed, through pkg-config and through find_package. The static library, with
# what it needs, also links into a program of a project that knows C++ alone.
set -eu
cmake=$1 build=$2 cc=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
prefix=$work/prefix
expected="y = 4 5 12 16"

expect() { # COMMAND...
    actual=$("$@")
    [ "$actual" = "$expected" ] || { echo "$*: got '$actual', expected '$expected'"; exit 1; }
}

"$cmake" --install "$build" --prefix "$prefix" >"$work/log"
library=$(dirname "$(find "$prefix" -name 'libtessera.*' | head -n 1)")

PKG_CONFIG_PATH=$library/pkgconfig
export PKG_CONFIG_PATH
pkg-config --validate tessera
static=
[ -e "$library/libtessera.so" ] || static=--static
# shellcheck disable=SC2046 # flags are words
"$cc" -Wall -Wextra -Werror examples/spmv.c -o "$work/by-pkg-config" $(pkg-config $static --cflags --libs tessera)
LD_LIBRARY_PATH=$library expect "$work/by-pkg-config"

# The installed examples, built as a project of their own.
pages=$prefix/share/doc/tessera
"$cmake" -S "$pages/examples" -B "$work/example" -G Ninja -DCMAKE_C_COMPILER="$cc" -DCMAKE_PREFIX_PATH="$prefix" \
    -DCMAKE_BUILD_TYPE=Release >>"$work/log"
"$cmake" --build "$work/example" >>"$work/log"
expect "$work/example/spmv"
example() { # NAME PATTERN: checks that it succeeds and prints PATTERN
    "$work/example/$1" >"$work/out" 2>&1 || { echo "the example $1 failed:"; cat "$work/out"; exit 1; }
    grep -q "$2" "$work/out" || { echo "the example $1 does not say '$2':"; cat "$work/out"; exit 1; }
}
example predict "^4 devices: "
example solve "^CONVERGED: "
example assembly "^the tip sinks by 0.3306$"
example time_stepping "^step 10: CONVERGED.* 1.0000000000 in all$"
example newton "^in the middle u = 0.156574, v = 0.082773$"
example spmm "^largest difference [0-9.e+-]*$"
example gpu_stream "two products"
for source in "$pages"/examples/*.c; do
    [ -x "$work/example/$(basename "$source" .c)" ] || { echo "$source is not built by its CMakeLists.txt"; exit 1; }
done
for page in LICENSE README.md CHANGELOG.md docs/guide.md; do
    cmp "$page" "$pages/$page"
done
for page in man1/tessera.1 man3/tessera.h.3 man3/tess_spmv.3; do
    [ -s "$prefix/share/man/$page" ] || { echo "the page $page is not installed"; exit 1; }
done

# The Fortran module: as a component of the package, and by pkg-config.
if command -v gfortran >/dev/null; then
    "$work/example/solve_f90" | grep -qx "step 2: CONVERGED, x = 1" || { echo "the example solve.f90 does not solve"; exit 1; }
    # shellcheck disable=SC2046 # flags are words
    gfortran -J "$work" $(pkg-config --variable=fortran tessera) examples/solve.f90 -o "$work/solve_f90" \
        $(pkg-config $static --libs tessera)
    LD_LIBRARY_PATH=$library "$work/solve_f90" >/dev/null
fi

version=$(pkg-config --modversion tessera)
if [ -e "$library/libtessera.so" ]; then # until 1.0 a minor version is an ABI of its own
    soname=$(objdump -p "$library/libtessera.so" | sed -n 's/.*SONAME *//p')
    [ "$soname" = "libtessera.so.${version%.*}" ] || { echo "SONAME $soname of version $version"; exit 1; }
fi
LD_LIBRARY_PATH=$library "$prefix/bin/tessera" --version | grep -qx "tessera $version" ||
    { echo "tessera --version differs from pkg-config's $version"; exit 1; }

# A static build, configured only: its library has the same objects as the tests'.
archive=$(find "$build" -name libtessera_internal.a)
"$cmake" -S . -B "$work/static" -G Ninja -DCMAKE_C_COMPILER="$cc" -DCMAKE_BUILD_TYPE=Release \
    -DBUILD_SHARED_LIBS=OFF -DTESSERA_TESTS=OFF -DTESSERA_MPI=OFF -DTESSERA_PETSC=OFF >>"$work/log"
mkdir -p "$work/static/lib" "$work/static/bin" "$work/static/tools/tessera"
cp "$build"/tools/tessera/tessera.* "$build"/tools/tessera/_tessera "$work/static/tools/tessera"
cp "$archive" "$work/static/lib/libtessera.a"
cp "$build/bin/tessera" "$work/static/bin/tessera"
"$cmake" --install "$work/static" --prefix "$work/static-prefix" >>"$work/log"
mkdir "$work/client"
cat >"$work/client/CMakeLists.txt" <<'END'
cmake_minimum_required(VERSION 3.25)
project(client LANGUAGES CXX)
find_package(tessera REQUIRED)
add_executable(client client.cpp)
target_link_libraries(client PRIVATE tessera::tessera)
END
cat >"$work/client/client.cpp" <<'END'
#include <tessera/tessera.h>

#include <cstdio>

int main()
{
    tess_ctx *ctx = nullptr;
    tess_matrix *A = nullptr;
    tess_statistics s = {};
    tess_ctx_options options = {};
    options.threads = 3;
    if (tess_ctx_create(&options, &ctx) != TESS_OK ||
        tess_matrix_generate(ctx, "stencil7:n=20,b=1", &A, nullptr) != TESS_OK ||
        tess_matrix_statistics(ctx, A, &s) != TESS_OK)
        return 1;
    std::printf("y = 4 5 12 16%s\n", s.nonzeros == 7 * 8000 - 6 * 400 ? "" : " and wrong statistics");
    tess_matrix_destroy(A);
    tess_ctx_destroy(ctx);
    return 0;
}
END
"$cmake" -S "$work/client" -B "$work/client/build" -G Ninja -DCMAKE_PREFIX_PATH="$work/static-prefix" >>"$work/log"
"$cmake" --build "$work/client/build" >>"$work/log"
expect "$work/client/build/client"
