// Package lookahead has the policies that choose sizes and nodes together, by the value of
// every place a job could have: lookahead, annealing and welfare.
package lookahead
