# A decline is an answer: exit 0, the numbers, and what would fit.
"$KVSIM" predict -d 16384 -kvpd 1,4 -kvpb 128 | grep "^\[1\]"
"$KVSIM" predict -d 16384 -kvpd 1 -kvpb 64 | grep "^\[1\]"
"$KVSIM" predict -d 16384 -kvpd 4 -kvpb 208 | grep -c "^\[1\]"
exit 0
