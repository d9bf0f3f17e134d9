#!/bin/sh
# same_bits.sh BEFORE AFTER [OLD=NEW...]: whether two build directories (of the same build type)
# compute the same bits: y of every CPU kernel that BEFORE lists, the history and the solution of
# every method with every preconditioner that BEFORE lists, by 1 and 2 threads, f64 and f32. OLD=NEW:
# what a kernel's name contains in BEFORE and in AFTER (_lock=_streams). Cases that differ are named,
# as are kernels and solvers of AFTER alone: nothing is compared of those.
set -eu
[ $# -ge 2 ] || { sed -n '2,6s/^# //p' "$0"; exit 2; }
here=$(cd "$(dirname "$0")" && pwd)
before=$1 after=$2
shift 2
rename=
for pair; do
    rename="$rename;s/${pair%%=*}/${pair#*=}/g"
done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export TESSERA_WISDOM=off

for build in before after; do
    eval directory="\$$build"
    source=$(sed -n 's/^CMAKE_HOME_DIRECTORY:INTERNAL=//p' "$directory/CMakeCache.txt")
    ${CC:-cc} -O1 -Wall -I "$source/include" "$here/same_bits.c" -o "$work/$build" -L "$directory/lib" -ltessera \
        -Wl,-rpath,"$(cd "$directory/lib" && pwd)"
done
"$work/before" kernels >"$work/cases.before"
sed "${rename#;}" "$work/cases.before" >"$work/cases.after"
"$work/before" solvers >"$work/specs"
for build in before after; do
    "$work/$build" run <"$work/cases.$build" >"$work/$build.txt"
    "$work/$build" solve <"$work/specs" >>"$work/$build.txt"
done
for list in kernels solvers; do # that AFTER has beside those
    "$work/after" $list | sort >"$work/listed"
    [ $list = kernels ] && known=$work/cases.after || known=$work/specs
    sort "$known" | comm -13 - "$work/listed" | sed 's/^/not in BEFORE: /'
done
cases=$(grep -c threads "$work/before.txt")
if cmp -s "$work/before.txt" "$work/after.txt"; then
    echo "same bits: $(wc -l <"$work/cases.before") kernels, $(wc -l <"$work/specs") solvers, $cases cases, $(wc -l <"$work/before.txt") lines"
    exit 0
fi
for build in before after; do # each number behind the case that it belongs to
    awk '/threads$/ { name = $0 } { print name " | " $0 }' "$work/$build.txt" >"$work/$build.named"
done
echo "different bits:"
diff "$work/before.named" "$work/after.named" | sed -n 's/^[<>] \(.*\) | .*/\1/p' | sort | uniq -c | sort -rn
awk '{ print "case " NR ": " $0 }' "$work/cases.before"
exit 1
