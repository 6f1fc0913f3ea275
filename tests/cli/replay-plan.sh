# A plan from a file is proved, then run: its bytes are those of the policies. A racy one is refused.
settings="--machine rtx4070 -m ladder -d 300 -n 4"
digest() {
    "$KVSIM" replay $settings --executor serial -r 1 -o jsonl "$@" | sed -E 's/.*"digest":"([0-9a-f]+)".*/\1/'
}
"$KVSIM" plan $settings --policy pipelined+n2 >"$KVS_TMP/plan" || exit
digest --plan "$KVS_TMP/plan" --control >"$KVS_TMP/a"
digest --policy ordered,resident,pipelined,continuous >"$KVS_TMP/b"
wc -l <"$KVS_TMP/a"
sort -u "$KVS_TMP/a"
sort -u "$KVS_TMP/b" | grep -c .
sed 's/"deps":\[[^]]*\]/"deps":[]/' "$KVS_TMP/plan" >"$KVS_TMP/racy"
"$KVSIM" replay $settings --executor serial --plan - <"$KVS_TMP/racy" 2>"$KVS_TMP/said"
echo "exit $?"
head -n 1 "$KVS_TMP/said" | grep -o "^stdin:[0-9]*:"
