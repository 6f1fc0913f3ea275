"$KVSIM" list policies
