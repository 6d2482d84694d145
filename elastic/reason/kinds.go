package reason

// all are the reasons with arguments, in the order in which the API documents them.
// A type that is missing here is written but read as Unknown.
var all = []Reason{
	All{}, Unknown{}, Starts{}, StartsAtMinimum{}, StartsOnReturned{}, StartsAbove{}, StartsAsAsked{}, Keeps{},
	StaysOn{}, Resizes{}, Moves{}, MovesTo{}, MovesToPool{}, Stops{}, Yields{}, LaneYields{}, SweepLevel{}, SweepPaused{}, SweepEnded{}, Leaves{}, LeavesEdge{}, Waits{},
	WaitsPinned{}, WaitsOn{}, WaitsBehind{}, WaitsForRoom{}, CannotStart{}, NeverStarts{}, Throttled{},
	BeingStarted{}, Moving{}, HeldByUser{}, Quiet{}, IdleAndBack{}, IdleElsewhere{}, NotAsNeeded{},
	TakesNoneBack{}, SpareSaves{}, Takes{}, RestTakes{}, Rest{}, PinnedTo{}, PinnedBut{}, PinnedUnavailable{},
	NoSplit{}, StartsFirst{}, MoreIdle{}, FewerFaster{}, JobWaits{}, Both{}, AndMoreWait{}, Saves{},
	ComesFirst{}, Rests{}, IdleKept{}, NextSize{}, NotFaster{}, WouldSave{}, IdleUnfit{}, Deaf{}, Unusable{}, FolderSilent{},
	Retry{}, WouldDelay{}, Backfilled{}, CanStartAt{}, OnEdge{}, TakesNothingNew{}, NothingNew{},
	OrdinaryWaits{}, Measures{}, JobStarts{}, RoomFor{}, UnseenFaster{}, NextDeadline{}, Attained{},
	ShortestRest{}, NeverResizes{}, Draining{}, Maintenance{}, NoRoomBeside{}, Circle{}, NoPlace{},
	CannotGiveBack{}, EndsBy{}, DeadlinePassed{}, DeadlineUnknown{}, DeadlineUnjudged{}, DeadlineUnmet{},
	Limit{}, Within{}, NoMoreWithin{}, AnotherWaitsWithin{}, Reclaimed{}, Deserved{}, RestartBeyond{},
	FewerThan{}, Beyond{}, BeyondShared{}, InSlurm{}, Contends{}, NotNow{}, WaitsReturn{}, StartsAfter{}, LicenseBusy{}, Refusal{}, Again{},
	SlurmTakes{}, NotStarted{}, NotMoved{}, Begins{}, ReservationBegins{}, Obstructed{}, FolderUnreadable{},
	ArrayArriving{}, ArrayIncomplete{}, Depends{}, NeverDepends{}, AwaitsSlurm{}, NewerMove{}, NotSaved{},
	JobEnded{}, CheckpointVerified{}, SavedTrainsOn{}, StoppedAfter{}, Runs{}, Late{}, Unsatisfiable{},
	TurnedAway{}, TurnedAwayAtAll{}, ResumesAfter{}, OutsideSluice{}, Wish{}, BadConstraint{}, InReservation{},
	ReservationKeeps{}, Reserved{}, OthersFirst{}, RunnerKilled{}, CountedStill{}, EndsSoon{}, MoveClosed{},
	SlurmSaid{}, Text{},
}

// plain are the reasons without arguments.
var plain = []Plain{
	Pinned, Unproven, UnprovenGrows, AtMaximum, NoLargerSize, NoOtherSize, FixedSize, WorkDone, NoneIdle,
	NoneIdleOrBack, Stranded, OthersWait, FasterOnFewer, UserHolds, SuspendedJob, OnMIG, LentMeanwhile, Released,
	Over, CleaningUp, Cleaning, HeldAside, HeldRunning, LeftAlone, MovesTaken, MovesOfUser, SmallestFirst,
	MovedJustNow, NoRoomElsewhere, LeaversFirst, UnfitGPU, EndSoonerFirst, OthersEndSooner, OthersSoonerThere,
	NoResizePays, WorthMoreFirst, OthersWorthMore, NoResizeWorth, AFSRule, MaxSpeedupRule, OptimusRule, FCFSRule,
	TiresiasRule, EFRule, DeadlinesFirst, PromisedToThem, NotYet, HardDeadline, OlderJournal, AnsweredLate,
	NotedLate, NoAnswer, StoppedBefore, UserHoldsJob, NodeGone, LimitRunning, LimitKeeps, LimitHeld, Requeued,
	RequeuedOrStopped, RequeuedRuns, GraceOver, AwaitsCheckpoint, AwaitsRevival, BroughtBackByOther, AnswerGone,
	AwaitsStop, AwaitsCleaning, StillCounted, AwaitsNotice, StartedByOther, HeldByOther, ClearedFirst,
	FolderPlacedAfresh, GPUsTaken, RunsAsBefore, AwaitsStart, AwaitsRunner, AwaitsChoice,
	StartForgotten, AskedToSave, StoppedForMove, StoppedAgain, DeferredFirst, Pending,
	MoveOver, Retargeted, SizeWritten, StartedNow, AlreadyStarted, Cleared, Revived, BroughtBack, LaunchFailed,
	StopForgotten, PassAsked, TakenByOrdinary, RequeuedOutside, StartedBySlurm,
	OwedToLost, UserAskedSave, UserAskedRequeue, TagRemoved, NoLongerOurs, RefusedMove, NumberGiven,
	NoMoveBehind,
}
