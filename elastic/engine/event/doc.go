// Package event is what the engine tells of: named events with fields for programs and a text for
// people. EVENTS.md lists all names and fields; both are a promise to those who read logs, so that
// a name or the meaning of a field MUST NOT change.
//
// An effect is told of BEFORE it is carried out, a step and the end of a move AFTER the journal has
// them. Whoever reads the log after a crash therefore knows every effect that may have happened.
package event
