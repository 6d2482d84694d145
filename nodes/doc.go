// Package nodes knows the inventory: nodes, their GPUs, what may be used, and
// best-fit placement of jobs on them. It is pure and imports the standard
// library only.
package nodes
