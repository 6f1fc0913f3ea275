# 405 G weights on one card of 12 GiB.
"$KVSIM" predict --machine rtx4070 -m llama-3.1-405b -d 4096 -kvpd 1 --color never >/dev/null
