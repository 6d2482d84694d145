// Package report says what came of simulations, for people and for programs: a
// table, JSON lines, CSV, an event log and a self-contained page of HTML. The same
// results give the same bytes; a figure reads the same in every form.
package report
