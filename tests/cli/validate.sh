# Every measured table that an experiment names; the tolerance judges each of them.
"$KVSIM" validate --rows x4-bound
"$KVSIM" validate | cut -d "|" -f 2-4
"$KVSIM" validate --tolerance 1% >/dev/null
echo "exit $?"
"$KVSIM" validate x4-bound --tolerance 0.1% -o json | grep -o '"experiment":"[^"]*"'
"$KVSIM" validate x4-bound --tolerance 0.1% >/dev/null
echo "exit $?"
"$KVSIM" validate equal-links
echo "exit $?"
"$KVSIM" validate x4-bound --tolerance 3
echo "exit $?"
