# Two timelines, added up by device and operation, and both in one file.
for policy in ordered pipelined; do
    "$KVSIM" predict --machine rtx4070 -m ladder -d 256 -n 2 --policy $policy --trace "$KVS_TMP/$policy.json" >"$KVS_TMP/out"
done
cd "$KVS_TMP" || exit
"$KVSIM" compare ordered.json pipelined.json --trace both.json
grep -o '"process_name".*' both.json
grep -c '"ph":"X"' ordered.json pipelined.json both.json
"$KVSIM" compare ordered.json both.json -o json | grep -o '"n_tokens_a":[0-9]*,"n_tokens_b":[0-9]*'
