// Package deadline divides GPUs among jobs of which some have a deadline.
//
// A job with a deadline is admitted if the smallest share that meets it fits into what earlier
// admissions leave of the future (Gu et al., ElasticFlow, ASPLOS 2023: the minimum satisfactory
// share). GPUs that no admitted job needs are given, for the time being, to where a GPU-second
// saves most. All times are in seconds from now, unless a comment says otherwise.
//
// A caller MUST pass an admitted job as Promised in every later call; then later arrivals
// cannot revoke its admission while the number of GPUs does not fall.
//
// A caller builds a Job for each of its jobs, in the order of arrival, and calls Decide once a
// round. AFTERWARDS it MUST store Plan.Promised and tell it in the next call: the package keeps
// nothing. It decides numbers of GPUs only; where places are scarcer than numbers the caller may not
// be able to give each job what the plan says.
package deadline
