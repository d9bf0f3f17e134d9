#!/bin/sh
# Rules about the sources that no compiler checks.
set -eu
complaints=$(mktemp)
trap 'rm -f "$complaints"' EXIT
complain() { # TITLE, offending lines on stdin; runs in a subshell, hence the file
    lines=$(cat)
    [ -z "$lines" ] || printf '%s:\n%s\n\n' "$1" "$lines" >>"$complaints"
}

# Only calls count: not words in comments, snprintf or format attributes.
grep -rnE '(^|[^_[:alnum:]"])(v?f?printf|v?dprintf|puts|putchar|fputs|perror|exit|_exit|abort|assert)[[:space:]]*\(' \
    src --include='*.c' --include='*.h' | grep -vE ':[0-9]+: *(/?\*|//)|format\(printf' |
    complain "the library must not print or exit"

listed=" $(find src \( -name CMakeLists.txt -o -name '*.def' \) -exec cat {} + | tr '\n()/' '    ') "
for file in $(find src -name '*.c'); do
    case $file in
    *.inc.c | src/cpu/kernels/*) continue ;; # included by others
    esac
    case $listed in
    *" ${file##*/} "*) ;;
    *) echo "$file" ;;
    esac
done | complain "sources that no CMakeLists.txt and no list names"

grep -rnE '__x86_64__|__i386__|__aarch64__|__builtin_ia32|target_clones|__asm__|immintrin\.h|arm_[a-z]+\.h' \
    src --include='*.[ch]' --include='*.inc' | grep -vE '^src/(cpu/|core/cpu_id\.c:|core/instructions\.h:)' |
    complain "instruction sets are named in src/cpu, or in src/core/instructions.h with the reason"

# Traits are fields of a descriptor. `ref` has one format and one kernel; given.c and fbcsr.c look for their own.
names=$({
    find src -name '*.def' -exec sed -nE 's/^(METHOD|PC|TESS_CUDA_KERNEL)\((\w+).*/\2/p' {} +
    grep -rhoE '\.format = "\w+"' src --include='*.c' | sed 's/.*"\(.*\)"/\1/'
} | sort -u | tr '\n' '|')
[ ! -d src/solve ] || [ "$(printf %s "$names" | tr -cd '|' | wc -c)" -gt 40 ] || echo "$names" | complain "too few names of formats and kernels"
{
    grep -rnE "strn?cmp *\([^;]*\"(${names%|})\"" src tools mpi petsc --include='*.[ch]' --include='*.inc' | grep -v '^src/ref/' || :
    grep -rnE '[=!]= *&tess_(cpu_format|pc|method|cuda_kernel|cuda_layout)_' src --include='*.[ch]' | grep -v '^src/solve/pc/given\.c:' || :
    grep -rnE '[=!]= *TESS_CPU_\w+_SP(MV|MM)\b' src --include='*.[ch]' | grep -v '^src/cpu/fbcsr\.c:' || :
} | complain "names of formats, kernels, methods and preconditioners are not compared in generic code"

# The public header and the Fortran module that follows it are one file each on purpose.
find src tools examples tests bench mpi petsc python fortran -type f \( -name '*.[ch]' -o -name '*.inc' -o -name '*.def' -o \
    -name '*.cu' -o -name '*.cuh' -o -name '*.py' -o -name '*.f90' \) ! -path fortran/tessera.f90 -exec wc -l {} + | awk '$2 != "total" && $1 >= 400 { print $2 ": " $1 " lines" }' | sort |
    complain "files of 400 lines or more ask to be two"

# From brace to brace. docs/design.md says why these six stay whole.
whole=' sliced.cu:sliced stream.cu:stream pass.cu:pass between.cu:between swept.cu:sweep bsr_spmv.inc.c:bsr_lockstep '
find src tools mpi petsc -type f \( -name '*.[ch]' -o -name '*.inc' -o -name '*.cu' -o -name '*.cuh' \) -exec awk -v whole="$whole" '
    /^[[:alpha:]].*\(/ && !/;$/ { name = $0; sub(/^.*(KERNEL|NAME)\(/, "", name); sub(/[^[:alnum:]_]*\(.*/, "", name)
                                sub(/[,)].*/, "", name); sub(/.*[^[:alnum:]_]/, "", name) }
    /^{/ { first = FNR }
    /^}/ && first {
        file = FILENAME; sub(/.*\//, "", file)
        kept = index(whole, " " file ":" name " ") > 0
        if (FNR - first + 1 > 52 && !kept) print FILENAME ": " name " has " FNR - first + 1 " lines"
        if (FNR - first + 1 <= 52 && kept) print FILENAME ": " name " is no longer an exception"
        first = 0
    }' {} + | sort | complain "functions of more than 52 lines ask to be two"

git -c safe.directory='*' grep -nIE '(^|[^[:alnum:]_./$}])/(work|home|root|mnt|Users)/[[:alnum:]]' -- ':!tests/lint' 2>/dev/null |
    complain "paths of one machine"
git -c safe.directory='*' grep -nIE '#if 0|\b(TODO|FIXME|XXX)\b' -- src include tools 2>/dev/null |
    complain "unfinished code"
cat "$complaints"
[ ! -s "$complaints" ]
