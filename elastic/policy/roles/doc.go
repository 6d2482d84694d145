// Package roles is what all policies know of a job: what may be decided about it, how much
// work it has left, and why it rests or cannot start.
package roles
