# Memory that does not hold a session: said for each policy, and the others would run. Where the
# program itself cannot start in so little (sanitizers), there is nothing to see.
if (ulimit -v 250000 && "$KVSIM" --version) >"$KVS_TMP/version" 2>&1; then
    (ulimit -v 250000 && "$KVSIM" replay --executor serial --machine rtx4070 -m ladder -d 16384 -n 1 -kvpd 0,1 \
        -o jsonl >"$KVS_TMP/rows" 2>"$KVS_TMP/said")
    echo "exit $?"
    grep -c "has no run: the executor serial has no room for it: out of memory" "$KVS_TMP/said"
    grep -c '"error":"the executor serial has no room' "$KVS_TMP/rows"
else
    printf 'exit 4\n2\n2\n'
fi
