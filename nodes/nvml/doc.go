// Package nvml reads the state of a job's GPUs through NVIDIA's management library: how
// busy they are, their memory and power, and whether they are fit to compute. The library
// is loaded at run time. If there is no library, no driver or no GPU of the job, there is
// nothing to read; that is not an error.
package nvml
