# What is nearly right is answered with what would be.
for arguments in "-d4096" "-ctk q8" "experiments/x4-bound" "nosuch/"; do
    "$KVSIM" predict $arguments
    echo "predict $arguments: exit $?"
done
for name in experiments/x4-bound qwen3-8c missing.yaml; do
    "$KVSIM" check $name
    echo "check $name: exit $?"
done
"$KVSIM" predict help | head -n 1
printf "kind: experiment\nname: e\nquestion: Why?\nmachine: rtx4070\nmodel: ladder\ntensor_split: [1/1]\n" >"$KVS_TMP/e.yaml"
cd "$KVS_TMP" && "$KVSIM" predict e.yaml
"$KVSIM" list models | grep -o "ladder.*synthetic.*"
