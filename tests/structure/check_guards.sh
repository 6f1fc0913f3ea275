#!/bin/sh
# Every header has a guard named after its path: sim/event.h has KVS_SIM_EVENT_H. A header that is
# included many times on purpose (.inc) is not a .h. Every .c opens with a comment saying what it
# is for, and has no guard. Usage: check_guards.sh ROOT
here=$(cd "$(dirname "$0")" && pwd)
cd "$1" || exit 2
. "$here/files.sh"

files=$(kvs_c_sources)
[ -n "$files" ] || { echo "no sources found below $1"; exit 1; }

# shellcheck disable=SC2086
awk '
function finish() {
    if (file == "")
        return
    if (file ~ /\.h$/ && (ifndef != want || define != want || last != "#endif"))
        print file ": guard must be " want " (found #ifndef " ifndef ", #define " define \
              ", last line \"" last "\")"
    if (!opens)
        print file ":1: must open with a comment that says what the file is for"
}
FNR == 1 {
    finish()
    file = FILENAME
    want = "KVS_" toupper(file)
    gsub(/[^A-Z0-9]/, "_", want)
    ifndef = define = last = ""
    opens = $0 ~ /^\/\*/
}
/^#ifndef / && ifndef == "" { ifndef = $2 }
/^#define / && define == "" { define = $2 }
NF { last = $0 }
END { finish() }' $files | kvs_verdict
