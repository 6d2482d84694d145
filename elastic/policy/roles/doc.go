// Package roles is what all policies need to know about a job: what may be decided about it,
// its remaining work, and why it rests or cannot start.
package roles
