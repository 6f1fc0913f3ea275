# The data is written; the message says what is missing.
PATH= "$KVSIM" plot x4-bound --output "$KVS_TMP/figures"
echo "exit $?"
grep -c -e "^# ordered" -e "^# pipelined" "$KVS_TMP/figures/data/rows.dat"
head -n 1 "$KVS_TMP/figures/data/rows.dat" | sed -E "s/[0-9a-f]{16}/HASH/g; s/kvsim [0-9.]+/kvsim VERSION/"
