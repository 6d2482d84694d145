// Package feed keeps the last events for readers that come and go: a bounded ring in which each event
// has an id, so that a reader that was away gets what it missed, or is told that it is gone.
//
// One goroutine or several Add; any number of readers Read at a position of their own. A reader costs
// the feed nothing: there are no queues of readers, and none is waited for. A reader that is slower than the
// events finds the oldest it wanted gone.
package feed
