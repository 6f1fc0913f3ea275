"$KVSIM" predict -h
echo =====
"$KVSIM" predict --help
