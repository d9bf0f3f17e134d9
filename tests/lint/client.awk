# client.awk FILES INCLUDES: FILES are all of the tree; a line of INCLUDES is FILE:#include ... .
function complain(what) {
    print file " includes " what
}
# "tools/tessera/../../bench/internal.h": "bench/internal.h"; "" for what lies outside the tree
function plain_path(path,    part, n, i, out, depth) {
    n = split(path, part, "/")
    depth = 0
    for (i = 1; i <= n; i++)
        if (part[i] == "..") {
            if (--depth < 0)
                return ""
        } else if (part[i] != "." && part[i] != "")
            out[++depth] = part[i]
    path = out[1]
    for (i = 2; i <= depth; i++)
        path = path "/" out[i]
    return path
}
function see(at) {
    if (at !~ /^(tools|bench)\//)
        complain(at)
    else if (file ~ /^tools\// && file !~ /^tools\/tessera\/(bench\/|cmd_bench\.c$)/ && at ~ /bench/)
        complain(at) # `tessera bench` alone is no client: it runs kernels that no plan chooses
}
FILENAME == ARGV[1] {
    exists[$0] = 1
    next
}
{
    file = $0
    sub(/:.*/, "", file)
    header = $0
    sub(/^[^:]*:[ \t]*#[ \t]*include[ \t]*/, "", header)
    quoted = header ~ /^"/
    if (header !~ /^["<]/) {
        complain(header ", which names no file")
        next
    }
    header = substr(header, 2)
    sub(/[">].*/, "", header)
    here = file
    sub(/[^\/]*$/, "", here)
    at = plain_path(here header)
    if (at in exists && (quoted || header ~ /^\.\./)) # which a compiler looks for first
        see(at)
    else if (("include/" header) in exists)
        next
    else if (("src/" header) in exists) {
        if (file != "bench/internal.h")
            complain("src/" header)
    } else if (("tests/" header) in exists) {
        if (file !~ /^bench\// || header !~ /^support\//)
            complain("tests/" header)
    } else if (quoted || header ~ /^[.\/]/)
        complain(header ", which does not exist")
}
