# llama.cpp refuses a tensor split of this model; the layer split still runs.
"$KVSIM" predict --machine two-card-example -m glm-4.7-flash -sm layer,tensor -d 4096 -kvpd 0 -o csv >"$KVS_TMP/csv"
echo "exit $?"
wc -l <"$KVS_TMP/csv"
grep -c "cannot be split" "$KVS_TMP/csv"
