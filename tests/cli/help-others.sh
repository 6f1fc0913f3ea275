for command in replay compare validate plan check plot list; do
    "$KVSIM" $command --help
    echo =====
done
