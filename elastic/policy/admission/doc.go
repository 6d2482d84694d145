// Package admission poses jobs with deadlines for package deadline and reads its plans:
// which job is promised its deadline, which waits for that reason, and what is said of it.
// Policies that count GPUs and those that look ahead share it.
package admission
