"$KVSIM" predct
