# Without a GPU there is nothing to measure, and that is said; faults of the call come first.
export CUDA_VISIBLE_DEVICES=
"$KVSIM" probe --only nic
echo "exit $?"
"$KVSIM" probe --name 'two words'
echo "exit $?"
"$KVSIM" probe --against rtx407
echo "exit $?"
"$KVSIM" probe -o "$KVS_TMP/none/file.yaml" 2>/dev/null
echo "exit $?"
"$KVSIM" probe -o "$KVS_TMP/file.yaml"
code=$?
ls "$KVS_TMP"
exit $code
