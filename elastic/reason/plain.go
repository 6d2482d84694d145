package reason

// Reasons without arguments.
// The text of each is in package say, which MUST have one for every constant here; kinds.go lists
// them for Decode. The value of a constant is stored and part of the API, its name is not.
const (
	// Why a job has, or gets, its size.
	Pinned         Plain = "pinned"         // its user set its size
	Unproven       Plain = "unproven"       // no checkpoint seen yet
	UnprovenGrows  Plain = "unproven_grows" // the same; it grows once it has completed one
	AtMaximum      Plain = "at_maximum"     // it accepts no larger size
	NoLargerSize   Plain = "no_larger_size" // its partition has none
	NoOtherSize    Plain = "no_other_size"  // no other size it accepts is available
	FixedSize      Plain = "fixed_size"     // it accepts no other size
	WorkDone       Plain = "work_done"      // it has done all its work
	NoneIdle       Plain = "none_idle"      // no GPU is idle
	NoneIdleOrBack Plain = "none_idle_or_back"
	Stranded       Plain = "stranded" // it could not start again on its nodes
	OthersWait     Plain = "others_wait"
	FasterOnFewer  Plain = "faster_on_fewer"
	UserHolds      Plain = "user_holds"
	SuspendedJob   Plain = "suspended"
	OnMIG          Plain = "on_mig"         // MIG slices, whose number sluice does not change
	LentMeanwhile  Plain = "lent_meanwhile" // no checkpoint within the site's grace period

	// Where a job is in Slurm.
	Released      Plain = "released"
	Over          Plain = "ended"
	CleaningUp    Plain = "cleaning_up"
	Cleaning      Plain = "cleaning"
	HeldAside     Plain = "held"
	HeldRunning   Plain = "held_running"
	LeftAlone     Plain = "left_alone"
	MovesTaken    Plain = "moves_taken"      // the maximum number of jobs are between two sizes
	MovesOfUser   Plain = "moves_taken_user" // the maximum number of its user's jobs are
	SmallestFirst Plain = "smallest_first"

	// Leaving nodes.
	MovedJustNow    Plain = "moved_just_now"
	NoRoomElsewhere Plain = "no_room_elsewhere"
	LeaversFirst    Plain = "leavers_first"
	UnfitGPU        Plain = "unfit_gpu"

	// How policies order jobs.
	EndSoonerFirst    Plain = "end_sooner_first"
	OthersEndSooner   Plain = "others_end_sooner"
	OthersSoonerThere Plain = "others_end_sooner_there"
	NoResizePays      Plain = "no_resize_pays"
	WorthMoreFirst    Plain = "worth_more_first"
	OthersWorthMore   Plain = "others_worth_more"
	NoResizeWorth     Plain = "no_resize_worth"
	AFSRule           Plain = "afs"
	MaxSpeedupRule    Plain = "maxspeedup"
	OptimusRule       Plain = "optimus"
	FCFSRule          Plain = "fcfs"
	TiresiasRule      Plain = "tiresias"
	EFRule            Plain = "ef"

	// Deadlines.
	DeadlinesFirst Plain = "deadlines_first" // jobs with deadlines come first
	PromisedToThem Plain = "promised_to_deadlines"
	NotYet         Plain = "not_yet" // admitted; it starts later
	HardDeadline   Plain = "hard_deadline"

	// The steps of a move: what was done, what it waits for, why it ends.
	OlderJournal       Plain = "older_journal"
	AnsweredLate       Plain = "answered_late"
	NotedLate          Plain = "noted_late"
	NoAnswer           Plain = "no_answer"
	StoppedBefore      Plain = "stopped_before"
	UserHoldsJob       Plain = "user_holds_job"
	NodeGone           Plain = "node_gone"
	LimitRunning       Plain = "limit_running"
	LimitKeeps         Plain = "limit_keeps"
	LimitHeld          Plain = "limit_held"
	Requeued           Plain = "requeued"
	RequeuedOrStopped  Plain = "requeued_or_stopped"
	RequeuedRuns       Plain = "requeued_runs"
	GraceOver          Plain = "grace_over"
	AwaitsCheckpoint   Plain = "awaits_checkpoint"
	AwaitsRevival      Plain = "awaits_revival"
	BroughtBackByOther Plain = "brought_back_by_other"
	AnswerGone         Plain = "answer_gone"
	AwaitsStop         Plain = "awaits_stop"
	AwaitsCleaning     Plain = "awaits_cleaning"
	StillCounted       Plain = "still_counted"
	AwaitsNotice       Plain = "awaits_notice"
	StartedByOther     Plain = "started_by_other"
	HeldByOther        Plain = "held_by_other"
	ClearedFirst       Plain = "cleared_first"
	FolderPlacedAfresh Plain = "folder_placed_afresh"
	GPUsTaken          Plain = "gpus_taken"
	RunsAsBefore       Plain = "runs_as_before"
	AwaitsStart        Plain = "awaits_start"
	AwaitsRunner       Plain = "awaits_runner"
	AwaitsChoice       Plain = "awaits_choice"
	StartForgotten     Plain = "start_forgotten"
	AskedToSave        Plain = "asked_to_save"
	StoppedForMove     Plain = "stopped_for_move"
	StoppedAgain       Plain = "stopped_again"
	DeferredFirst      Plain = "deferred_first"
	Pending            Plain = "pending"
	MoveOver           Plain = "move_over"
	Retargeted         Plain = "retargeted"
	SizeWritten        Plain = "size_written"
	StartedNow         Plain = "started_now"
	AlreadyStarted     Plain = "already_started"
	Cleared            Plain = "cleared"
	Revived            Plain = "revived"
	BroughtBack        Plain = "brought_back"
	LaunchFailed       Plain = "launch_failed"
	StopForgotten      Plain = "stop_forgotten"
	PassAsked          Plain = "pass_asked"
	TakenByOrdinary    Plain = "taken_by_ordinary"

	// Runs and moves that no policy requested.
	RequeuedOutside  Plain = "requeued_outside"
	StartedBySlurm   Plain = "started_by_slurm"
	OwedToLost       Plain = "owed_to_lost"
	UserAskedSave    Plain = "user_asked_save"
	UserAskedRequeue Plain = "user_asked_requeue"
	TagRemoved       Plain = "tag_removed"
	NoLongerOurs     Plain = "no_longer_ours"
	RefusedMove      Plain = "refused_move"
	NumberGiven      Plain = "number_given"
	NoMoveBehind     Plain = "no_move_behind"
)
