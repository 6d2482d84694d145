// Package nodes holds the inventory (nodes, their GPUs, and which of them may be used)
// and places jobs on it by best fit. It is pure and imports the standard library only.
package nodes
