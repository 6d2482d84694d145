// Package wire is the protocol between sluiced and its clients: the JSON of requests and
// answers, the codes of errors, and the letters that carry both over TCP. It has types and
// their validation only, so that a client links neither the engine nor the policies.
package wire
