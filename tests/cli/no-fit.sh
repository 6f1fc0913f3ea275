# 405 G weights on one card of 12 GiB: said once for four rows.
"$KVSIM" predict --machine rtx4070 -m llama-3.1-405b -d 4096,8192 -kvpd 0,1 --color never >/dev/null
