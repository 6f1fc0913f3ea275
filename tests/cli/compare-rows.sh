# Rows by hand: errors of +10%, -5%, 0 and -10% are 6.25% in the mean; the naive model's are +25%, +25%,
# +66.7% and +25%: 80 ms against 100, 40 ms against 50, 120 ms against 200, 80 ms against 100.
cd tests/data/compare || exit
"$KVSIM" compare predicted.jsonl measured.jsonl
"$KVSIM" compare predicted.jsonl measured.jsonl --tolerance 7%
echo "exit $?"
"$KVSIM" compare predicted.jsonl measured.jsonl --tolerance 6% -o json
echo "exit $?"
"$KVSIM" compare measured.jsonl | tail -n 3
# The measured file may come first.
"$KVSIM" compare measured.jsonl predicted.jsonl | head -n 1
"$KVSIM" compare predicted.jsonl predicted.jsonl | head -n 1
