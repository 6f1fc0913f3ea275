# Sourced by the checks. kvs_c_sources: every C file of the project, a path from the root a line.
# kvs_text_sources: the same and scripts, build files, data and papers. Both come from git where it
# can answer (new files that are not ignored included), else from the folders.
kvs_tracked() {
    if git ls-files --error-unmatch CMakeLists.txt >/dev/null 2>&1; then
        git ls-files --cached --others --exclude-standard
    else
        find . -type f ! -path './build/*' ! -path './.git/*' | sed 's|^\./||'
    fi | while IFS= read -r kvs_file; do
        [ -f "$kvs_file" ] && printf '%s\n' "$kvs_file"
    done | sort
}

kvs_c_sources() {
    kvs_tracked | grep -E '^(base|models|sched|sim|real|formats|study|cli|tests)/.*\.[ch]$'
}

kvs_text_sources() {
    kvs_tracked | grep -E '(\.(c|h|cu|sh|cmake|yaml|gp|py|json|md)|(^|/)CMakeLists\.txt|^kvsim|^test|^\.ci/run)$'
}

# kvs_verdict: reads complaints from stdin, prints them, fails when there are any.
kvs_verdict() {
    kvs_found=$(cat)
    [ -z "$kvs_found" ] && return 0
    printf '%s\n' "$kvs_found"
    return 1
}
