// Package learn turns the speeds that jobs report into what decisions go by: curves, and for
// shapes that nobody tried the predictor that cross-validation prefers. It knows jobs by the keys
// of their samples alone.
//
// A Memory is what one engine holds of that. All of it follows from the samples, which are read
// from their store once.
//
// Fit MUST have been called for a job's keys BEFORE Curve, and Foresee AFTER the samples of a cycle
// were kept. A store that cannot be read is asked again the next time; until then nothing is known.
package learn
