// Package world simulates the surroundings of the real engine: Slurm and jobs' folders in memory, and
// jobs that train in virtual time. It records all work that jobs do, and Check verifies the
// invariants from that record.
//
//	w := world.New(world.Config{Fake: fake.Config{Seed: 1, Nodes: fake.Grid(3, 4)}})
//	job := w.Submit(world.Job{User: "alice", Spec: elastic.Spec{Min: 1, Max: 8, Total: 20}, Model: world.Amdahl(60, 0.05)})
//	w.At(90*time.Second, func() { w.User("alice").Cancel(ctx, job.ID()) })
//	e := engine.New(engine.Config{Slurm: w.Client, Mailbox: w.Mail, ...})
//	err := w.Drive(ctx, e, 2*time.Hour) // or step by hand: e.Cycle(ctx, w.Now()); w.Advance(d)
//	for _, broken := range w.Check() { t.Error(broken) }
//
// A Trainer is a job's program: it takes the model's seconds for each unit of
// work, says hello, reports progress, answers checkpoint requests after its save
// time and resumes from the chosen checkpoint. Behaviour makes it misbehave.
package world
