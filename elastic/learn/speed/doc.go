// Package speed turns samples of the time of a unit of work into a curve that answers for every
// size: measured where there are samples, elsewhere fitted by least squares and corrected by
// what is known of similar shapes, and a prior where nothing is known. It is pure.
//
// A Curve never changes, and any number of goroutines may use it: Predicted, Idle and On return other
// curves. It caches what Splits and Fastest return, so a caller SHOULD keep a curve rather than fit
// it again for each question. A nil Curve is allowed in every method, and answers relative times.
//
// Which answer to use: Seconds for what is expected, as in forecasts; Hoped and Splits for decisions,
// which have to try sizes; Samples and Confidence for how far to trust either.
package speed
