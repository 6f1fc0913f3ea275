"$KVSIM" predict --policy ordered,pipelined+per-slots
