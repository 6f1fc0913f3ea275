# Rows of predict end where they always did; those of replay go on.
"$KVSIM" predict --machine rtx4070 -m ladder -d 256 -n 2 --policy ordered -o csv | head -n 1
"$KVSIM" replay --executor serial --machine rtx4070 -m ladder -d 256 -n 2 --policy ordered -o csv | head -n 1
for format in json jsonl; do
    "$KVSIM" replay --executor serial --machine rtx4070 -m ladder -d 256 -n 2 --policy ordered -o $format |
        grep -o '"replay":{[^}]*}\|"executor":.*'
done | sed -E 's/"(compute|copies)_ms":[0-9.]+/"\1_ms":N/g; s/"experiments":.*//'
