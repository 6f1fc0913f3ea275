# With --machine or -m and no experiment, only flags and defaults count: no split on one device.
"$KVSIM" predict --machine rtx4070 -d 4096 -kvpd 0 -o csv | sed 1d | cut -d, -f 3-20
"$KVSIM" predict x4-bound -d 4096 -kvpd 0 -ctk q4_0,f16 -o csv | sed 1d | cut -d, -f 3-20
