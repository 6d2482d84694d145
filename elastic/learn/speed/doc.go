// Package speed turns samples of how long a unit of work took on some GPUs into
// a curve that answers for every size: measured where it was measured, fitted by
// least squares where it was not, corrected by what its neighbours show, a prior where
// nothing is known. It is pure.
package speed
