// Package wire is what sluiced and its clients say to each other: the JSON of requests
// and answers, the codes of errors, and the letters in which both travel over TCP. It
// has types and no behaviour but their checks, so that a client links neither engine
// nor policies.
package wire
