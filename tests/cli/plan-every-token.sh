# A copy that reaches row 30 in token 30, where every token's compute reads: a plan from a file is proved to the end.
plan=tests/data/plans/late-collision.jsonl
"$KVSIM" check $plan
echo "exit $?"
"$KVSIM" predict --machine rtx4070 -d 256 --plan $plan
echo "exit $?"
# 30 tokens end before that; 4,000,000 operations are unrolled at most.
sed 's/"tokens":64/"tokens":30/' $plan | "$KVSIM" check - | grep proved
sed 's/"tokens":64/"tokens":4000000/; s/"at_step":16/"at_step":0/' $plan | "$KVSIM" check - | grep -o "not every token was examined"
