# directions.awk TABLE SOURCE...: which directory of src/ includes and calls which, against TABLE.
#
# A call needs no include of the callee's directory: tessera.h, or a header of another directory,
# may declare it. So the directory that defines a function is looked up, and counts.
function complain(where, what, advice) {
    printf "%s: %s\n    %s\n", where, what, advice
    failed = 1
}
function directory_of(path) { # "src/cuda/plan/plan.h": "cuda/plan"
    sub(/^src\//, "", path)
    return path ~ /\// ? substr(path, 1, match(path, /\/[^\/]*$/) - 1) : "."
}
# The file that an include means. Sources of a device are compiled with their names alone.
function target_of(path) {
    return path !~ /\// && path in found && FILENAME ~ /\.cuh?$/ ? found[path] : "src/" path
}
# The line without comments, strings and characters. `comment` is kept from line to line.
function code_of(line,    code, mark) {
    code = ""
    while (line != "") {
        if (comment) {
            mark = index(line, "*/")
            if (!mark)
                return code
            comment = 0
            line = substr(line, mark + 2)
        }
        if (!match(line, /\/\*|\/\/|"|'/))
            return code line
        code = code substr(line, 1, RSTART - 1) " "
        mark = substr(line, RSTART, RLENGTH)
        line = substr(line, RSTART + RLENGTH)
        if (mark == "//")
            return code
        if (mark == "/*")
            comment = 1
        else if (mark == "\"" ? match(line, /^([^"\\]|\\.)*"/) : match(line, /^([^'\\]|\\.)*'/))
            line = substr(line, RLENGTH + 1)
    }
    return code
}
# Definitions begin in the first column, as clang-format leaves them; `pending` is the name of a
# function whose parameters are not over yet.
function look_for_definition(code) {
    if (code ~ /^[A-Za-z_]/) {
        pending = ""
        if (code !~ /\(/)
            of_file = code ~ /^static[^;={]*$/ # the name stands on the next line
        else {
            if (code !~ /^(static|typedef|extern|return)/ && !of_file &&
                match(code, /^[^=({]*tess_[a-z0-9_]+\(/)) {
                pending = substr(code, 1, RLENGTH - 1)
                sub(/.*[^a-z0-9_]/, "", pending)
            }
            of_file = 0
        }
    }
    if (pending == "" || code !~ /[;{]/)
        return
    if (match(code, /[;{]/) && substr(code, RSTART, 1) == "{") {
        if (pending in home && home[pending] != from)
            complain(FILENAME ":" FNR, pending " is defined in " home[pending] " as well", "give it another name")
        home[pending] = from
    }
    pending = ""
}
function look_for_names(code,    name) {
    while (match(code, /[A-Za-z0-9_]+/)) {
        name = substr(code, RSTART, RLENGTH)
        code = substr(code, RSTART + RLENGTH)
        if (name ~ /^tess_/ && !((FILENAME, name) in named)) {
            named[FILENAME, name] = 1
            use_name[++uses] = name
            use_from[uses] = from
            use_where[uses] = FILENAME ":" FNR
        }
    }
}
BEGIN {
    down = "move what is needed down, or hand it in; a new arrow downwards is a word in " ARGV[1]
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
    comment = of_file = 0
    pending = ""
    if (!(from in stands) && !(from in missing)) {
        missing[from] = 1
        complain(FILENAME, "directory " from " is not in " ARGV[1], "add a line with what it may include")
    }
}
/^[ \t]*#[ \t]*include/ {
    path = $0
    if (!sub(/^[ \t]*#[ \t]*include[ \t]*["<]/, "", path)) {
        complain(FILENAME ":" FNR, "an include that names no file", "write the name there: this test reads it")
        next
    }
    sub(/[">].*/, "", path)
    if (path in outside)
        next
    target = target_of(path)
    if ($0 ~ /^[^"]*</) {
        if (target in is_file)
            complain(FILENAME ":" FNR, "<" path "> is a file of src/", "write \"" path "\"")
        next
    }
    if (!(target in is_file)) {
        complain(FILENAME ":" FNR, "\"" path "\" is no file of src/", "begin at src/, as in \"core/core.h\"")
        next
    }
    to = directory_of(target)
    if (from in stands && !((from, to) in allowed))
        complain(FILENAME ":" FNR, from " -> " to " is not allowed", down)
    next
}
{
    code = code_of($0)
    if (FILENAME ~ /\.(c|inc)$/)
        look_for_definition(code)
    if (code ~ /tess_/)
        look_for_names(code)
}
END {
    while ((getline name < exported) > 0)
        if (!(name in home) && name !~ /^tess_mpi_/)
            complain(exported, name " is defined nowhere", "this test looks for its name in the first column")
    for (i = 1; i <= uses; i++) {
        from = use_from[i]
        if (!(use_name[i] in home))
            continue
        to = home[use_name[i]]
        if (from in stands && !((from, to) in allowed))
            complain(use_where[i], from " -> " to " is not allowed: " use_name[i], down)
    }
    exit failed
}
