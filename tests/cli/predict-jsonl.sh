"$KVSIM" predict --machine two-card-example -m qwen3-8b -sm tensor -d 4096 -kvpd 0,2 -o jsonl |
    sed -E "s/[0-9]+\.[0-9]{4,}/N/g; s/[0-9a-f]{16}/HASH/g"
