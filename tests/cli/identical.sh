# Equal input, equal bytes, at any number of threads.
for format in md csv json jsonl; do
    "$KVSIM" predict context-sweep -d 4096,24576 -o $format >"$KVS_TMP/a"
    "$KVSIM" predict context-sweep -d 4096,24576 -o $format -t 1 >"$KVS_TMP/b"
    [ -s "$KVS_TMP/a" ] && cmp "$KVS_TMP/a" "$KVS_TMP/b" && echo "$format same"
done
