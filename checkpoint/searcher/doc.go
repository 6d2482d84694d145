// Package searcher runs a user's program that a sweep asks for points (--sweep=ask), inside the
// lane that sluiced named. sluiced itself runs no code of users: it says how many points are wanted,
// and reads the answers.
//
// The program reads JSON lines and writes JSON lines (checkpoint/PROTOCOL.md). All that it is told and all
// that it answers goes into a transcript BEFORE it takes effect. So a program that is started again, in
// this lane or in another one, is told the same in the same order, and is not asked again for what
// it answered.
//
// Its failures end nothing: one that ends, hangs or writes nonsense is started again after a pause that
// grows, the trials that run go on, and the status file says what is wrong.
package searcher
