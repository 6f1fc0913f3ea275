#!/usr/bin/env bash
# Runs one golden case: run_case.sh DIR/<case>.sh, with the program in $KVSIM, at the repository's root.
#
# Beside the case:  <case>.stdout.exact  the output, byte for byte, or
#                   <case>.stdout.glob   a shell pattern a line; a line "..." stands for any lines
#                   <case>.stderr.exact or .glob   the same for errors (not checked when absent)
#                   <case>.exit          the exit code (0 when absent)
# The case finds an empty folder in $KVS_TMP. KVS_UPDATE_GOLDEN=1 rewrites .exact and .exit.
set -u

case_sh=$1
base=${case_sh%.sh}
name=${base##*/}
tmp=$(mktemp -d) || exit 2
trap 'rm -rf "$tmp"' EXIT
mkdir "$tmp/work"
failed=0

# matches_glob ACTUAL PATTERNS: line by line, going back to the last "..." on a mismatch.
matches_glob() {
    local lines patterns l=0 p=0 back_p=-1 back_l=0
    mapfile -t lines <"$1"
    mapfile -t patterns <"$2"
    while ((l < ${#lines[@]})); do
        if ((p < ${#patterns[@]})) && [[ ${patterns[p]} == ... ]]; then
            back_p=$p back_l=$l
            ((p++))
        elif ((p < ${#patterns[@]})) && [[ ${lines[l]} == ${patterns[p]} ]]; then
            ((p++, l++)) || true
        elif ((back_p >= 0)); then
            ((back_l++)) || true
            l=$back_l p=$((back_p + 1))
        else
            return 1
        fi
    done
    while ((p < ${#patterns[@]})) && [[ ${patterns[p]} == ... ]]; do
        ((p++))
    done
    ((p == ${#patterns[@]}))
}

# check_stream stdout|stderr: compares with what lies beside the case.
check_stream() {
    local actual=$tmp/$1 want=$base.$1
    if [[ -e $want.exact ]]; then
        cmp -s "$actual" "$want.exact" && return
        if [[ ${KVS_UPDATE_GOLDEN:-} == 1 ]]; then
            cp "$actual" "$want.exact"
            return
        fi
        echo "$name: $1 differs from $want.exact:"
        diff -u "$want.exact" "$actual"
        failed=1
    elif [[ -e $want.glob ]]; then
        matches_glob "$actual" "$want.glob" && return
        echo "$name: $1 does not match $want.glob (patterns are edited by hand); it is:"
        cat "$actual"
        failed=1
    elif [[ $1 == stdout ]]; then
        if [[ ${KVS_UPDATE_GOLDEN:-} == 1 ]]; then
            cp "$actual" "$want.exact"
            return
        fi
        echo "$name: neither $want.exact nor $want.glob; KVS_UPDATE_GOLDEN=1 writes the first"
        failed=1
    fi
}

check_exit() {
    local want=0
    [[ -e $base.exit ]] && want=$(<"$base.exit")
    [[ $1 == "$want" ]] && return
    if [[ ${KVS_UPDATE_GOLDEN:-} == 1 ]]; then
        if [[ $1 == 0 ]]; then rm -f "$base.exit"; else echo "$1" >"$base.exit"; fi
        return
    fi
    echo "$name: exit code $1, expected $want; stderr:"
    cat "$tmp/stderr"
    failed=1
}

unset COLUMNS
LC_ALL=C NO_COLOR=1 TERM=dumb KVSIM=$KVSIM KVS_TMP=$tmp/work \
    bash -u "$case_sh" >"$tmp/stdout" 2>"$tmp/stderr" </dev/null
code=$?
check_stream stdout
check_stream stderr
check_exit $code
exit $failed
