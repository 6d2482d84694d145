// Package reason has the reasons of decisions as values: a code and typed arguments. A reason
// is made where something is decided, and travels unchanged through plans, the journal and the
// API. It becomes a sentence only in package say. No code may parse a sentence.
//
// Most reasons have two parts: what happens to the job (Starts, Keeps, Resizes, Waits ...) and,
// in Because, why. Several reasons that hold at once are an All.
package reason
