"$KVSIM" predict --dry-run
"$KVSIM" predict x4-bound context-sweep -d 4096-65536*2 -kvpd 0,1,4 --dry-run
