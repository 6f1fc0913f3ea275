# A plan, written and read back, gives the rate of its policy, and the checker proves it.
settings="--machine rtx4070 -d 4000 -n 200"
for policy in ordered pipelined+n2+yield; do
    "$KVSIM" plan $settings --policy $policy >"$KVS_TMP/plan" || exit
    "$KVSIM" check "$KVS_TMP/plan" | grep -o "200 tokens"
    "$KVSIM" predict $settings --policy $policy -o csv | sed 1d | cut -d, -f 22 >"$KVS_TMP/a"
    "$KVSIM" predict $settings --plan - -o csv <"$KVS_TMP/plan" | sed 1d | cut -d, -f 22 >"$KVS_TMP/b"
    [ -s "$KVS_TMP/a" ] && cmp "$KVS_TMP/a" "$KVS_TMP/b" && echo "$policy: same"
done
