// Package sharing decides how many trials a lane runs at once on its GPUs, from how fast they train alone and
// beside each other. It is pure: what the lane's slots wrote comes in, the number of trials at once comes out.
//
// Trials of different sizes cannot be compared by their epochs per second: a small trial beside a large one
// would raise the sum whatever it costs the large one. So the speed of each trial is divided by its own
// speed alone, and these ratios are added. Two trials that both train at .7 of their speed are 1.4 times as
// fast together as one after the other.
//
// The numbers 1, 2, 4, 8 (up to the bound) are tried in turn. From one to the next a lane goes
//
//	Low    n trials at once, until one has been measured
//	High   more, until all have been measured
//	Back   n at once again, with those that have not been measured at n: the others are saved and handed back
//
// and keeps the larger number if the sum of the ratios is higher by a margin. The first number that does not
// pay ends the search.
package sharing
