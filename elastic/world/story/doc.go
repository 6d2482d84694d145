// Package story draws random scenarios of a cluster from seeds, plays them with the real engine on the
// fake Slurm, and shortens those that violate an invariant. In code a scenario is a Story.
//
//	s := story.Draw(7)                           // a value: all actions and faults
//	o := story.Play(ctx, s, story.InMemory, nil) // run the engine through it
//	if len(o.Broken) > 0 {
//		s = story.Shrink(s, func(s story.Story) bool { return len(story.Play(ctx, s, story.InMemory, nil).Broken) > 0 })
//		fmt.Println(s) // the shortest scenario that still fails
//	}
//
// It injects faults of every kind of F1 to F18: misbehaving users, programs, nodes, slurmctld, clocks
// and file systems; daemons that are killed, lose power, run twice or find their store damaged;
// malformed input; file operations and a log that block. The result is checked three times: by
// the end of every job, by the world's record (world.Check), and by package audit from the logs
// alone.
//
// On a Shelf with a disk the store is SQLite and checkpoints are files, written, committed and verified
// by the real code. What a power loss leaves of a write is derived from the order in which SQLite
// syncs; the store's own tests observe it.
//
// A scenario is drawn completely before it is played, so that parts can be removed one by one. It is
// stored as JSON, and the same scenario always has the same result.
package story
