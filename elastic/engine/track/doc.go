// Package track is what is known between two looks at the cluster, and how each look changes it. It
// reads nothing and has no effects: queries, files and the journal are read by elastic/engine/observe
// and handed in; what follows is returned, as jobs to ask about, records to save, actions to carry
// out. One goroutine at a time may use a State.
//
// # The order of a look
//
// What is to be read next depends on what was read before. So the methods of a State MUST be called in
// this order, and elastic/engine/watch does; between them stands what is to be read.
//
//	Rewind, NoteAway     what lies ahead of the clock counts as now
//	SawJobs              the jobs                    -> whether the nodes of the look before serve
//	SawNodes             the nodes, if not; and Lost.Note
//	Claims -> Match      whose the folders of unknown jobs are; then jobs join their records
//	LimitsOld -> TookLimits
//	Missing -> ShownLate, Ended    live jobs that the answer lacks are asked about by number
//	ForgottenDue -> Ended          accounting tells how jobs ended that Slurm has forgotten
//	Placeless -> HeardSplits       where runs over several nodes are
//	Writing -> HeardRunners        what runners said
//	Readings -> HeardLines         what programs reported; then TellUnread
//	WantsHistory, Ends -> Fold     past runs, and the last words of jobs that end
//	FoldAnswers, Reconsider, HearGPUs
//	Snapshot             what a policy sees
//
// An end is believed from Slurm alone: a job that one answer lacks has not ended (see Missing). A
// record is changed in memory first and is Dirty until SavedJobs; callers MUST save what UnsavedJobs
// and UnsavedSpeeds return BEFORE they call SavedJobs and SavedSpeeds.
//
// Moves are opened and closed by elastic/engine/execute, which calls Opened and Closed AFTER the
// journal has taken that.
//
// # What is where
//
// A State is made of groups by concern: Roster the jobs, Speeds and Users what was learnt, Cluster
// nodes and the site, Moments times. A Job likewise (job.go): what Slurm showed, what its runner said,
// what came of placing it, its runs. Files are named after what they fold: claim.go joins Slurm's jobs
// to records, missing.go and lost.go judge absences, revive.go and stranded.go bring runs back,
// snapshot.go gathers what a decision may depend on.
package track
