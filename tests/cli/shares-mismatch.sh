"$KVSIM" predict --machine rtx4070 -sm tensor -ts 50,50
