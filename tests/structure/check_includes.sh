#!/bin/sh
# Folders include only lower ones (docs/architecture.md), paths start at the root, and an external
# library stays in the files that wrap it. Usage: check_includes.sh ROOT
here=$(cd "$(dirname "$0")" && pwd)
cd "$1" || exit 2
. "$here/files.sh"

files=$(kvs_c_sources)
[ -n "$files" ] || { echo "no sources found below $1"; exit 1; }

# shellcheck disable=SC2086
awk '
BEGIN {
    split("base models sched sim real formats study cli tests", folders, " ")
    allow["base"] = " base "
    allow["models"] = " base models "
    allow["sched"] = " base models sched "
    allow["sim"] = " base models sched sim "
    allow["real"] = " base models sched real "
    allow["formats"] = " base models sched formats "
    allow["study"] = " base models sched sim formats study "
    allow["cli"] = " base models sched sim real formats study cli "
    allow["tests"] = allow["cli"] "tests "
    # external header -> the files that may include it
    wrap["jansson.h"] = "^base/json\\.c$"
    wrap["yaml.h"] = "^base/yaml[^/]*\\.c$"
    wrap["gsl/"] = "^base/(stats[^/]*|rng|gsl_quiet)\\.c$"
    wrap["xxhash.h"] = "^base/hash\\.c$"
    wrap["cuda"] = "^real/"
    wrap["nccl"] = "^real/"
    wrap["nvml"] = "^real/"
}
/^[ \t]*#[ \t]*include/ {
    place = FILENAME ":" FNR ": "
    name = $0
    sub(/^[^"<]*["<]/, "", name)
    sub(/[">].*$/, "", name)
    from = FILENAME
    sub(/\/.*$/, "", from)
    if ($0 ~ /include[ \t]*"/) {
        to = name
        if (!sub(/\/.*$/, "", to) || !(to in allow))
            print place "\"" name "\" does not start at the root"
        else if (index(allow[from], " " to " ") == 0)
            print place from "/ must not include " to "/ (" name ")"
    } else {
        for (prefix in wrap)
            if (index(name, prefix) == 1 && from != "tests" && FILENAME !~ wrap[prefix])
                print place "<" name "> belongs to files matching " wrap[prefix]
        to = name
        if (sub(/\/.*$/, "", to) && (to in allow))
            print place "<" name "> is ours and takes quotes"
    }
}' $files | kvs_verdict
