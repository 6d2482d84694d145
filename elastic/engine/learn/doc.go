// Package learn turns the speeds that jobs report into what decisions go by: curves, and for
// shapes that nobody tried the predictor that cross-validation prefers. It knows jobs by the keys
// of their samples alone.
//
// A Memory is what one engine holds of that. All of it follows from the samples, which are read
// from their store once.
package learn
