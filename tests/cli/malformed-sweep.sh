# Every fault of a sweep is pointed at; none of these runs.
for sweep in 4096-x 4096-8192+0 4096, 4096-8192* -1; do
    "$KVSIM" predict -d=$sweep
    echo "exit $?"
done
