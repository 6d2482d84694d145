// Package process starts programs and ends them together with everything they started. It
// is for programs with no other purpose, such as the runner of a job: the calling process
// adopts orphaned descendants and reaps all of its children.
package process
