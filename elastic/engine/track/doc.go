// Package track holds the state that the engine keeps between two cycles, and updates it from
// observations. It does no I/O: elastic/engine/observe reads queries, files and the journal and
// passes them in. Methods return what to do next: jobs to query, records to save, actions to
// perform. A State is not safe for concurrent use.
//
// # Order of calls
//
// What is read next depends on what was read before. The methods of a State MUST be called in
// this order, as elastic/engine/watch does. An arrow separates the method that says what to read
// from the method that takes the result.
//
//	Rewind, NoteAway               correct remembered times after the clock was set back
//	SawJobs                        all jobs; reports whether the last cycle's nodes can be reused
//	SawNodes, EndOutage, Lost.Note the nodes, if not reused; nodes that are down
//	Doubts -> SettleDoubts         whether a known number has another job: the runners' status in two folders
//	SawAccount                     the uid of the service account
//	OwnersWanted -> SawOwners      the uids of the users that its unknown jobs name
//	Unrecorded -> SettleUnrecorded failed jobs that the store lost: the runners' status in their folders
//	Claims -> Match                who owns the folders of unknown jobs; then match jobs to records
//	LimitsOld -> TookLimits        the site's limits, if too old
//	Missing -> ShownLate, Ended    live jobs that the answer lacks are queried by number
//	ForgottenDue -> Ended          accounting: how jobs ended that Slurm has purged
//	Placeless -> HeardSplits       the GPUs per node of runs on several nodes
//	Writing -> HeardRunners        the runners' status files
//	Readings -> HeardLines         the programs' progress lines; then TellUnread
//	WantsHistory, Ends -> Fold     past runs, and the last status of jobs that ended
//	FoldAnswers, Reconsider, HearGPUs
//	Snapshot                       the input of a policy
//
// A job ends only if Slurm says so: a job that one answer lacks has not ended (see Missing). A
// record is changed in memory first and is Dirty until SavedJobs. Callers MUST save what
// UnsavedJobs and UnsavedSpeeds return BEFORE they call SavedJobs and SavedSpeeds.
//
// Package execute opens and closes moves. It calls Opened and Closed AFTER the journal has
// recorded the move or its end.
//
// After a decision follow, in this order:
//
//	Decided                        the plan's reasons; which jobs were admitted
//	Opened, Closed                 AFTER the journal has the move, or its end (I5)
//	Chores, Renewals               actions of jobs without an open move, once a cycle
//	UnsavedX -> SavedX             speeds, jobs, credits; nothing may change the state in between
//	ForgetOld                      last, AFTER the report was published
//
// What is passed in belongs to the State afterwards: callers MUST NOT change slices and maps of an
// observation. What is returned belongs to the caller, except Ordered, whose slice is shared, and
// pointers to a Job, which stay valid until ForgetOld removes it.
//
// # Where things are
//
// A State consists of groups by concern: Roster (jobs), Speeds and Users (what was learned), Cluster
// (nodes and the site's limits) and Moments (times). So does a Job (job.go): what Slurm showed,
// what its runner reported, the results of placing it, its runs. Files are named after what they
// update: claim.go matches Slurm's jobs to records, missing.go handles jobs that an answer lacks,
// lost.go nodes that went down, unrecorded.go failed jobs that the store lost, revive.go and
// stranded.go runs that are requeued, snapshot.go builds the input of a decision.
package track
