# What is not measured is left out; the control is one more column.
"$KVSIM" replay --executor serial --machine rtx4070 -m ladder -d 256,512 -n 2 -r 1 --warmup 0 --control \
    --policy ordered,pipelined
