"$KVSIM" probe --help
