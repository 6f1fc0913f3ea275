# A plan beside a case that it was not made for: a warning, and nothing of that case but its settings.
"$KVSIM" plan --machine rtx4070 -d 256 -n 3 --policy pipelined+n2 >"$KVS_TMP/plan"
head -n 1 "$KVS_TMP/plan"
columns() { sed 1d | cut -d, -f 20,21,23,25,35,38; } # n_gen, n_depth, arm, kvpd, bound_ts, share
"$KVSIM" predict --machine rtx4070 -d 256 --plan "$KVS_TMP/plan" -o csv | columns | sed -E "s/[0-9.]+,0\.[0-9]+$/bound,share/"
"$KVSIM" predict --machine rtx4070 -d 4096 -n 128 -ctk f16 --plan "$KVS_TMP/plan" -o csv | columns
sed "1s/,\"machine\".*/}/; 1s/pipelined+n2/mine/" "$KVS_TMP/plan" | "$KVSIM" predict --machine rtx4070 -d 256 --plan - -o csv | columns
