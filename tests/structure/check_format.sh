#!/bin/sh
# Sources are as clang-format 14 leaves them (.clang-format). 77 = skipped: there is none here, or a
# version that breaks lines differently. Usage: check_format.sh ROOT
version=14
here=$(cd "$(dirname "$0")" && pwd)
cd "$1" || exit 2
. "$here/files.sh"

command -v clang-format >/dev/null 2>&1 || { echo "skipped: clang-format is not installed"; exit 77; }
case $(clang-format --version) in
*"version $version."*) ;;
*) echo "skipped: the sources are formatted with clang-format $version, here is $(clang-format --version)"; exit 77 ;;
esac
files=$(kvs_c_sources)
[ -n "$files" ] || { echo "no sources found below $1"; exit 1; }
# shellcheck disable=SC2086
clang-format --dry-run -Werror $files 2>&1 | grep -E 'error:|cannot|invalid' | kvs_verdict
