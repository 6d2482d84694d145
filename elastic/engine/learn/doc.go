// Package learn turns the speeds that jobs report into curves for decisions. For shapes that were not
// tried it uses the predictor that cross-validation prefers. Jobs are known here only by the keys
// of their samples.
//
// A Memory holds one engine's samples and curves. All of it is derived from the samples, and each
// series of samples is read from the store once.
//
// Fit MUST be called for a job's keys BEFORE Curve, and Foresee AFTER the samples of a cycle were
// added with Keep. If the store cannot be read, it is read again at the next use; until then
// nothing is known.
//
// A cycle MUST call, on its one goroutine and in this ORDER: Keep for each new sample; Foresee
// once; Fit for each job in the snapshot; and Forget now and then. Fit may be called earlier too,
// as for a job whose progress is judged; it is then called again AFTER Foresee. Curve, Recall and
// Speeds read at any time.
package learn
