package world

// SubmitSplit is Submit for a job whose speed depends on its split and not only on the number of
// GPUs and nodes. seconds returns the time of a unit of work on a split, the GPUs on each node in
// node order, and replaces Job.Model. It is called while the world is locked and MUST NOT call
// methods of the world.
func (w *World) SubmitSplit(j Job, seconds func(split []int) float64) *Trainer {
	var t *Trainer
	j.Model = func(int, int) float64 { return seconds(t.split()) } // asked of a run only
	t = w.Submit(j)
	return t
}

// split returns the GPUs of the present run on each of its nodes.
func (t *Trainer) split() []int {
	out := make([]int, len(t.run.Split))
	for i, s := range t.run.Split {
		out[i] = s.GPUs
	}
	return out
}
