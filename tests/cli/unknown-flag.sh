"$KVSIM" predict --dpeth 4096
