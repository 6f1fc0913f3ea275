"$KVSIM" list
