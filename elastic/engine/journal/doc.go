// Package journal is what must survive the daemon: records of jobs and of their runs, open moves,
// observed speeds, what was said of GPUs, and which programs have answered. It declares the
// interfaces, and has a Memory that keeps them for simulations; elastic/store keeps them in SQLite.
// Both pass the suite in elastic/store/contract.
package journal
