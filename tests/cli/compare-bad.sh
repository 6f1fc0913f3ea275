# What cannot be compared, and why.
cp tests/data/compare/*.jsonl "$KVS_TMP" && cd "$KVS_TMP" || exit
"$KVSIM" predict --machine rtx4070 -m ladder -d 256 -n 1 --policy ordered --trace t.json >out
"$KVSIM" predict --machine rtx4070 -m ladder -d 256 -n 1 --policy ordered -o jsonl >other.jsonl
: >empty
echo "plain text" >text
sed 's/"n_depth"/"depth"/' predicted.jsonl >foreign
tr -d '\n' <t.json >flat.json
try() {
    "$KVSIM" compare "$@"
    echo "$*: exit $?"
}
try
try missing.jsonl
try empty
try text
try foreign
try predicted.jsonl other.jsonl
try predicted.jsonl t.json
try t.json
try t.json t.json --tolerance 3%
try predicted.jsonl measured.jsonl --tolerance 3
try predicted.jsonl measured.jsonl --trace both.json
try t.json flat.json --trace both.json | tail -n 1
[ -e both.json ] || echo "no file"
