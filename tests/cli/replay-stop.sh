# Asked to stop: the row that is done is printed, and the exit code tells of the signal.
"$KVSIM" replay --executor serial --machine rtx4070 -m ladder -d 256,16384 -n 2 -r 100 \
    --policy ordered -o jsonl >"$KVS_TMP/rows" 2>"$KVS_TMP/said" &
pid=$!
# The first configuration is done within a second; the second would take minutes.
while [ ! -s "$KVS_TMP/rows" ]; do
    kill -0 $pid || break
    sleep 0.1
done
kill -TERM $pid
wait $pid
echo "exit $?"
grep -o '"n_depth":[0-9]*' "$KVS_TMP/rows"
cat "$KVS_TMP/said"
