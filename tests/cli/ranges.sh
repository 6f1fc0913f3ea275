# Nothing of this box was measured: the answer is a range that holds it.
"$KVSIM" predict --machine two-card-example -m qwen3-8b -d 4096 -kvpd 1 -o jsonl |
    sed -E "s/.*\"predicted_ts\":([0-9.]+),.*\"predicted_lo_ts\":([0-9.]+),\"predicted_hi_ts\":([0-9.]+),.*/\2 \1 \3/" |
    awk "{ print (\$1 < \$2 && \$2 < \$3) ? \"between\" : \"outside: \" \$0 }"
