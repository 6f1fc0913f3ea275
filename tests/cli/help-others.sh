for command in replay compare plan check plot list; do
    "$KVSIM" $command --help
    echo =====
done
