// Package notify decides which messages are sent, and to whom: a pure fold over the engine's events and
// reports. It is called by the cycle's goroutine; package deliver sends beside it.
//
// A message is made when its event happens, or when a report first shows its cause. What a report shows
// at the start of sluiced was told by the one before it, so nothing is told twice. What that one had not
// sent yet is lost: see deliver.
package notify
