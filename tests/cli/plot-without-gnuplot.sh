# The data is written; the message says what is missing.
PATH= "$KVSIM" plot x4-bound --output "$KVS_TMP/figures"
echo "exit $?"
grep -c -e "^# ordered" -e "^# pipelined" "$KVS_TMP/figures/data/rows.dat"
head -n 1 "$KVS_TMP/figures/data/rows.dat" | sed -E "s/[0-9a-f]{16}/HASH/g; s/kvsim [0-9.]+/kvsim VERSION/"
# Elsewhere the checkout's plot.gp and measured table are found, as ./kvsim says where it is.
root=$PWD
cd "$KVS_TMP"
KVSIM_ROOT=$root PATH= "$KVSIM" plot x4-bound -d 4096 --output there 2>&1 | head -n 1
tail -n 1 there/data/rows.dat | cut -d " " -f 9 # measured_ts
