"$KVSIM" list polices
