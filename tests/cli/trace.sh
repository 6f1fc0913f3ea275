# A trace is JSON for ui.perfetto.dev; it takes one run.
"$KVSIM" predict --machine rtx4070 -d 256 -n 2 --policy pipelined --trace "$KVS_TMP/t.json" >/dev/null
echo "exit $?"
head -c 1 "$KVS_TMP/t.json"; echo
grep -c traceEvents "$KVS_TMP/t.json"
"$KVSIM" predict --trace "$KVS_TMP/u.json"
echo "exit $?"
[ -e "$KVS_TMP/u.json" ] || echo "no file"
cd "$KVS_TMP" || exit
"$KVSIM" predict --machine rtx4070 -d 256 --policy ordered --trace -
echo "exit $?"
[ -e - ] || echo "no file"
