# Makes pages of section 3 of the manual from a public header: one per function, and one of the header.
#
#     awk -v out=DIRECTORY -v version=0.2.0 -f api_pages.awk include/tessera/tessera.h
#
# A paragraph of the header is what stands between two blank lines: comments, each with the functions
# below it. Every function of a paragraph gets the whole of it, and the types that it mentions; what
# is said of an opaque type stands where one is made. A paragraph without a comment takes the one
# before it. The pages have no words but the header's.

function bare(line) { # a comment's line without its delimiters
    sub(/^\/\*+ ?/, "", line)
    sub(/ *\*\/[ \t]*$/, "", line)
    sub(/^ \*( |$)/, "", line)
    return line
}

function roff(line) {
    gsub(/\\/, "\\e", line)
    gsub(/-/, "\\-", line)
    if (line ~ /^[.']/)
        line = "\\&" line
    return line
}

# Text as paragraphs; indented lines stay as they are.
function prose(text, file,    lines, n, i, fixed, gap) {
    n = split(text, lines, "\n")
    fixed = gap = 0
    for (i = 1; i <= n; i++) {
        if (lines[i] ~ /^[ \t]*$/) {
            gap = 1
            continue
        }
        if (lines[i] ~ /^  / && !fixed) {
            print ".PP\n.EX" > file
            fixed = 1
        } else if (lines[i] !~ /^  / && fixed) {
            print ".EE\n.PP" > file
            fixed = 0
        } else if (gap && fixed) {
            print "" > file
        } else if (gap) {
            print ".PP" > file
        }
        gap = 0
        print roff(lines[i]) > file
    }
    if (fixed)
        print ".EE" > file
}

# The text up to its first full stop, on one line.
function first_sentence(text,    at) {
    gsub(/[ \t\n]+/, " ", text)
    sub(/^ /, "", text)
    at = match(text, /[.:] [A-Z]|\.$|: /)
    return at ? substr(text, 1, at - 1) : text
}

function name_of(code) {
    return match(code, /tess_[a-z0-9_]+\(/) ? substr(code, RSTART, RLENGTH - 1) : ""
}

# A unit: a comment and the functions below it. Units of a paragraph are counted from 1.
function end_paragraph(    u, f, names) {
    if (functions_here) {
        paragraphs++
        units[paragraphs] = unit_count
        for (u = 1; u <= unit_count; u++) {
            unit_text[paragraphs, u] = texts[u]
            unit_code[paragraphs, u] = codes[u]
            unit_names[paragraphs, u] = split_names[u]
        }
        inherited[paragraphs] = texts[1] == "" ? before : ""
        for (f = 1; f <= functions_here; f++)
            paragraph_of[here[f]] = paragraphs
    }
    for (u = 1; u <= unit_count; u++)
        if (texts[u] != "")
            before = texts[u]
    unit_count = functions_here = 0
}

function open_unit(text) {
    texts[++unit_count] = text
    codes[unit_count] = split_names[unit_count] = ""
}

function add_function(code,    name) {
    name = name_of(code)
    sub(/^TESS_API /, "", code)
    gsub(/\n         /, "\n", code) # indents continued lines to the first argument
    if (!unit_count)
        open_unit("")
    codes[unit_count] = codes[unit_count] code "\n"
    split_names[unit_count] = split_names[unit_count] (split_names[unit_count] == "" ? "" : ", ") name
    here[++functions_here] = name
    order[++count] = name
    prototype[name] = code
    section_of[name] = section
    members[section] = members[section] (members[section] == "" ? "" : ", ") name
    own[name] = texts[unit_count]
    if (name ~ /_(destroy|close)$/ && own[name] == "" || split_names[unit_count] ~ /, [a-z0-9_]+_(destroy|close)$/)
        own[name] = "Destroy functions take the object alone and accept NULL" # the header's rule
}

function add_type(code,    name) {
    if (match(code, /\(\*tess_[a-z0-9_]+\)/))
        name = substr(code, RSTART + 2, RLENGTH - 3)
    else if (match(code, /tess_[a-z0-9_]+;[^;]*$/))
        name = substr(code, RSTART, index(substr(code, RSTART), ";") - 1)
    else
        return
    opaque[name] = code ~ /^typedef struct tess_[a-z0-9_]+ tess_[a-z0-9_]+;/
    if (opaque[name] && !unit_count)
        return
    type_code[name] = code
    type_text[name] = unit_count ? texts[unit_count] : ""
}

# A comment, a type or a function may take several lines.
kind == "comment" {
    text = text "\n" bare($0)
    if ($0 ~ /\*\/[ \t]*$/) {
        kind = ""
        if (!opening)
            opening = text
        else
            open_unit(text)
    }
    next
}
kind == "type" {
    code = code "\n" $0
    if ($0 ~ /^}.*;/ || (flat && $0 ~ /;/)) {
        kind = ""
        add_type(code)
    }
    next
}
kind == "function" {
    code = code "\n" $0
    if ($0 ~ /;/) {
        kind = ""
        add_function(code)
    }
    next
}
/^\/\* ---- / {
    end_paragraph()
    section = $0
    sub(/^\/\* ---- /, "", section)
    sub(/ -+ *(\*\/)?$/, "", section)
    sections[++section_count] = section
    before = ""
    if ($0 !~ /\*\//) {
        kind = "comment"
        text = ""
    }
    next
}
/^\/\*/ {
    text = bare($0)
    if ($0 ~ /\*\/[ \t]*$/)
        open_unit(text)
    else
        kind = "comment"
    next
}
/^typedef / {
    code = $0
    flat = $0 !~ /{/
    if ($0 ~ /;/ && (flat || $0 ~ /}/))
        add_type(code)
    else
        kind = "type"
    next
}
/^TESS_API / {
    code = $0
    if ($0 ~ /;/)
        add_function(code)
    else
        kind = "function"
    next
}
/^[ \t]*$/ { end_paragraph() }

function head(name, file) {
    print ".TH " name " 3 \"\" \"tessera " version "\" \"Tessera\"" > file
    print ".nh\n.SH NAME" > file
}

function verbatim(code, file,    lines, n, i) {
    n = split(code, lines, "\n")
    print ".EX" > file
    for (i = 1; i <= n; i++)
        if (lines[i] != "" || i < n)
            print roff(lines[i]) > file
    print ".EE" > file
}

function write_types(name, file,    code, type, sorted, n, i, j, t) {
    n = 0
    code = prototype[name]
    sub(/^tess_status /, "", code) # what every call returns
    for (type in type_code)
        if (code ~ ("(^|[^a-z0-9_])" type (opaque[type] ? " [*][*]" : "([^a-z0-9_]|$)")))
            sorted[++n] = type
    for (i = 2; i <= n; i++) # insertion sort: there are few
        for (j = i; j > 1 && sorted[j - 1] > sorted[j]; j--) {
            t = sorted[j]
            sorted[j] = sorted[j - 1]
            sorted[j - 1] = t
        }
    for (i = 1; i <= n; i++) {
        print (i == 1 ? ".SH TYPES\n" : "") ".SS " sorted[i] > file
        if (type_text[sorted[i]] != "")
            prose(type_text[sorted[i]], file)
        verbatim(type_code[sorted[i]], file)
    }
}

function write_page(name,    file, p, u) {
    file = out "/" name ".3"
    p = paragraph_of[name]
    head(name, file)
    print name " \\- " roff(first_sentence(own[name] != "" ? own[name] : inherited[p] != "" ? inherited[p] : unit_text[p, 1])) > file
    print ".SH SYNOPSIS\n.B #include <tessera/" header ">\n.PP" > file
    for (u = 1; u <= units[p]; u++)
        if (unit_code[p, u] != "")
            verbatim(unit_code[p, u], file)
    print ".SH DESCRIPTION" > file
    if (inherited[p] != "")
        prose(inherited[p], file)
    for (u = 1; u <= units[p]; u++)
        if (unit_text[p, u] != "" && unit_names[p, u] != "") { # others describe types
            print ".SS " unit_names[p, u] > file
            prose(unit_text[p, u], file)
        }
    write_types(name, file)
    print ".SH SEE ALSO" > file
    print roff(members[section_of[name]]) "," > file
    print ".BR " header " (3)," > file
    print ".BR tessera (1)" > file
    close(file)
}

function write_overview(    file, i) {
    file = out "/" header ".3"
    head(header, file)
    print header " \\- " roff(first_sentence(opening)) > file
    print ".SH SYNOPSIS\n.B #include <tessera/" header ">\n.SH DESCRIPTION" > file
    prose(opening, file)
    print ".SH FUNCTIONS" > file
    for (i = 1; i <= section_count; i++)
        if (members[sections[i]] != "")
            print ".SS " sections[i] "\n" roff(members[sections[i]]) > file
    print ".SH SEE ALSO\n.BR tessera (1)" > file
    close(file)
}

END {
    end_paragraph()
    header = FILENAME
    sub(/.*\//, "", header)
    for (i = 1; i <= count; i++)
        write_page(order[i])
    write_overview()
}
