// Package event defines the engine's log events: a name, fields for programs and a text for people.
// EVENTS.md lists all names and fields. They are an interface for readers of logs: a name or the
// meaning of a field MUST NOT change.
//
// An effect is logged BEFORE it is carried out, a step and the end of a move AFTER they are in the
// journal. After a crash the log therefore has every effect that may have happened.
package event
