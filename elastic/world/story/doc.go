// Package story draws whole histories of a cluster from seeds, plays them with the
// real engine on the fake Slurm, and shortens those that break a promise.
//
//	s := story.Draw(7)                          // a value: what everybody will do, and what goes wrong
//	o := story.Play(ctx, s, story.InMemory, nil) // the engine lives through it
//	if len(o.Broken) > 0 {
//		s = story.Shrink(s, func(s story.Story) bool { return len(story.Play(ctx, s, story.InMemory, nil).Broken) > 0 })
//		fmt.Println(s) // what is left of it
//	}
//
// It draws misfortunes of every kind of F1 to F18: users, programs, nodes, slurmctld,
// clocks and files that misbehave; daemons that are killed, that lose power, run twice,
// or find their store damaged; words that are malformed; files and a log that block.
// All of it is judged three times: by what became of every job, by what the world
// recorded, and by package audit from the records alone.
//
// On a shelf with a disk the store is SQLite and checkpoints are files, written, closed
// and verified by the real code. What a power loss leaves of a write is derived from the
// order in which SQLite syncs, not watched: the store's own tests watch it.
//
// A story is drawn whole before anything happens, so that parts of it can be left
// out one by one. It is JSON, and the same story always goes the same way.
package story
