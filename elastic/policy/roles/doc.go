// Package roles is what all policies need to know about a job: what may be decided about it,
// its remaining work, and why it rests or cannot start.
//
// A policy makes a Subject of each job, with At and Now from its open move if there is one, and asks
// Classify BEFORE it decides anything about the job: a Fixed job keeps what it has, whatever helps
// others. Measure sets the work left of jobs whose speed is known; those for which it returns 0 count
// with MedianWork of the others.
package roles
