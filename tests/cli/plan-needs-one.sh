"$KVSIM" plan
