// Package nodes knows the inventory: nodes, their GPUs, what may be used, what a driver
// shows of a GPU, and best-fit placement of jobs on them. It is pure and imports the
// standard library only.
package nodes
