// Package figures measures what the policies promise: it runs every simulation a
// figure needs, and prints one line a figure with the workload, the seeds, what the
// policy was told and the rules it ran under, beside what was published and what
// was aimed at.
package figures
