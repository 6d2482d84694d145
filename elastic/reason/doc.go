// Package reason is why things are decided, as values: a code and typed arguments. A reason
// is made where something is decided, travels unchanged through plans, the journal and the
// API, and becomes a sentence in package say alone. Nothing may read a sentence.
//
// Most reasons have two parts: what happens to the job (Starts, Keeps, Resizes, Waits ...)
// and, as Because, what led to it. Several that hold side by side are an All.
package reason
