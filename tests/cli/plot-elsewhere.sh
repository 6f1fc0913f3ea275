cd "$KVS_TMP" && "$KVSIM" plot x4-bound
