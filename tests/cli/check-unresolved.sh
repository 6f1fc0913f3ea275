# An experiment whose model is not there, and one whose shares do not fit its machine.
cd "$KVS_TMP"
printf "kind: experiment\nname: a\nquestion: q\nmachine: rtx4070\nmodel: qwen3\n" >a.yaml
printf "kind: experiment\nname: b\nquestion: q\nmachine: rtx4070\nmodel: qwen3-8b\ntensor_split: 1/1\n" >b.yaml
"$KVSIM" check a.yaml b.yaml
