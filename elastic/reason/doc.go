// Package reason has the reasons of decisions as values: a code and typed arguments. A reason
// is made where something is decided, and travels unchanged through plans, the journal and the
// API. It becomes a sentence only in package say. No code may parse a sentence.
//
// Most reasons have two parts: what happens to the job (Starts, Keeps, Resizes, Waits ...) and,
// in Because, why. Several reasons that hold at once are an All.
//
// What a package that makes reasons has to do:
//
//  1. Choose the type, or a Plain, that says what decides. One reason decides; others that a user has
//     to know too are joined behind it (Join).
//  2. Give facts as arguments: job numbers, GPUs, seconds, times. A number that is infinite or NaN is
//     allowed, and becomes 0 on the way through JSON.
//  3. Leave wording, units and advice to package say, which has a sentence for every type.
//
// Reasons are values: they are copied freely, and MUST NOT be changed after they were handed on, since
// plans, journal and reports have the slices in them in common. Compare them with reflect.DeepEqual
// or by Has; == panics where both are of a type with a slice.
//
// Codes and arguments are stored and part of the API. A type MUST NOT be renamed or removed, nor an
// argument renamed or given another meaning; a new type or argument is read by an older sluice as
// Unknown, or left out. A new type needs a line in kinds.go, without which Decode does not know it.
package reason
