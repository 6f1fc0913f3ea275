# One dependency less: the plan is refused, naming both operations and the bytes.
"$KVSIM" plan --machine rtx4070 -d 256 -n 2 --policy ordered >"$KVS_TMP/plan"
sed -E "s/(\"tag\":\"consumer\",\"layer\":3),\"deps\":\[[^]]*\]/\1/" "$KVS_TMP/plan" >"$KVS_TMP/broken"
cmp -s "$KVS_TMP/plan" "$KVS_TMP/broken" && echo "nothing was removed"
"$KVSIM" check - <"$KVS_TMP/broken" 2>"$KVS_TMP/err"
echo "exit $?"
wc -l <"$KVS_TMP/err"
cd "$KVS_TMP"
"$KVSIM" predict --machine rtx4070 -d 256 -n 2 --plan broken 2>err
echo "exit $?"
head -n 1 err | cut -d: -f 1
