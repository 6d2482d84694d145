// Package nodes holds the inventory (nodes, their GPUs, which of them may be used, and what
// the driver reports of a GPU) and places jobs on it by best fit. It is pure and imports
// the standard library only.
package nodes
