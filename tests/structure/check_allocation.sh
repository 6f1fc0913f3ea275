#!/bin/sh
# base/mem.c is the only caller of the C allocator, so that tests can make any allocation fail.
# Usage: check_allocation.sh ROOT
here=$(cd "$(dirname "$0")" && pwd)
cd "$1" || exit 2
. "$here/files.sh"

files=$(kvs_c_sources | grep -v -e '^tests/' -e '^base/mem\.c$')
[ -n "$files" ] || { echo "no sources found below $1"; exit 1; }

# shellcheck disable=SC2086
grep -nE '(^|[^A-Za-z0-9_])(malloc|calloc|realloc|aligned_alloc|strdup|strndup|free)[ ]*\(' $files /dev/null |
    grep -vE ':[0-9]+:[ ]*(/?\*|//)' | sed 's/$/   <- use kvs_mem_*/' | kvs_verdict
