// Package vault decides what may leave with data sets that can be trained on and not taken away. It is pure:
// the record is a list of entries (Entry), State is what follows from them, and each decision is a
// function of the state.
//
// A byte leaves in this order, whatever happens in between: it is copied to where its owner's program cannot change
// it; Fits says whether the copy fits into the budgets; the entry is made durable; the copy is handed out. So
// a crash costs budget at most.
package vault
