// Package nvml looks at the GPUs a job has, through NVIDIA's management library:
// how busy they are, their memory and power, and whether they are fit to compute.
// The library is loaded at run time. Where there is none, or no driver, or no GPU
// of the job's, there is nothing to look at and that is no error.
package nvml
