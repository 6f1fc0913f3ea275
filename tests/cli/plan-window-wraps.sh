# A full sliding window that wraps inside a batch of several rows: every plan is proved.
for parallel in "-np 1" "-np 2" "-np 2 -kvu"; do
    for depth in 1020 1021 1022 1023 2045; do
        $KVSIM plan --machine h200 -m gemma-3-1b --n-rows 3 $parallel -d $depth -n 6 \
            --policy pipelined > /dev/null && echo "$parallel -d $depth: proved"
    done
done
