# A step lies between the ends of the link's rate: the range still holds the answer and its neighbour.
"$KVSIM" predict --machine rtx4070 -m qwen3-8b -d 4096-32768*2 --policy ordered,pipelined -o jsonl |
    sed -E "s/.*\"predicted_ts\":([0-9.]+),.*\"predicted_lo_ts\":([0-9.]+),\"predicted_hi_ts\":([0-9.]+),\"edge_ts\":([0-9.]+|null),.*/\2 \1 \3 \4/" |
    awk '{ print ($1 <= $2 && $2 <= $3 && ($4 == "null" || $1 <= $4 && $4 <= $3)) ? "between" : "outside: " $0 }' |
    sort | uniq -c | sed "s/^ *//"
