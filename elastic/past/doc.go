// Package past is what is kept of decisions, moves and the cluster's state for those who look back: its
// records, and how long each is kept. Nothing decides by it, so losing it loses no job anything.
package past
