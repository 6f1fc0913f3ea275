for command in plan check plot list; do
    "$KVSIM" $command --help
    echo =====
done
