"$KVSIM" predict --machine rtx4O70
