#!/bin/sh
# directions.sh [ROOT]: which directory of src/ includes which, against tests/lint/directions.txt.
set -eu
cd "${1:-.}"
table=tests/lint/directions.txt
find src -type f \( -name '*.[ch]' -o -name '*.inc' -o -name '*.def' -o -name '*.cu' -o -name '*.cuh' \) | sort |
    xargs awk '
function complain(where, what, advice) {
    printf "%s: %s\n    %s\n", where, what, advice
    failed = 1
}
function directory_of(path) { # "src/cuda/plan/plan.h": "cuda/plan"
    sub(/^src\//, "", path)
    return path ~ /\// ? substr(path, 1, match(path, /\/[^\/]*$/) - 1) : "."
}
BEGIN {
    for (i = 2; i < ARGC; i++) {
        name = ARGV[i]
        sub(/.*\//, "", name)
        is_file[ARGV[i]] = 1
        has[directory_of(ARGV[i])] = 1
        if (name in found)
            found[name] = "" # in more than one place
        else
            found[name] = ARGV[i]
    }
}
FILENAME == ARGV[1] { # the table
    sub(/#.*/, "")
    if (NF == 0)
        next
    directory = $1
    if (!sub(/:$/, "", directory)) {
        complain(FILENAME ":" FNR, "\"" $0 "\"", "a line is DIRECTORY: DIRECTORY ...")
        next
    }
    if (directory == "outside") {
        for (i = 2; i <= NF; i++)
            outside[$i] = 1
        next
    }
    if (!(directory in has))
        complain(FILENAME ":" FNR, directory " has no sources", "take the line away")
    for (i = 2; i <= NF; i++) {
        if (!($i in stands))
            complain(FILENAME ":" FNR, directory " -> " $i " points upwards",
                     $i " does not stand above this line: the two may be a circle, or the order is wrong")
        allowed[directory, $i] = 1
    }
    stands[directory] = allowed[directory, directory] = 1
    next
}
FNR == 1 {
    from = directory_of(FILENAME)
    if (!(from in stands) && !(from in missing)) {
        missing[from] = 1
        complain(FILENAME, "directory " from " is not in '$table'", "add a line with what it may include")
    }
}
/^[ \t]*#[ \t]*include[ \t]*"/ {
    path = $0
    sub(/^[^"]*"/, "", path)
    sub(/".*/, "", path)
    if (path in outside)
        next
    # Sources of a device are compiled with their names alone.
    target = path !~ /\// && path in found && FILENAME ~ /\.cuh?$/ ? found[path] : "src/" path
    if (!(target in is_file)) {
        complain(FILENAME ":" FNR, "\"" path "\" is no file of src/", "begin at src/, as in \"core/core.h\"")
        next
    }
    to = directory_of(target)
    if (from in stands && !((from, to) in allowed))
        complain(FILENAME ":" FNR, from " -> " to " is not allowed",
                 "move what is needed down, or hand it in; a new arrow downwards is a word in '$table'")
}
END { exit failed }
' "$table"
