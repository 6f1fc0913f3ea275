# One document; figures and hashes are masked.
"$KVSIM" predict --machine two-card-example -m qwen3-8b -sm tensor -ts 2/1 -d 4096,8192 -kvpd 1 -o json |
    sed -E "s/[0-9]+\.[0-9]{4,}/N/g; s/[0-9a-f]{16}/HASH/g; s/\"figures\":.*/\"figures\":.../"
