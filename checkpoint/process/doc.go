// Package process starts programs and ends them together with everything they
// started. It is for processes whose whole business that is, such as the runner
// of a job: it makes the calling process adopt its descendants' orphans and
// reaps all of its children.
package process
