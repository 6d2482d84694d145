// Package admission connects policies with package deadline. It poses jobs with deadlines as a
// planning problem and reads the plan: which jobs are admitted, which wait because of
// deadlines, and the reasons. The greedy and the look-ahead policies share it.
//
// The invariant: an admitted job is planned for in every later decision (Subject.Promised), so
// later arrivals cannot revoke its admission.
package admission
