"$KVSIM" predict -o jsn
