# Real bytes: every policy reads the same ones, on one device and on two, poisoned or not; another
# seed has others.
digests() {
    "$KVSIM" replay --executor serial -m ladder -d 300 -n 4 -r 2 \
        --policy ordered,resident,continuous,pipelined,pipelined+n2+per-slot+late-kernel -o csv "$@" >"$KVS_TMP/rows" || exit
    awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == "digest") d = i; next }
        { n[$d]++ } END { for (k in n) print k, n[k] " rows" }' "$KVS_TMP/rows"
}
digests --machine rtx4070
digests --machine rtx4070 --verify
digests --machine rtx4070-rtx3060 -sm layer
digests --machine rtx4070-rtx3060 -sm tensor --verify
digests --machine rtx4070 --seed 2
