"$KVSIM" --help
