# One row; predicted figures are masked, what a row says of its settings is not.
"$KVSIM" predict --machine two-card-example -m qwen3-8b -sm tensor -ts 1/1 -d 4096 -kvpd 1 -o csv |
    sed -E "s/[0-9]+\.[0-9]{4,}/N/g; s/[0-9a-f]{16}/HASH/g"
