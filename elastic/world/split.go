package world

// SubmitSplit is Submit for a job whose speed depends on how exactly its GPUs
// lie on the nodes, and not only on their numbers: seconds answers the time of a
// unit of work on a split, the GPUs on each node in node order. It takes the
// place of Job.Model. It is called while time passes, so it may not call the
// world.
func (w *World) SubmitSplit(j Job, seconds func(split []int) float64) *Trainer {
	var t *Trainer
	j.Model = func(int, int) float64 { return seconds(t.split()) } // asked of a run only
	t = w.Submit(j)
	return t
}

// split is the GPUs of the present run on each of its nodes.
func (t *Trainer) split() []int {
	out := make([]int, len(t.run.Split))
	for i, s := range t.run.Split {
		out[i] = s.GPUs
	}
	return out
}
