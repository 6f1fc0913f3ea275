# What replay refuses, and with which exit code.
try() {
    "$KVSIM" replay "$@"
    echo "$*: exit $?"
}
cd "$KVS_TMP" || exit
try -r 0
try --executor gpu
try --time-scale fast
try --time-scale -1
try --executor serial --map 0 -d 256 -n 1
try --executor serial --trace t.json
try --executor serial -d 256 -n 1 --plan missing.plan
[ -e t.json ] || echo "no file"
# No GPU: skipped, and said on stderr.
CUDA_VISIBLE_DEVICES= "$KVSIM" replay --executor cuda -d 256 -n 1 2>"$KVS_TMP/said"
echo "cuda: exit $?"
grep -c "^--executor: cuda cannot run: " "$KVS_TMP/said"
