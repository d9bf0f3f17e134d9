#!/bin/sh
# installed.sh CMAKE BUILD CC: installs into an empty directory; the example then builds and runs
# against what was installed, through pkg-config and through find_package.
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

"$cmake" -S examples -B "$work/example" -G Ninja -DCMAKE_C_COMPILER="$cc" -DCMAKE_PREFIX_PATH="$prefix" \
    -DCMAKE_BUILD_TYPE=Release >>"$work/log"
"$cmake" --build "$work/example" >>"$work/log"
expect "$work/example/spmv"
"$work/example/predict" | grep -q "^4 devices: " || { echo "the example predict says nothing of 4 devices"; exit 1; }

version=$(pkg-config --modversion tessera)
if [ -e "$library/libtessera.so" ]; then # until 1.0 a minor version is an ABI of its own
    soname=$(objdump -p "$library/libtessera.so" | sed -n 's/.*SONAME *//p')
    [ "$soname" = "libtessera.so.${version%.*}" ] || { echo "SONAME $soname of version $version"; exit 1; }
fi
LD_LIBRARY_PATH=$library "$prefix/bin/tessera" --version | grep -qx "tessera $version" ||
    { echo "tessera --version differs from pkg-config's $version"; exit 1; }
