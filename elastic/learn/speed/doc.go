// Package speed turns samples of the time of a unit of work into a curve that answers for every
// size: measured where there are samples, elsewhere fitted by least squares and corrected by
// what is known of similar shapes, and a prior where nothing is known. It is pure.
package speed
