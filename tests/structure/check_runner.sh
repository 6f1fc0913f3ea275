#!/bin/sh
# The runner of golden cases accepts what matches and refuses what does not. Usage: check_runner.sh ROOT
runner=$1/tests/cli/run_case.sh
dir=$(mktemp -d) || exit 2
trap 'rm -rf "$dir"' EXIT
KVSIM=/bin/echo
export KVSIM
failures=0

# expect WANT CASE: runs the case; its exit code must be WANT.
expect() {
    "$runner" "$dir/$2.sh" >"$dir/log" 2>&1
    got=$?
    if [ "$got" -ne "$1" ]; then
        echo "$2: runner exited $got, expected $1"
        cat "$dir/log"
        failures=1
    fi
}

echo '"$KVSIM" one; "$KVSIM" two; "$KVSIM" three >&2' >"$dir/a.sh"
expect 1 a # no expectation at all
printf 'one\ntwo\n' >"$dir/a.stdout.exact"
expect 0 a
printf 'one\ntwo' >"$dir/a.stdout.exact"
expect 1 a # the last newline counts
printf 'one\ntwo\n' >"$dir/a.stdout.exact"
printf 'three\n' >"$dir/a.stderr.exact"
expect 0 a
printf 'four\n' >"$dir/a.stderr.exact"
expect 1 a
rm "$dir/a.stderr.exact"
echo 3 >"$dir/a.exit"
expect 1 a # the case exits 0
echo 'exit 3' >>"$dir/a.sh"
expect 0 a

printf 'for i in 1 2 3 4; do "$KVSIM" "row $i"; done; "$KVSIM" end\n' >"$dir/g.sh"
for pattern in '...' 'row 1\n...\nend' 'row ?\n...\nrow [34]\nend' '...\nrow 4\nend' 'row*\nrow*\n...\n...\nend'; do
    printf "$pattern\n" >"$dir/g.stdout.glob"
    expect 0 g
done
for pattern in 'row 1\nend' '...\nrow 5\n...' '' 'row 1\nrow 2\nrow 3\nrow 4\nend\nend'; do
    printf "$pattern\n" >"$dir/g.stdout.glob"
    expect 1 g
done

echo '"$KVSIM" new; exit 2' >"$dir/u.sh"
KVS_UPDATE_GOLDEN=1
export KVS_UPDATE_GOLDEN
expect 0 u
unset KVS_UPDATE_GOLDEN
expect 0 u
[ "$(cat "$dir/u.stdout.exact" "$dir/u.exit")" = "new
2" ] || { echo "u: not rewritten"; failures=1; }
exit $failures
