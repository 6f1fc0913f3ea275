# What would be measured, all of it and a part; nothing needs a GPU.
"$KVSIM" probe --list
echo =====
"$KVSIM" probe --list --only topology,host
