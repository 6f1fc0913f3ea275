# A shape from memory, and rows of 17 heads x 102 B = 1734 B, 2 off a multiple of 4: on stderr alone.
"$KVSIM" predict --machine two-card-example -m phi-3-mini -sm tensor -ts 17/15 --head-split explicit -d 256 -n 2 -kvpd 0 -o csv | wc -l
"$KVSIM" predict -q --machine two-card-example -m phi-3-mini -sm tensor -ts 17/15 --head-split explicit -d 256 -n 2 -kvpd 0 -o csv | wc -l
