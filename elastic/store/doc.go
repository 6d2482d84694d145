// Package store keeps the daemon's journal (intents, jobs, segments, what is said
// of GPUs) and the learned speeds in one SQLite file, durable at every return, and
// is the only room besides nodes/nvml that uses cgo.
//
// The file is a cache of what cannot be read from Slurm: a lost or damaged one
// is replaced by an empty one, and the daemon finds its jobs again by their
// comments. A damaged file is therefore set aside, never repaired; a file from a
// newer sluice, another program's or another daemon's is refused.
package store
