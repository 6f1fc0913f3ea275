# A folder laid out as the source tree comes before the built-in files.
mkdir -p "$KVS_TMP/c/models/machine" "$KVS_TMP/c/models/gpu"
sed "s/24 *GiB/1GiB/" models/gpu/rtx3090.yaml >"$KVS_TMP/c/models/gpu/rtx3090.yaml"
printf "kind: machine\nname: mine\ndescription: of this test\ndevices: [{gpu: rtx3090, pcie: gen4x16}]\n" >"$KVS_TMP/c/models/machine/mine.yaml"
"$KVSIM" list machines --catalogue "$KVS_TMP/c" | grep mine
"$KVSIM" predict --catalogue "$KVS_TMP/c" --machine mine -m qwen3-8b -d 256 -n 2 -kvpd 0 >/dev/null 2>"$KVS_TMP/err"
echo "exit $?"
grep -o "the device has 1.00 GiB" "$KVS_TMP/err"
"$KVSIM" list machines | grep -c mine
exit 0
