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
// A story is drawn whole before anything happens, so that parts of it can be left
// out one by one. It is JSON, and the same story always goes the same way.
package story
